package gitops_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aiflow/doctor"
	"aiflow/gitops"
	"aiflow/internal/proc"
	"aiflow/project"
)

// What doctor calls clean is what git status calls clean, on every odd
// repository and after changes of every kind.
func TestDoctorCallsCleanWhatGitCallsClean(t *testing.T) {
	gitops.EachOdd(t, func(t *testing.T, o gitops.OddRepo) {
		env := project.SystemEnv(o.Root, o.Env, proc.ClockOf(time.Now, proc.BootClock), os.Getpid())
		p, err := project.Open(env)
		if err != nil {
			t.Fatal(err)
		}
		v := verdict{t: t, p: p, o: o}
		v.compare("as it is")
		for _, c := range v.changes() {
			c.do()
			v.compare(c.name)
		}
		if v.dirty == 0 {
			t.Error("nothing made it dirty")
		}
	})
}

type verdict struct {
	t     *testing.T
	p     *project.Project
	o     gitops.OddRepo
	dirty int
}

func (v *verdict) compare(when string) {
	v.t.Helper()
	checks := doctor.Run(v.t.Context(), doctor.Options{Env: v.p.Env}).Checks
	i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.ID == "worktree_clean" })
	want := v.o.Sh(v.p.Dir, "status", "--porcelain")
	if i < 0 || (checks[i].Status == doctor.Pass) != (want == "") {
		v.t.Errorf("%s: doctor says %+v, git says %q", when, checks, want)
	}
	if want != "" {
		v.dirty++
	}
}

type changeStep struct {
	name string
	do   func()
}

func (v *verdict) changes() []changeStep {
	write := func(name, text string) {
		v.t.Helper()
		path := filepath.Join(v.p.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			v.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			v.t.Fatal(err)
		}
	}
	gone := func(name string) {
		v.t.Helper()
		if err := os.RemoveAll(filepath.Join(v.p.Dir, name)); err != nil {
			v.t.Fatal(err)
		}
	}
	old := time.Unix(1e9, 0)
	return []changeStep{
		{"times touched", func() {
			_ = filepath.WalkDir(v.p.Dir, func(path string, d os.DirEntry, err error) error {
				if err == nil && d.IsDir() && d.Name() == ".git" {
					return filepath.SkipDir
				}
				if err == nil && d.Type().IsRegular() && d.Name() != ".git" {
					_ = os.Chtimes(path, old, old)
				}
				return nil
			})
		}},
		{"ignored by .git/info/exclude", func() {
			exclude := v.o.Sh(v.p.Dir, "rev-parse", "--git-path", "info/exclude")
			if !filepath.IsAbs(exclude) {
				exclude = filepath.Join(v.p.Dir, exclude)
			}
			if err := os.MkdirAll(filepath.Dir(exclude), 0o755); err != nil {
				v.t.Fatal(err)
			}
			if err := os.WriteFile(exclude, []byte("secret\n"), 0o644); err != nil {
				v.t.Fatal(err)
			}
			write("secret", "x")
		}},
		{"an untracked file", func() { write("untracked file", "x") }},
		{"and it is gone", func() { gone("untracked file") }},
		{"an untracked request", func() { write("requests/RQ-1.md", "---\nstatus: ready\n---\n") }},
		{"the request is staged", func() { v.o.Sh(v.p.Dir, "add", "--sparse", "requests") }},
		{"and it is gone", func() { v.o.Sh(v.p.Dir, "rm", "-q", "-r", "-f", "--sparse", "--cached", "requests"); gone("requests") }},
		{"intended to be added", func() { write("later", "x"); v.o.Sh(v.p.Dir, "add", "--sparse", "-N", "later") }},
	}
}
