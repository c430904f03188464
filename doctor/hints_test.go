package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
	"aiflow/messages"
)

// words are the sentences of a language, as a face lends them.
func words(lang string) Words {
	c := messages.Open(lang)
	return Words{
		Has: c.Has, Text: c.Text,
		Fault: func(err error) (string, []string) { f := c.Fault(err); return f.Message, f.Actions },
	}
}

// What to do is said with every way out, up to three.
func TestHints(t *testing.T) {
	r := newRepo(t)
	if err := os.RemoveAll(filepath.Join(r.dir, "requests")); err != nil {
		t.Fatal(err)
	}
	outside := &repo{t: t, dir: t.TempDir(), env: r.env}
	for _, lang := range []string{"en", "ja"} {
		for _, tc := range []struct {
			repo     *repo
			id, want string
		}{
			{r, "requests_dir", "aiflow init"},
			{outside, "repository", "git init"},
		} {
			rep := tc.repo.look(Quick, nil)
			rep.Describe(words(lang))
			c, _ := find(rep, tc.id)
			names := slices.ContainsFunc(c.Hints, func(h string) bool { return strings.Contains(h, tc.want) })
			if c.Status != Fail || !names || len(c.Hints) != 2 || c.Hint != c.Hints[0] {
				t.Errorf("%s %s: %s %q, want one with %q", lang, tc.id, c.Status, c.Hints, tc.want)
			}
		}
	}
}

func TestAtMostThreeHints(t *testing.T) {
	w := words("en")
	w.Fault = func(error) (string, []string) { return "m", []string{"a", "b", "c", "d"} }
	c := Check{ID: "git", Status: Fail, Err: fault.New(fault.InternalError)}
	c.describe(w)
	if !slices.Equal(c.Hints, []string{"a", "b", "c"}) || c.Hint != "a" {
		t.Errorf("%q %q", c.Hints, c.Hint)
	}
}

// git status names these files, so a plain "clean" would look like a lie.
func TestCleanButForStatus(t *testing.T) {
	r := newRepo(t)
	r.want(r.look(Quick, nil), "worktree_clean", Pass, "ok")
	r.put("requests/RQ-1.md", "---\nstatus: blocked\npriority: P1\nupdated_at: 2026-01-02\n---\nbody\n")
	c := r.want(r.look(Quick, nil), "worktree_clean", Pass, "status")
	if c.Facts["count"] != "1" || !slices.Equal(c.Evidence["status_only"].([]string), []string{"requests/RQ-1.md"}) {
		t.Errorf("%v %v", c.Facts, c.Evidence)
	}
	r.put("requests/RQ-1.md", "---\nstatus: blocked\npriority: P2\nupdated_at: 2026-01-02\n---\nbody\n")
	r.want(r.look(Quick, nil), "worktree_clean", Warn, "dirty")
}

// A ready request without steps cannot run when nobody implements.
func TestStepless(t *testing.T) {
	r := newRepo(t)
	r.put("requests/RQ-2.md", "---\nstatus: ready\npriority: P1\nsteps:\n  - title: First\n    run: \"true\"\n---\n")
	r.put("requests/RQ-3.md", "---\nstatus: draft\npriority: P1\n---\n")
	r.put("requests/RQ-4.md", "---\nstatus: ready\npriority: P1\n---\n")
	r.put("requests/RQ-5.md", "---\nstatus: nonsense\n---\n")
	c := r.want(r.look(Quick, nil), "router", Warn, "stepless")
	if c.Facts["count"] != "2" || c.Facts["names"] != "RQ-1, RQ-4" {
		t.Errorf("%v", c.Facts)
	}
	r.put(".aiflow/router.v1.json", `{"version":"1.0","routing":{"planner":{"primary":"codex"}}}`)
	r.want(r.look(Quick, nil), "router", Warn, "stepless")
	r.route("codex", "")
	r.want(r.look(Quick, nil), "router", Pass, "ok")
	if err := os.Remove(filepath.Join(r.dir, ".aiflow/router.v1.json")); err != nil {
		t.Fatal(err)
	}
	steps := "---\nstatus: ready\npriority: P1\nsteps:\n  - title: First\n    run: \"true\"\n---\n"
	r.put("requests/RQ-1.md", steps)
	r.put("requests/RQ-4.md", steps)
	r.want(r.look(Quick, nil), "router", Pass, "none")
	for _, status := range []string{"blocked", "running"} {
		r.put("requests/RQ-4.md", "---\nstatus: "+status+"\npriority: P1\n---\n")
		r.want(r.look(Quick, nil), "router", Warn, "stepless")
	}
	r.put("requests/RQ-4.md", "---\nstatus: done\npriority: P1\n---\n")
	r.want(r.look(Quick, nil), "router", Pass, "none")
}
