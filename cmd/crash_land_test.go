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
		chosen := selection(points, *everyPoint)
		if !*everyPoint {
			named := slices.DeleteFunc(slices.Clone(points), func(p string) bool { return !strings.HasPrefix(p, "at.") || strings.HasSuffix(p, ":3") })
			chosen = append(named, oneOfEach(slices.DeleteFunc(chosen, func(p string) bool { return strings.HasPrefix(p, "at.") }), 6)...)
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

// stacked is a lab with a run that stands on one that was made anew since.
func stacked(t *testing.T) *lab {
	t.Helper()
	const name, below, above = "stacked", "RQ-20260101-001-below", "RQ-20260101-002-above"
	if shared[name] != nil {
		return shared[name]
	}
	l := labIn(t, filepath.Join(crashBin(t), "labs", name), below, "---\ntitle: Below\nstatus: ready\nsteps: [{title: x, run: 'date +%N > below.txt'}]\n---\n",
		`{"version": "1.0", "tests": {"land": {"command": "cat below.txt"}}}`)
	l.write(t, "template/requests/"+above+".md", "---\ntitle: Above\nstatus: ready\ndepends_on: ["+below+"]\nsteps: [{title: x, run: 'echo above > above.txt'}]\n---\n")
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
	w := stacked(t).world(t)
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
	chosen := selection(points, *everyPoint)
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
			w := stacked(t).world(t)
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

// TestStackedNight is a generated graph of requests, of which some fail and some collide, done
// by sessions with --stack that are killed now and then, and landed in the morning: the
// branch is what plain git makes by merging the same branches, and the checkout stays as it was.
func TestStackedNight(t *testing.T) {
	const n = 16
	rnd := rand.New(rand.NewPCG(3, 1))
	id := func(i int) string { return fmt.Sprintf("RQ-20260102-%03d", i) }
	needs := map[string][]string{}
	l := labIn(t, t.TempDir(), crashRequest, "---\ntitle: First\nstatus: ready\nsteps: [{title: x, run: 'true'}]\n---\n",
		`{"version": "1.0", "auto_run": {"stop_on_needs_input": false, "stop_on_failed": false}}`)
	for i := range n {
		for range rnd.IntN(3) {
			if dep := id(rnd.IntN(n)); dep < id(i) && !slices.Contains(needs[id(i)], dep) {
				needs[id(i)] = append(needs[id(i)], dep)
			}
		}
		command := "echo " + id(i) + " > " + id(i) + ".txt"
		switch rnd.IntN(6) {
		case 0:
			command = "exit 1"
		case 1, 2:
			command = fmt.Sprintf("echo %s > shared-%d.txt", id(i), rnd.IntN(2))
		}
		l.write(t, "template/requests/"+id(i)+".md", fmt.Sprintf("---\ntitle: R\nstatus: ready\ncreated_at: 2026-01-02\ndepends_on: [%s]\nsteps: [{title: x, run: 'echo %s >> \"$SIDE\"; %s'}]\n---\n",
			strings.Join(needs[id(i)], ", "), id(i), command))
	}
	l.git(t, l.template, "add", "-A")
	l.git(t, l.template, "commit", "-q", "-m", "requests")
	l.git(t, l.template, "branch", "integration")
	w := l.world(t)
	head := w.git(t, w.dir, "rev-parse", "HEAD")

	night := []string{"auto", "--stack", "--max-runs", "60"}
	for _, point := range []string{"at.step_command:3", "at.begun:2", "at.worktree:2", "at.completed:3", "at.step_command:2", "at.tidied:2"} {
		w.run("aiflow-run", night, "AIFLOW_FAILPOINT="+point)
	}
	if res := w.run("aiflow-run", night); res.killed || !strings.Contains(res.stdout, "NOTHING_RUNNABLE") {
		t.Fatalf("the last session: %s", res)
	}
	side, err := os.ReadFile(w.side)
	if err != nil {
		t.Fatal(err)
	}
	if now := w.git(t, w.dir, "rev-parse", "HEAD"); now != head {
		t.Errorf("the checkout moved to %s", now)
	}
	if changed := w.git(t, w.dir, "status", "--porcelain", "--", ".", ":!requests"); changed != "" {
		t.Errorf("the checkout changed: %s", changed)
	}
	var finished []*runs.Stage
	stacked := 0
	for i := range n {
		if times := strings.Count(string(side), id(i)+"\n"); times > 2 {
			t.Errorf("the step of %s was done %d times", id(i), times)
		}
		if len(w.glob("runs/"+id(i))) == 0 {
			continue
		}
		if st := w.latest(id(i)); st.State == runs.Done {
			finished = append(finished, st)
			stacked += len(st.Git.StackedOn)
		}
	}
	if len(finished) < n/2 || stacked < 4 {
		t.Fatalf("%d finished, %d on top of others: the graph shows nothing", len(finished), stacked)
	}
	finished = append(finished, w.latest(crashRequest), w.latest("RQ-20260101-002-after"))
	needs["RQ-20260101-002-after"] = []string{crashRequest}

	tree, out := w.mergedByHand(finished, needs)
	res := w.run("aiflow-land", []string{"--all", "--into", "integration", "--json"})
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
	if now := w.git(t, w.dir, "rev-parse", "integration^{tree}"); now != tree {
		t.Errorf("the tree differs from that of plain git: %s", w.git(t, w.dir, "diff", "--stat", tree, now))
	}
	left := map[string]string{}
	for _, l := range answer.LeftOut {
		left[l.RequestID] = l.Error.ReasonCode
	}
	if !maps.Equal(left, out) || len(left) == 0 {
		t.Errorf("left out %v, plain git %v", left, out)
	}
	if len(answer.Landed)+len(left) != len(finished) {
		t.Errorf("%d landed, %d left out, of %d", len(answer.Landed), len(left), len(finished))
	}
}

// mergedByHand merges finished branches with plain git, dependencies first, then by the time of
// finishing, and says what cannot be.
func (w *world) mergedByHand(finished []*runs.Stage, needs map[string][]string) (tree string, out map[string]string) {
	w.t.Helper()
	at := filepath.Join(w.t.TempDir(), "oracle")
	w.git(w.t, w.dir, "worktree", "add", "-q", "--detach", at, "integration")
	defer w.git(w.t, w.dir, "worktree", "remove", "--force", at)
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
		merge := exec.Command("git", "merge", "-q", "--no-ff", "--no-edit", st.Git.WorkBranch)
		merge.Dir, merge.Env = at, w.env()
		if merge.Run() != nil {
			w.git(w.t, at, "merge", "--abort")
			out[st.RequestID] = "LAND_CONFLICT"
		}
	}
	return w.git(w.t, at, "rev-parse", "HEAD^{tree}"), out
}
