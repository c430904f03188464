package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/proc"
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
