package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/proc"
	"aiflow/runs"
)

// landing is a lab with two finished runs.
func landing(t *testing.T) *lab {
	t.Helper()
	const name = "landing"
	if shared[name] != nil {
		return shared[name]
	}
	l := labIn(t, filepath.Join(crashBin(t), "labs", name), crashRequest, crashRequestText,
		`{"version": "1.0", "tests": {"land": {"command": "echo T >> \"$SIDE\"; ls *.txt"}}}`)
	for _, id := range []string{"RQ-20260101-003-more", "RQ-20260101-004-most"} {
		l.write(t, "template/requests/"+id+".md", "---\ntitle: More\nstatus: ready\ncreated_at: 2026-01-01\nsteps: [{title: x, run: 'echo "+id+" > "+id+".txt'}]\n---\n")
	}
	l.git(t, l.template, "add", "-A")
	l.git(t, l.template, "commit", "-q", "-m", "more")
	l.git(t, l.template, "branch", "integration")
	w := &world{lab: l, t: t, dir: l.template, side: filepath.Join(l.home, "side")}
	for _, id := range []string{crashRequest, "RQ-20260101-003-more", "RQ-20260101-004-most"} {
		if res := w.run("aiflow-run", []string{id}); res.status != 0 {
			t.Fatalf("%s: %s", id, res)
		}
	}
	shared[name] = l
	return l
}

// landingPoints are what a landing passes when nobody disturbs it, and the tree of the
// branch at its end.
func landingPoints(t *testing.T, into string) (points []string, tree string) {
	t.Helper()
	w := landing(t).world(t)
	list := filepath.Join(t.TempDir(), "points")
	if res := w.run("aiflow-land", []string{"--all", "--into", into}, "AIFLOW_FAILPOINT_LIST="+list); res.status != 0 {
		t.Fatalf("undisturbed: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data)), w.git(t, w.dir, "rev-parse", into+"^{tree}")
}

// TestKilledWhileLanding kills a landing at its points, onto a branch that is checked out and
// onto one that is not. The branch is before or after a whole landing; the same
// command again lands the rest, nothing twice.
func TestKilledWhileLanding(t *testing.T) {
	for _, into := range []string{"main", "integration"} {
		points, tree := landingPoints(t, into)
		chosen := selection(points, *everyPoint, 0)
		if !*everyPoint {
			named := slices.DeleteFunc(slices.Clone(points), func(p string) bool { return !strings.HasPrefix(p, "at.") || strings.HasSuffix(p, ":3") })
			chosen = append(named, oneOfEach(slices.DeleteFunc(chosen, func(p string) bool { return strings.HasPrefix(p, "at.") }), 6)...)
			if into != "main" {
				chosen = oneOfEach(chosen, 3)
			}
		}
		if testing.Short() {
			chosen = chosen[:1]
		}
		t.Logf("%s: %d points, %d taken", into, len(points), len(chosen))
		for _, point := range chosen {
			t.Run(into+"/"+point, func(t *testing.T) {
				t.Parallel()
				w := landing(t).world(t)
				w.run("aiflow-land", []string{"--all", "--into", into}, "AIFLOW_FAILPOINT="+point).diedAt(t, point)
				w.wholeLandings(into)
				w.looks("after the kill")
				if res := w.run("aiflow-land", []string{"--all", "--into", into}); res.status != 0 {
					t.Fatalf("again: %s", res)
				}
				if n := w.wholeLandings(into); n != 3 {
					t.Errorf("%d have landed", n)
				}
				w.landedAll(into, tree)
			})
		}
	}
}

// wholeLandings counts the landings on a branch: its commits of the first parent are those, each
// with all of a run, and a checkout of it is clean.
func (w *world) wholeLandings(into string) int {
	w.t.Helper()
	n := 0
	for _, subject := range strings.Split(w.git(w.t, w.dir, "log", "--first-parent", "--format=%s", into), "\n") {
		switch {
		case strings.HasPrefix(subject, "Merge branch 'aiflow/"):
			n++
		case subject != "begin" && subject != "more":
			w.t.Errorf("%s has %q", into, subject)
		}
	}
	records := strings.Count(w.git(w.t, w.dir, "log", "--format=%s", into), "[record]")
	if records != n {
		w.t.Errorf("%d landings, %d runs", n, records)
	}
	if status := w.git(w.t, w.dir, "status", "--porcelain"); status != "" {
		w.t.Errorf("the checkout is not clean: %s", status)
	}
	return n
}

// landedAll is the end of the story.
func (w *world) landedAll(into, tree string) {
	w.t.Helper()
	if now := w.git(w.t, w.dir, "rev-parse", into+"^{tree}"); now != tree {
		w.t.Errorf("the tree differs: %s, want %s", now, tree)
	}
	for _, id := range []string{crashRequest, "RQ-20260101-003-more", "RQ-20260101-004-most"} {
		st := w.latest(id)
		if st.Landing != nil || st.Landed == nil || st.Landed.Into != into || st.Landed.At == nil {
			w.t.Errorf("%s: landing %v, landed %v", id, st.Landing, st.Landed)
			continue
		}
		w.git(w.t, w.dir, "merge-base", "--is-ancestor", st.Landed.Commit, into)
		if text, err := os.ReadFile(w.glob("runs/" + id + "/*/report.md")[0]); err != nil || strings.Count(string(text), "- landed: "+into) != 1 {
			w.t.Errorf("%s: the report: %v", id, err)
		}
	}
	// A lock whose holder was killed while giving it back is free: who wants it next takes it.
	for _, name := range w.glob(".aiflow/locks/*.lock.json") {
		var record struct {
			PID int `json:"pid"`
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &record)
		}
		if err != nil || proc.Alive(record.PID, 0) != proc.Dead {
			w.t.Errorf("%s is held: %s %v", name, text, err)
		}
	}
	for _, pattern := range []string{".aiflow/worktrees/*", ".git/worktrees/*"} {
		if found := w.glob(pattern); len(found) > 0 {
			w.t.Errorf("left over: %v", found)
		}
	}
}

// stacked is a lab with a run that stands on one that was made anew since. Where they
// collide, both write one file.
func stacked(t *testing.T, collide bool) *lab {
	t.Helper()
	name, below, above, file := "stacked", "RQ-20260101-001-below", "RQ-20260101-002-above", "above.txt"
	if collide {
		name, file = "colliding", "below.txt"
	}
	if shared[name] != nil {
		return shared[name]
	}
	l := labIn(t, filepath.Join(crashBin(t), "labs", name), below, "---\ntitle: Below\nstatus: ready\nsteps: [{title: x, run: 'date +%N > below.txt'}]\n---\n",
		`{"version": "1.0", "tests": {"land": {"command": "cat below.txt"}}}`)
	l.write(t, "template/requests/"+above+".md", "---\ntitle: Above\nstatus: ready\ndepends_on: ["+below+"]\nsteps: [{title: x, run: 'echo above > "+file+"'}]\n---\n")
	l.git(t, l.template, "add", "-A")
	l.git(t, l.template, "commit", "-q", "-m", "more")
	w := &world{lab: l, t: t, dir: l.template, side: filepath.Join(l.home, "side")}
	for _, args := range [][]string{{below}, {above, "--stack"}, {below, "--fresh"}} {
		if res := w.run("aiflow-run", args); res.status != 0 {
			t.Fatalf("%s: %s", args, res)
		}
	}
	shared[name] = l
	return l
}

// restackPoints are what a restack passes when nobody disturbs it, and the tree at its end.
func restackPoints(t *testing.T) (points []string, tree string) {
	t.Helper()
	w := stacked(t, false).world(t)
	list := filepath.Join(t.TempDir(), "points")
	if res := w.run("aiflow-run", []string{"restack", "--all"}, "AIFLOW_FAILPOINT_LIST="+list); res.status != 0 {
		t.Fatalf("undisturbed: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data)), w.git(t, w.dir, "rev-parse", w.latest("RQ-20260101-002-above").Git.WorkBranch+"^{tree}")
}

// TestKilledWhileRestacking kills a restack at its points. The branch is where it was or
// where it should be; the same command again moves it, and a landing then takes both.
func TestKilledWhileRestacking(t *testing.T) {
	points, tree := restackPoints(t)
	chosen := selection(points, *everyPoint, 0)
	if !*everyPoint {
		named := slices.DeleteFunc(slices.Clone(points), func(p string) bool { return !strings.HasPrefix(p, "at.") })
		chosen = append(named, oneOfEach(slices.DeleteFunc(chosen, func(p string) bool { return strings.HasPrefix(p, "at.") }), 6)...)
	}
	if testing.Short() {
		chosen = chosen[:1]
	}
	t.Logf("%d points, %d taken", len(points), len(chosen))
	for i, point := range chosen {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := stacked(t, false).world(t)
			old := w.latest("RQ-20260101-002-above")
			w.run("aiflow-run", []string{"restack", "--all"}, "AIFLOW_FAILPOINT="+point).diedAt(t, point)
			w.looks("after the kill")
			if i%2 == 0 { // a landing comes first: it does not take what is half moved for something else
				if res := w.run("aiflow-land", []string{old.RequestID}); res.status == 0 {
					t.Errorf("landed without what it stands on: %s", res)
				}
			}
			if res := w.run("aiflow-run", []string{"restack", "--all"}); res.status != 0 {
				t.Fatalf("again: %s", res)
			}
			st := w.latest(old.RequestID)
			tip := w.git(t, w.dir, "rev-parse", st.Git.WorkBranch)
			if st.Git.Restack != nil || st.Tip() != tip || st.Git.BaseCommit == old.Git.BaseCommit {
				t.Errorf("the record: %+v, the branch is at %s", st.Git, tip)
			}
			if now := w.git(t, w.dir, "rev-parse", tip+"^{tree}"); now != tree {
				t.Errorf("the tree differs: %s, want %s", now, tree)
			}
			if n := w.git(t, w.dir, "rev-list", "--count", st.Git.BaseCommit+".."+tip); n != "2" {
				t.Errorf("%s commits of its own", n)
			}
			if kept := w.git(t, w.dir, "rev-parse", runs.AttemptsOf(st.RunID)+"/restack/1"); kept != old.Tip() {
				t.Errorf("kept %s, was %s", kept, old.Tip())
			}
			if res := w.run("aiflow-land", []string{"--all"}); res.status != 0 {
				t.Fatalf("landing: %s", res)
			}
		})
	}
}

// night is a generated graph of requests, of which some fail and some collide.
type night struct {
	*world
	ids   []string
	needs map[string][]string
	head  string
}

// onlyGreen judges a landing: three of the requests are red together. It commits on the
// branch itself now and then, as somebody may while a landing tests.
const onlyGreen = `sh \"$SIDE.somebody\"; test $(ls red-* 2>/dev/null | wc -l) -lt 3`

const somebodyText = `n=$(($(cat "$SIDE.calls" 2>/dev/null || echo 0) + 1)); echo $n >"$SIDE.calls"
case $n in 3|7|11) ;; *) exit 0 ;; esac
export GIT_INDEX_FILE="$SIDE.index" GIT_AUTHOR_NAME=S GIT_AUTHOR_EMAIL=s@example.invalid GIT_COMMITTER_NAME=S GIT_COMMITTER_EMAIL=s@example.invalid
at=$(git rev-parse integration) && git read-tree $at &&
	git update-index --add --cacheinfo 100644,$(echo other | git hash-object -w --stdin),other-$n.txt &&
	git update-ref refs/heads/integration $(git commit-tree -p $at -m somebody $(git write-tree)) $at
`

func newNight(t *testing.T, seed uint64, n int) *night {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	g := &night{needs: map[string][]string{"RQ-20260101-002-after": {crashRequest}}, ids: []string{crashRequest, "RQ-20260101-002-after"}}
	l := labIn(t, t.TempDir(), crashRequest, "---\ntitle: First\nstatus: ready\nsteps: [{title: x, run: 'true'}]\n---\n",
		`{"version": "1.0", "auto_run": {"stack": true, "stop_on_needs_input": false, "stop_on_failed": false}, "tests": {"land": {"command": "`+onlyGreen+`"}}}`)
	for i := len(g.ids); i < n; i++ {
		id := fmt.Sprintf("RQ-20260102-%03d", i)
		for range rnd.IntN(3) {
			if dep := g.ids[rnd.IntN(len(g.ids))]; !slices.Contains(g.needs[id], dep) {
				g.needs[id] = append(g.needs[id], dep)
			}
		}
		g.ids = append(g.ids, id)
		command := "echo " + id + " > " + id + ".txt"
		switch rnd.IntN(8) {
		case 0:
			command = "exit 1"
		case 1, 2:
			command = fmt.Sprintf("echo %s > shared-%d.txt", id, rnd.IntN(2))
		case 3, 4:
			command = "echo red > red-" + id + ".txt"
		}
		l.write(t, "template/requests/"+id+".md", fmt.Sprintf("---\ntitle: R\nstatus: ready\ncreated_at: 2026-01-02\ndepends_on: [%s]\nsteps: [{title: x, run: 'echo %s >> \"$SIDE\"; %s'}]\n---\n",
			strings.Join(g.needs[id], ", "), id, command))
	}
	l.git(t, l.template, "add", "-A")
	l.git(t, l.template, "commit", "-q", "-m", "requests")
	l.git(t, l.template, "branch", "integration")
	g.world = l.world(t)
	g.head = g.git(t, g.dir, "rev-parse", "HEAD")
	return g
}

// sleep does the graph with sessions of three slots that are killed now and then, and
// gives what finished.
func (g *night) sleep(seed uint64) (finished []*runs.Stage) {
	t, rnd := g.t, rand.New(rand.NewPCG(seed, 2))
	args := []string{"auto", "--stack", "--jobs", "3", "--max-runs", "60"}
	points := []string{"begun", "running", "branch", "worktree", "step_command", "before_commit", "committed", "record_committed", "completed", "restored", "tidied"}
	cut, kills := map[string]int{}, 0
	for range 7 {
		point := fmt.Sprintf("at.%s:%d", points[rnd.IntN(len(points))], 2+rnd.IntN(4))
		res := g.run("aiflow-run", args, "AIFLOW_FAILPOINT="+point)
		if !res.killed {
			break
		}
		kills++
		for _, id := range g.inHand() {
			cut[id]++
		}
	}
	if res := g.run("aiflow-run", args); res.killed || !strings.Contains(res.stdout, "NOTHING_RUNNABLE") || kills < 3 {
		t.Fatalf("the last session, after %d kills: %s", kills, res)
	}
	if now := g.git(t, g.dir, "rev-parse", "HEAD"); now != g.head {
		t.Errorf("the checkout moved to %s", now)
	}
	if changed := g.git(t, g.dir, "status", "--porcelain", "--", ".", ":!requests"); changed != "" {
		t.Errorf("the checkout changed: %s", changed)
	}
	side, err := os.ReadFile(g.side)
	if err != nil {
		t.Fatal(err)
	}
	excluded, stacked := g.excluded(), 0
	for _, id := range g.ids {
		if times := strings.Count(string(side), id+"\n"); times > 1+cut[id] {
			t.Errorf("the step of %s was done %d times, cut off %d times", id, times, cut[id])
		}
		if len(g.glob("runs/"+id)) == 0 {
			if excluded[id] == "" {
				t.Errorf("%s never ran, and nothing says why", id)
			}
			continue
		}
		switch st := g.latest(id); {
		case st.State == runs.Done:
			finished = append(finished, st)
			stacked += len(st.Git.StackedOn)
		case st.ReasonCode() == "":
			t.Errorf("%s is %s without a reason", id, st.State)
		}
	}
	if len(finished) < len(g.ids)/2 || stacked < 8 {
		t.Fatalf("%d finished, %d on top of others: the graph shows nothing", len(finished), stacked)
	}
	t.Logf("%d kills, %d cut off; %d finished, %d on top of others", kills, len(cut), len(finished), stacked)
	return finished
}

// inHand are the requests that a session had in hand when it was killed.
func (g *night) inHand() (ids []string) {
	var s struct {
		Turns []struct {
			RequestID string `json:"request_id"`
			Until     *string
		}
	}
	data, err := os.ReadFile(filepath.Join(g.dir, ".aiflow/cache/autorun.json"))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	for _, turn := range s.Turns {
		if turn.Until == nil {
			ids = append(ids, turn.RequestID)
		}
	}
	return ids
}

// excluded are the reasons of what cannot run.
func (g *night) excluded() map[string]string {
	var answer struct {
		Excluded []struct {
			RequestID  string `json:"request_id"`
			ReasonCode string `json:"reason_code"`
		}
	}
	if res := g.run("aiflow-next", []string{"--json"}); json.Unmarshal([]byte(res.stdout), &answer) != nil {
		g.t.Fatalf("next: %s", res)
	}
	why := map[string]string{}
	for _, e := range answer.Excluded {
		why[e.RequestID] = e.ReasonCode
	}
	return why
}

// morning lands what finished in a copy of the project, and says what is not as it should be.
func (g *night) morning(t *testing.T, finished []*runs.Stage, env ...string) (wrong []string) {
	w := &world{lab: g.lab, t: t, dir: filepath.Join(t.TempDir(), "repo"), side: filepath.Join(t.TempDir(), "side")}
	if out, err := exec.Command("cp", "-a", g.dir, w.dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	if err := os.WriteFile(w.side+".somebody", []byte(somebodyText), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, out := w.mergedByHand(slices.Clone(finished), g.needs)
	before := w.git(t, w.dir, "rev-parse", "HEAD") + w.git(t, w.dir, "status", "--porcelain")
	res := w.run("aiflow-land", []string{"--all", "--into", "integration", "--json"}, env...)
	var answer struct {
		Landed []struct {
			RequestID string `json:"request_id"`
		}
		LeftOut []struct {
			RequestID string `json:"request_id"`
			Error     struct {
				ReasonCode string `json:"reason_code"`
			}
		} `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(res.stdout), &answer); err != nil {
		t.Fatalf("%v: %s", err, res)
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if now := w.git(t, w.dir, "rev-parse", "integration^{tree}"); now != tree {
		say("the tree differs from that of plain git: %s", w.git(t, w.dir, "diff", "--stat", tree, now))
	}
	left := map[string]string{}
	for _, l := range answer.LeftOut {
		left[l.RequestID] = l.Error.ReasonCode
	}
	if !maps.Equal(left, out) {
		say("left out %v, plain git %v", left, out)
	}
	if len(answer.Landed)+len(left) != len(finished) {
		say("%d landed, %d left out, of %d", len(answer.Landed), len(left), len(finished))
	}
	if now := w.git(t, w.dir, "rev-parse", "HEAD") + w.git(t, w.dir, "status", "--porcelain"); now != before {
		say("the checkout changed: %s, was %s", now, before)
	}
	codes := slices.Sorted(maps.Values(out))
	if codes = slices.Compact(codes); len(codes) < 3 {
		t.Errorf("the graph shows too little: %v", codes)
	}
	return wrong
}

// TestStackedNight: a graph is done by sessions of several runs on top of each other that are
// killed now and then, and landed in the morning. The branch is what plain git makes by
// merging the same branches, whatever somebody else commits meanwhile, and the checkout
// stays as it was. A landing without a test, and one without compare-and-swap, do not pass.
func TestStackedNight(t *testing.T) {
	const seed = 3
	g := newNight(t, seed, 30)
	finished := g.sleep(seed)
	t.Run("lands what git makes", func(t *testing.T) {
		for _, w := range g.morning(t, finished) {
			t.Error(w)
		}
	})
	t.Run("without a test", func(t *testing.T) {
		config := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(config, []byte(`{"version": "1.0", "tests": {"land": {"command": "sh \"$SIDE.somebody\""}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if wrong := g.morning(t, finished, "AIFLOW_CONFIG="+config); !strings.Contains(strings.Join(wrong, "\n"), "red-") {
			t.Errorf("what is red together is not missed: %q", wrong)
		}
	})
	t.Run("without compare-and-swap", func(t *testing.T) {
		real, err := exec.LookPath("git")
		if err != nil {
			t.Fatal(err)
		}
		// What is told of the branch's old place is not passed on.
		careless := filepath.Join(t.TempDir(), "git")
		text := "#!/bin/sh\ncase \" $* \" in *' aiflow: landed '*)\n" +
			"set -- update-ref refs/heads/integration \"$(eval echo \\${$(($#-1))})\";; esac\nexec " + real + " \"$@\"\n"
		if err := proc.WriteProgram(careless, []byte(text)); err != nil {
			t.Fatal(err)
		}
		path := "PATH=" + filepath.Dir(careless) + string(os.PathListSeparator) + g.bin + string(os.PathListSeparator) + os.Getenv("PATH")
		if wrong := g.morning(t, finished, path); !strings.Contains(strings.Join(wrong, "\n"), "other-") {
			t.Errorf("what somebody committed is not missed: %q", wrong)
		}
	})
}

// mergedByHand merges finished branches with plain git, dependencies first, then by the time of
// finishing, and says what cannot be.
func (w *world) mergedByHand(finished []*runs.Stage, needs map[string][]string) (tree string, out map[string]string) {
	w.t.Helper()
	at := filepath.Join(w.t.TempDir(), "oracle")
	w.git(w.t, w.dir, "worktree", "add", "-q", "--detach", at, "integration")
	defer w.git(w.t, w.dir, "worktree", "remove", "--force", at)
	for _, n := range []int{3, 7, 11} { // what somebody commits meanwhile
		if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("other-%d.txt", n)), []byte("other\n"), 0o666); err != nil {
			w.t.Fatal(err)
		}
	}
	w.git(w.t, at, "add", "-A")
	w.git(w.t, at, "commit", "-q", "-m", "somebody")
	slices.SortFunc(finished, func(a, b *runs.Stage) int {
		return cmp.Or(a.EndedAt.Compare(*b.EndedAt), strings.Compare(a.RunID, b.RunID))
	})
	out = map[string]string{}
	for tried := map[string]bool{}; len(tried) < len(finished); {
		st := finished[slices.IndexFunc(finished, func(st *runs.Stage) bool {
			return !tried[st.RequestID] && !slices.ContainsFunc(needs[st.RequestID], func(id string) bool { return !tried[id] })
		})]
		tried[st.RequestID] = true
		if slices.ContainsFunc(needs[st.RequestID], func(id string) bool { return out[id] != "" }) {
			out[st.RequestID] = "DEPENDS_NOT_DONE"
			continue
		}
		before := w.git(w.t, at, "rev-parse", "HEAD")
		merge := exec.Command("git", "merge", "-q", "--no-ff", "--no-edit", st.Git.WorkBranch)
		merge.Dir, merge.Env = at, w.env()
		if merge.Run() != nil {
			w.git(w.t, at, "merge", "--abort")
			out[st.RequestID] = "LAND_CONFLICT"
			continue
		}
		if red, _ := filepath.Glob(filepath.Join(at, "red-*")); len(red) >= 3 {
			w.git(w.t, at, "reset", "-q", "--hard", before)
			out[st.RequestID] = "LAND_TEST_FAILED"
		}
	}
	return w.git(w.t, at, "rev-parse", "HEAD^{tree}"), out
}

// restackStopPoints are what a restack passes that a person has to help.
func restackStopPoints(t *testing.T) []string {
	list := filepath.Join(t.TempDir(), "points")
	if res := stacked(t, true).world(t).run("aiflow-run", []string{"restack", "--all"}, "AIFLOW_FAILPOINT_LIST="+list); res.status != 6 {
		t.Fatalf("no conflict: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// TestKilledWhileARestackStops kills a restack that a person has to help. The branch is
// where it was, and the same command says why once more.
func TestKilledWhileARestackStops(t *testing.T) {
	const request = "RQ-20260101-002-above"
	points := restackStopPoints(t)
	chosen := points[max(0, slices.Index(points, "at.restack_stopped")-12):] // what it does before is in the other test
	if !*everyPoint {
		chosen = oneOfEach(slices.Clone(chosen), 4) // places first
	}
	for _, point := range chosen {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := stacked(t, true).world(t)
			old := w.latest(request)
			w.run("aiflow-run", []string{"restack", "--all"}, "AIFLOW_FAILPOINT="+point).diedAt(t, point)
			w.looks("after the kill")
			if res := w.run("aiflow-run", []string{"restack", "--all"}); res.status != 6 {
				t.Fatalf("again: %s", res)
			}
			st := w.latest(request)
			if tip := w.git(t, w.dir, "rev-parse", st.Git.WorkBranch); !st.RestackStopped() || tip != old.Tip() || st.Git.BaseCommit != old.Git.BaseCommit {
				t.Errorf("%s %v, the branch is at %s, was %s", st.State, st.Error, tip, old.Tip())
			}
			if kept := w.git(t, w.dir, "rev-parse", runs.AttemptsOf(st.RunID)+"/restack/1"); kept != old.Tip() {
				t.Errorf("kept %s, was %s", kept, old.Tip())
			}
			var errs runs.Errors
			data, err := os.ReadFile(w.glob("runs/" + request + "/*/errors.json")[0])
			if err == nil {
				err = json.Unmarshal(data, &errs)
			}
			if err != nil || errs.RunID != st.RunID || errs.ReasonCode != st.Error.ReasonCode || errs.Message != st.Error.Message || !slices.Equal(errs.Actions, st.Error.Actions) {
				t.Errorf("errors.json: %v %+v", err, errs)
			}
		})
	}
}
