package land

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/runs"
)

// graph is a project with finished runs, of which some depend on others, some collide and
// some fail the test. They are made with plain git, and without a run.
type graph struct {
	t    *testing.T
	dir  string
	env  []string
	runs []finishedRun
}

type finishedRun struct {
	id, runID, branch string
	needs             []string
	ended             time.Time
}

const onlyGreen = `test -z \"$(ls red* 2>/dev/null)\"`

func (g *graph) git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, g.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (g *graph) must(dir string, args ...string) string {
	g.t.Helper()
	out, err := g.git(dir, args...)
	if err != nil {
		g.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (g *graph) write(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		g.t.Fatal(err)
	}
}

func newGraph(t *testing.T, seed uint64, n int, land string) *graph {
	t.Helper()
	home := t.TempDir()
	g := &graph{t: t, dir: filepath.Join(home, "repo"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
	}}
	g.write("../gitconfig", "[user]\n\tname = G\n\temail = g@example.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n")
	g.write(".gitignore", "runs/\n.aiflow/\n")
	g.write(".aiflow/config.v1.json", `{"version": "1.0", "tests": {"land": `+land+`}}`)
	lines := func(change int, by string) string {
		var b strings.Builder
		for i := range 40 {
			if fmt.Fprintf(&b, "line %d", i); i == change {
				b.WriteString(by)
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	request := func(r finishedRun, status string) string {
		return fmt.Sprintf("---\nid: %s\ntitle: %s\nstatus: %s\ncreated_at: 2026-01-01\ndepends_on: [%s]\nsteps: [{title: x, run: 'true'}]\n---\n", r.id, r.id, status, strings.Join(r.needs, ", "))
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		r := finishedRun{id: fmt.Sprintf("RQ-%02d", i), runID: fmt.Sprintf("RUN-20260101-0000%02d-abcdef", i)}
		r.branch = "aiflow/" + r.id + "/x"
		r.ended = begun.Add(time.Duration(rnd.IntN(1000)) * time.Second)
		for range rnd.IntN(3) {
			if id := fmt.Sprintf("RQ-%02d", rnd.IntN(n)); id < r.id && !slices.Contains(r.needs, id) {
				r.needs = append(r.needs, id)
			}
		}
		g.runs = append(g.runs, r)
		g.write("requests/"+r.id+".md", request(r, "ready"))
	}
	for f := range 4 {
		g.write(fmt.Sprintf("f%d.txt", f), lines(-1, ""))
	}
	g.must(g.dir, "init", "-q", "--template=", ".")
	g.must(g.dir, "add", "-A")
	g.must(g.dir, "commit", "-q", "-m", "begin")
	g.must(g.dir, "branch", "integration")
	base := g.must(g.dir, "rev-parse", "main")

	var stream bytes.Buffer
	file := func(name, text string) {
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	commit := func(r finishedRun, last string, from string) {
		message := fmt.Sprintf("aiflow(%s)\n\nAiflow-Request: %s\nAiflow-Run: %s\n%s\n", r.id, r.id, r.runID, last)
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter G <g@example.invalid> 1767225600 +0000\ndata %d\n%s", r.branch, len(message), message)
		if from != "" {
			fmt.Fprintf(&stream, "from %s\n", from)
		}
	}
	for _, r := range g.runs {
		commit(r, "Aiflow-Step: S01", base)
		switch rnd.IntN(6) {
		case 0, 1, 2: // some of these meet
			file(fmt.Sprintf("f%d.txt", rnd.IntN(4)), lines(rnd.IntN(10)*4, " by "+r.id))
		case 3:
			file("red-"+r.id+".txt", "red\n")
		default:
			file(r.id+".txt", r.id+"\n")
		}
		stream.WriteString("\n")
		commit(r, "Aiflow-Result: DONE", "")
		file("requests/"+r.id+".md", request(r, "done"))
		stream.WriteString("\n")
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = g.dir, g.env, &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v\n%s", err, out)
	}
	p := g.project()
	for _, r := range g.runs {
		st := runs.NewStage(r.id, r.runID, r.id, begun)
		st.State, st.EndedAt = runs.Done, &r.ended
		st.Steps = []runs.Step{{StepID: "S01", Title: "x", Status: runs.StepDone}}
		st.Git = runs.Git{BaseBranch: "main", BaseCommit: base, WorkBranch: r.branch, Workspace: ".aiflow/worktrees/" + r.id}
		st.Artifacts.RequestPath = "requests/" + r.id + ".md"
		d := p.Run(r.id, r.runID)
		if err := d.Create(); err != nil {
			t.Fatal(err)
		}
		if err := d.SaveStage(st); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func (g *graph) project() *project.Project {
	g.t.Helper()
	p, err := project.Open(project.SystemEnv(g.dir, g.env, proc.ClockOf(time.Now, proc.BootClock), os.Getpid()))
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

// oracle is what plain git makes of it: the tree, and why what is left out is. Somebody else's
// commits are made first, as their files are in nobody's way.
func (g *graph) oracle(others int) (tree string, out map[string]fault.Code) {
	g.t.Helper()
	at := filepath.Join(g.dir, "../oracle")
	g.must(g.dir, "worktree", "add", "-q", "--detach", at, "integration")
	defer g.must(g.dir, "worktree", "remove", "--force", at)
	for i := range others {
		if err := os.WriteFile(filepath.Join(at, otherFile(i)), nil, 0o666); err != nil {
			g.t.Fatal(err)
		}
		g.must(at, "add", "-A")
		g.must(at, "commit", "-q", "-m", "other")
	}
	out, tried := map[string]fault.Code{}, map[string]bool{}
	order := slices.SortedFunc(slices.Values(g.runs), func(a, b finishedRun) int {
		if c := a.ended.Compare(b.ended); c != 0 {
			return c
		}
		return strings.Compare(a.runID, b.runID)
	})
	for len(tried) < len(order) {
		next := slices.IndexFunc(order, func(r finishedRun) bool {
			return !tried[r.id] && !slices.ContainsFunc(r.needs, func(id string) bool { return !tried[id] })
		})
		r := order[next]
		tried[r.id] = true
		red, _ := filepath.Glob(filepath.Join(at, "red*"))
		switch {
		case len(red) > 0:
			g.t.Fatal("the oracle is red")
		case slices.ContainsFunc(r.needs, func(id string) bool { return out[id] != "" }):
			out[r.id] = fault.DependsNotDone
			continue
		}
		if _, err := g.git(at, "merge", "-q", "--no-ff", "--no-edit", r.branch); err != nil {
			g.must(at, "merge", "--abort")
			out[r.id] = fault.LandConflict
			continue
		}
		if red, _ = filepath.Glob(filepath.Join(at, "red*")); len(red) > 0 {
			g.must(at, "reset", "-q", "--hard", "HEAD^")
			out[r.id] = fault.LandTestFailed
		}
	}
	return g.must(at, "rev-parse", "HEAD^{tree}"), out
}

func otherFile(i int) string { return fmt.Sprintf("other-%d.txt", i) }

// others are how many commits somebody makes on the branch while a landing tests.
const others = 3

// somebody commits to the branch without a checkout.
func (g *graph) somebody(i int) {
	index := "GIT_INDEX_FILE=" + filepath.Join(g.dir, "../other-index")
	sh := fmt.Sprintf(`set -e; git read-tree integration; blob=$(git hash-object -w --stdin </dev/null)
git update-index --add --cacheinfo 100644,$blob,%s
git update-ref refs/heads/integration $(git commit-tree -p integration -m other $(git write-tree))`, otherFile(i))
	cmd := exec.Command("/bin/sh", "-c", sh)
	cmd.Dir, cmd.Env = g.dir, append(slices.Clone(g.env), index)
	if out, err := cmd.CombinedOutput(); err != nil {
		g.t.Fatalf("somebody: %v\n%s", err, out)
	}
}

// play lands everything while somebody commits, and tells what differs from what git makes.
func (g *graph) play() (wrong []string) {
	g.t.Helper()
	g.write("f0.txt", "mine, not committed\n")
	g.write("mine.txt", "new\n")
	checkout := func() string {
		return g.must(g.dir, "status", "--porcelain") + g.must(g.dir, "rev-parse", "HEAD") + g.must(g.dir, "diff")
	}
	before := checkout()
	tree, out := g.oracle(others)
	made, passed := 0, 0
	l := &Lander{Project: g.project(), Text: func(key string, _ fault.Facts) string { return key }, Point: func(name string) {
		if name == "land_taken" {
			if passed++; passed%4 == 0 && made < others {
				g.somebody(made)
				made++
			}
		}
	}}
	result, err := l.Land(context.Background(), Options{Into: "integration"})
	if err != nil {
		g.t.Fatal(err)
	}
	for ; made < others; made++ {
		g.somebody(made)
	}
	if now := g.must(g.dir, "rev-parse", "integration^{tree}"); now != tree {
		wrong = append(wrong, "the tree differs:\n"+g.must(g.dir, "diff", "--stat", tree, now))
	}
	left := map[string]fault.Code{}
	for _, o := range result.LeftOut {
		left[o.RequestID] = fault.CodeOf(o.Err)
		if left[o.RequestID] == fault.LandConflict && (len(o.Files) == 0 || o.With == "") {
			wrong = append(wrong, fmt.Sprintf("%s collides with %q in %v", o.RequestID, o.With, o.Files))
		}
	}
	if !maps.Equal(left, out) {
		wrong = append(wrong, fmt.Sprintf("left out %v, want %v", left, out))
	}
	if len(result.Landed)+len(left) != len(g.runs) {
		wrong = append(wrong, fmt.Sprintf("%d landed and %d left out of %d", len(result.Landed), len(left), len(g.runs)))
	}
	if now := checkout(); now != before {
		wrong = append(wrong, "the checkout changed: "+now)
	}
	for _, i := range result.Landed {
		st, err := l.Project.Run(i.RequestID, i.RunID).LoadStage()
		if err != nil || st.Landed == nil || st.Landed.Commit != i.Commit || st.Landing != nil {
			wrong = append(wrong, fmt.Sprintf("%s: the record: %v", i.RequestID, err))
		}
	}
	return wrong
}

// TestLandsWhatGitMakes: of a graph of thirty finished branches, landing makes what plain git makes
// by merging them one after the other, whatever somebody else commits meanwhile.
func TestLandsWhatGitMakes(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, seed, 30, `{"command": "`+onlyGreen+`"}`)
			for _, w := range g.play() {
				t.Error(w)
			}
		})
	}
}

// TestUnsafeVariantsAreCaught: a landing without a test, and one that moves the branch wherever it
// stands, do not pass for the one above.
func TestUnsafeVariantsAreCaught(t *testing.T) {
	t.Run("without a test", func(t *testing.T) {
		t.Parallel()
		if wrong := newGraph(t, 0, 30, `{"enabled": false}`).play(); len(wrong) == 0 {
			t.Error("nothing is wrong")
		}
	})
	t.Run("without compare-and-swap", func(t *testing.T) {
		t.Parallel()
		g := newGraph(t, 0, 30, `{"command": "`+onlyGreen+`"}`)
		real, err := exec.LookPath("git")
		if err != nil {
			t.Fatal(err)
		}
		bin := filepath.Join(g.dir, "../bin")
		if err := os.MkdirAll(bin, 0o777); err != nil {
			t.Fatal(err)
		}
		// What is told of the branch's old place is not passed on.
		text := "#!/bin/sh\ncase \" $* \" in *' update-ref '*' refs/heads/integration '*)\n" +
			"set -- update-ref refs/heads/integration \"$(eval echo \\${$(($#-1))})\";; esac\nexec " + real + " \"$@\"\n"
		if err := proc.WriteProgram(filepath.Join(bin, "git"), []byte(text)); err != nil {
			t.Fatal(err)
		}
		g.env = append(g.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		wrong := g.play()
		if !strings.Contains(strings.Join(wrong, "\n"), "other-") {
			t.Errorf("what somebody committed is not missed: %q", wrong)
		}
	})
}

// TestForecastIsWhatLands: without tests that fail, what is foretold comes.
func TestForecastIsWhatLands(t *testing.T) {
	g := newGraph(t, 7, 30, `{"enabled": false}`)
	l := &Lander{Project: g.project(), Text: func(key string, _ fault.Facts) string { return key }}
	f, err := l.Forecast(context.Background(), Options{Into: "integration"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := l.Land(context.Background(), Options{Into: "integration"})
	if err != nil {
		t.Fatal(err)
	}
	ids := func(items []Item) (all []string) {
		for _, i := range items {
			all = append(all, i.RequestID)
		}
		return all
	}
	if got, want := ids(result.Landed), ids(f.Lands); !slices.Equal(got, want) {
		t.Errorf("landed %v, foretold %v", got, want)
	}
	if len(f.Pairs) == 0 || len(f.Most) < len(f.Lands) || len(f.LeftOut) != len(result.LeftOut) {
		t.Errorf("pairs %v, most %v, left out %d and %d", f.Pairs, f.Most, len(f.LeftOut), len(result.LeftOut))
	}
}
