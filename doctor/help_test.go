package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo is a repository with a home of its own and one commit.
type repo struct {
	t   testing.TB
	dir string
	env []string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	home := t.TempDir()
	r := &repo{t: t, dir: filepath.Join(home, "r"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
	}}
	if err := os.MkdirAll(filepath.Join(r.dir, "requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "--template=", "-b", "main")
	r.git("config", "user.name", "a")
	r.git("config", "user.email", "a@b")
	r.put(".gitignore", "/runs/\n/.aiflow/locks/\n/.aiflow/cache/\n/.aiflow/worktrees/\n/.aiflow/project/\n")
	r.put("requests/RQ-1.md", "---\nstatus: ready\npriority: P1\nupdated_at: 2026-01-01\n---\nbody\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "start")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) put(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}
