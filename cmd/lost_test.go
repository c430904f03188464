package cmd

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// damages are what may happen to a project whose runner was killed.
var damages = map[string]func(*world){
	"records lost": func(w *world) {
		if err := os.RemoveAll(filepath.Join(w.dir, "runs")); err != nil {
			w.t.Fatal(err)
		}
	},
	"folder moved": func(w *world) {
		to := w.dir + "-moved"
		if err := os.Rename(w.dir, to); err != nil {
			w.t.Fatal(err)
		}
		w.dir = to
	},
}

// TestLostOrMovedAnywhere kills a run at each of its named points, takes its
// records away or moves the project, and goes on as a person would: the request
// is done once, what was worked is in git or in place, and nothing is running.
func TestLostOrMovedAnywhere(t *testing.T) {
	l := threeSteps(t)
	doors := []string{"run", "next", "auto"}
	for i, point := range lostPoints(t, l) {
		for damage, do := range damages {
			t.Run(point+" "+damage, func(t *testing.T) {
				t.Parallel()
				w := l.world(t)
				w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT="+point).diedAt(t, point)
				worked := w.worked()
				do(w)
				res := w.goOn(doors[i%len(doors)])
				for _, problem := range append(w.lost(worked), w.doneOnce()...) {
					t.Error(problem)
				}
				if t.Failed() {
					t.Logf("went on by %s: %s", doors[i%len(doors)], res)
				}
			})
		}
	}
}

// lostPoints are the named points of a run, each once, or as often as it is
// passed.
func lostPoints(t *testing.T, l *lab) []string {
	t.Helper()
	var points []string
	for _, p := range l.points {
		kind, number, _ := strings.Cut(p, ":")
		if strings.HasPrefix(kind, "at.") && (*everyPoint || number == "1") {
			points = append(points, p)
		}
	}
	if len(points) == 0 {
		t.Fatal("a run passes no named points")
	}
	return points
}

// TestLossIsNoticed spoils what TestLostOrMovedAnywhere looks at, one thing at a
// time: its questions must notice each.
func TestLossIsNoticed(t *testing.T) {
	l := threeSteps(t)
	w := l.world(t)
	w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT=at.step_command:2")
	worked := w.worked()
	if res := w.goOn("run"); res.status != 0 {
		t.Fatalf("going on: %s", res)
	}
	if found := w.lost(append(worked, "0123456789012345678901234567890123456789")); len(found) != 1 {
		t.Errorf("work that is nowhere: %v", found)
	}
	file := filepath.Join(w.dir, "requests", l.request+".md")
	if err := os.WriteFile(file, []byte(running(crashRequestText)), 0o644); err != nil {
		t.Fatal(err)
	}
	if found := w.stillRunning(); len(found) == 0 {
		t.Error("a request that stays running is not noticed")
	}
	w.run("aiflow-run", []string{l.request})
	if found := w.doneOnce(); len(found) == 0 {
		t.Error("a request that is done twice is not noticed")
	}
}

// worked are the blobs of what is in the workspace.
func (w *world) worked() []string {
	w.t.Helper()
	var blobs []string
	for _, dir := range w.glob(".aiflow/worktrees/*") {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && d.Name() != ".git" && !isTemp(path) {
				blobs = append(blobs, w.git(w.t, w.dir, "hash-object", "--no-filters", "--", path))
			}
			return nil
		})
	}
	return blobs
}

// lost names the blobs that neither a ref leads to nor a workspace has.
func (w *world) lost(blobs []string) []string {
	w.t.Helper()
	there := map[string]bool{}
	for line := range strings.Lines(w.git(w.t, w.dir, "rev-list", "--objects", "--all")) {
		hash, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		there[hash] = true
	}
	for _, blob := range w.worked() {
		there[blob] = true
	}
	return problems("work is lost", slices.DeleteFunc(slices.Clone(blobs), func(b string) bool { return there[b] }))
}

func problems(what string, names []string) []string {
	var found []string
	for _, name := range names {
		found = append(found, what+": "+name)
	}
	return found
}

// goOn does what a person does: asks what is next, and runs it. A request that is
// finished is not run by its name: that would be to ask for it once more.
func (w *world) goOn(door string) ran {
	w.t.Helper()
	next := w.run("aiflow-next", []string{"--json"})
	var answer struct {
		Excluded []struct {
			RequestID string `json:"request_id"`
			Reason    string `json:"reason_code"`
		}
	}
	if err := json.Unmarshal([]byte(next.stdout), &answer); err != nil {
		w.t.Errorf("what is next: %v %s", err, next)
	}
	for _, e := range answer.Excluded {
		if e.RequestID == w.request && e.Reason == "LATEST_RUN_DONE" && door == "run" {
			door = "next"
		}
	}
	if found := w.stillRunning(); len(found) > 0 {
		w.t.Error(found)
	}
	args := map[string][]string{"run": {w.request}, "next": {"--next"}, "auto": {"auto"}}[door]
	return w.run("aiflow-run", args)
}

// stillRunning names the requests whose files say running.
func (w *world) stillRunning() []string {
	var found []string
	for _, path := range w.glob("requests/*.md") {
		if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "status: running") {
			found = append(found, path)
		}
	}
	return problems("stays running", found)
}

// doneOnce merges the finished branch. There is one, it holds what an undisturbed
// run makes, and afterwards the request is done and the one that waits for it is
// next.
func (w *world) doneOnce() []string {
	w.t.Helper()
	found := w.stillRunning()
	var finished []string
	refs := w.git(w.t, w.dir, "for-each-ref", "--format=%(refname) %(trailers:key=Aiflow-Result,valueonly)", "refs/heads/aiflow")
	for line := range strings.Lines(refs) {
		if ref, result, _ := strings.Cut(strings.TrimSpace(line), " "); result == "DONE" {
			finished = append(finished, ref)
		}
	}
	if len(finished) != 1 {
		return append(found, fmt.Sprintf("finished branches: %v", finished))
	}
	if tree := w.git(w.t, w.dir, "rev-parse", finished[0]+"^{tree}"); tree != w.tree {
		found = append(found, "the finished branch differs from that of an undisturbed run")
	}
	w.git(w.t, w.dir, "merge", "-q", "--no-edit", finished[0])
	next := w.run("aiflow-next", []string{"--json"})
	if !strings.Contains(next.stdout, `"next":{"request_id":"RQ-20260101-002-after"`) {
		found = append(found, "the request that waits for it is not next: "+next.String())
	}
	return append(found, w.stillRunning()...)
}
