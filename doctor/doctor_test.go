package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
)

func (r *repo) look(mode Mode, change func(*Options)) *Report {
	r.t.Helper()
	o := Options{Env: r.project(), Mode: mode}
	if change != nil {
		change(&o)
	}
	return Run(r.t.Context(), o)
}

func find(rep *Report, id string) (Check, bool) {
	i := slices.IndexFunc(rep.Checks, func(c Check) bool { return c.ID == id })
	if i < 0 {
		return Check{}, false
	}
	return rep.Checks[i], true
}

func (r *repo) want(rep *Report, id string, status Status, kind string) Check {
	r.t.Helper()
	c, ok := find(rep, id)
	if !ok || c.Status != status || c.Kind != kind {
		r.t.Errorf("%s is %s %s %v, want %s %s", id, c.Status, c.Kind, c.Err, status, kind)
	}
	return c
}

func TestEveryCheckIsInItsMode(t *testing.T) {
	r := newRepo(t)
	quick, full := r.look(Quick, nil), r.look(Full, nil)
	if len(full.Checks) != len(IDs()) {
		t.Errorf("%d checks, want %d", len(full.Checks), len(IDs()))
	}
	for i, c := range full.Checks {
		if c.ID != IDs()[i] {
			t.Errorf("%s is at the place of %s", c.ID, IDs()[i])
		}
		_, ok := find(quick, c.ID)
		if slow := c.ID == "ai_commands" || c.ID == "worktrees" || c.ID == "temp_files" || c.ID == "gh" || c.ID == "clock" || c.ID == "cache" || c.ID == "versions"; ok == slow {
			t.Errorf("%s in quick: %v", c.ID, ok)
		}
	}
}

func TestDiskSpace(t *testing.T) {
	r := newRepo(t)
	for _, tc := range []struct {
		space  Space
		status Status
		kind   string
	}{
		{Space{Free: 2 << 30, Files: 1e6, FilesN: 2e6}, Pass, "ok"},
		{Space{Free: 2 << 30}, Pass, "ok"},
		{Space{Free: 1<<30 - 1}, Warn, "little"},
		{Space{Free: 64<<20 - 1}, Fail, "full"},
		{Space{Free: 2 << 30, Files: 999, FilesN: 2e6}, Fail, "files"},
	} {
		rep := r.look(Quick, func(o *Options) { o.Space = func(string) (Space, error) { return tc.space, nil } })
		r.want(rep, "disk_space", tc.status, tc.kind)
	}
	rep := r.look(Quick, func(o *Options) { o.Space = func(string) (Space, error) { return Space{}, os.ErrPermission } })
	r.want(rep, "disk_space", Pass, "unknown")
}

func TestClock(t *testing.T) {
	r := newRepo(t)
	r.put(".aiflow/cache/x", "")
	at := func(move func(time.Time) time.Time) *Report {
		return r.look(Full, func(o *Options) {
			o.Env.Clock = proc.ClockOf(func() time.Time { return move(time.Now()) }, proc.BootClock)
		})
	}
	r.want(at(func(t time.Time) time.Time { return t }), "clock", Pass, "ok")
	r.want(at(func(time.Time) time.Time { return time.Unix(1e9, 0) }), "clock", Fail, "past")
	r.want(at(func(t time.Time) time.Time { return t.Add(time.Hour) }), "clock", Warn, "disk")
	r.want(at(func(t time.Time) time.Time { return t.Add(-time.Hour) }), "clock", Warn, "disk")
	if left, _ := filepath.Glob(filepath.Join(r.dir, ".aiflow/cache/.clock*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func (r *repo) gate() error {
	r.t.Helper()
	p, err := project.Open(r.project())
	if err != nil {
		r.t.Fatal(err)
	}
	return Gate(r.t.Context(), p)
}

func TestGate(t *testing.T) {
	r := newRepo(t)
	r.put("dirt", "x")
	if err := r.gate(); err != nil {
		t.Errorf("a dirty checkout: %v", err)
	}
	r.put(".aiflow/config.v1.json", `{"version":"1.0","git":{"require_clean_worktree":true}}`)
	err := r.gate()
	if f, ok := fault.As(err); !ok || f.Code != fault.WorktreeDirty || f.Facts["count"] != "2" || f.Facts["path"] != r.dir {
		t.Errorf("clean is required: %v", err)
	}
	r.put("runs", "no folder")
	err = r.gate()
	if f, ok := fault.As(err); !ok || f.Code != fault.DoctorFailed || f.Facts["checks"] != "worktree_clean, runs" {
		t.Errorf("two failures: %v", err)
	}
	if err := os.Remove(filepath.Join(r.dir, "runs")); err != nil {
		t.Fatal(err)
	}
	r.put(".aiflow/config.v1.json", `{"version":"1.0","git":{"base_branch":"nowhere"}}`)
	r.put(".aiflow/router.v1.json", `{"version":"1.0","routing":{"qa":{"primary":"x"}},"commands":{"x":{"bin":"no-such-program","args":["{{prompt}}"]}}}`)
	if err := r.gate(); err != nil {
		t.Errorf("what only some requests need: %v", err)
	}
}

// What cannot be looked at because the caller gave up says nothing wrong and
// ends soon.
func TestCancelled(t *testing.T) {
	r := newRepo(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rep := Run(ctx, Options{Env: r.project(), Mode: Full}); rep.Summary.Status != Fail {
		t.Errorf("%+v", rep.Summary)
	}
}

func TestOlder(t *testing.T) {
	for _, tc := range []struct {
		version string
		want    bool
	}{
		{"2.25.9", true},
		{"1.99", true},
		{"2.26.0", false},
		{"2.39.5 (Apple Git-154)", false},
		{"2.46.0.windows.1", false},
		{"3.0.0-rc1", false},
		{"weird", false},
	} {
		if got := older(tc.version, oldest); got != tc.want {
			t.Errorf("older(%q) = %v", tc.version, got)
		}
	}
}
