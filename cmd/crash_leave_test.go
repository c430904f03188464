package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilledWhileLeaving kills deinit at its points: the same command again comes to
// the same end as one that nobody disturbed.
func TestKilledWhileLeaving(t *testing.T) {
	l := leaving(t)
	end := func(w *world) string {
		out, err := exec.Command("sh", "-c", `cd "$1" && find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o ! -type d -print |
			grep -v -e /index -e ORIG_HEAD -e FETCH_HEAD -e packed-refs | sort; git for-each-ref --format="%(refname) %(objectname:short)" refs/heads; cat .gitignore requests/*`, "sh", w.dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	passed, undisturbed := leavingPoints(t)
	want := end(undisturbed)
	points := selection(passed, *everyPoint, 0)
	if !*everyPoint {
		points = oneOfEach(points, 5)
	}
	if testing.Short() {
		points = points[:1]
	}
	t.Logf("%d points, %d taken", len(passed), len(points))
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			w.run("aiflow-run", []string{"deinit"}, "AIFLOW_FAILPOINT="+point).diedAt(t, point)
			if res := w.run("aiflow-run", []string{"deinit"}); res.status != 0 {
				t.Fatalf("again: %s", res)
			}
			if got := end(w); got != want {
				t.Errorf("left:\n%s\nundisturbed:\n%s", got, want)
			}
		})
	}
}

// leavingPoints are the points that deinit passes, and the world that it left.
func leavingPoints(t *testing.T) ([]string, *world) {
	t.Helper()
	list := filepath.Join(t.TempDir(), "points")
	w := leaving(t).world(t)
	if res := w.run("aiflow-run", []string{"deinit"}, "AIFLOW_FAILPOINT_LIST="+list); res.status != 0 {
		t.Fatalf("undisturbed: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data)), w
}

// leaving is a project with hooks, a merged run, one that is not, and one that stopped.
func leaving(t *testing.T) *lab {
	t.Helper()
	const name = "leaving"
	if shared[name] != nil {
		return shared[name]
	}
	l := &lab{bin: crashBin(t), home: filepath.Join(crashBin(t), "labs", name), request: crashRequest}
	l.template = filepath.Join(l.home, "template")
	l.write(t, "home/gitconfig", "[user]\n\tname = Crash\n\temail = crash@example.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n")
	l.write(t, "template/.gitignore", "mine/\n")
	for id, run := range map[string]string{"RQ-1": "echo 1 > 1.txt", "RQ-2": "echo 2 > 2.txt", "RQ-3": "echo 3 > 3.txt; exit 3"} {
		l.write(t, "template/requests/"+id+".md", "---\ntitle: "+id+"\nstatus: ready\nsteps: [{title: x, run: '"+run+"'}]\n---\n")
	}
	l.git(t, l.template, "init", "-q", "--template=", ".")
	l.git(t, l.template, "add", "-A")
	l.git(t, l.template, "commit", "-q", "-m", "begin")
	w := &world{lab: l, t: t, dir: l.template, side: filepath.Join(l.home, "side")}
	for _, args := range [][]string{{"aiflow", "init", "--agents"}, {"aiflow-hook", "install"}, {"aiflow-run", "RQ-1"}, {"aiflow-run", "RQ-2"}, {"aiflow-run", "RQ-3"}} {
		w.run(args[0], args[1:])
	}
	l.git(t, l.template, "merge", "-q", "--no-edit", w.latest("RQ-1").Git.WorkBranch)
	shared[name] = l
	return l
}
