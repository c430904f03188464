package gitops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/gitcmd"
)

// bench is a real git with a home of its own.
type bench struct {
	t   testing.TB
	dir string
	env []string
	git gitcmd.Git
}

const testIdentity = "[user]\n\tname = Tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[maintenance]\n\tauto = false\n"

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "gitconfig")
	writeFile(t, config, testIdentity)
	b := &bench{t: t, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + config,
	}}
	g, err := gitcmd.Find(b.env)
	if err != nil {
		t.Fatal(err)
	}
	b.git = g
	return b
}

// sh runs git in dir and gives its output; a failure ends the test.
func (b *bench) sh(dir string, args ...string) string {
	b.t.Helper()
	out, err := b.try(dir, args...)
	if err != nil {
		b.t.Fatalf("git %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func (b *bench) try(dir string, args ...string) (string, error) { return b.feed(dir, "", args...) }

// feed runs git with a standard input.
func (b *bench) feed(dir, input string, args ...string) (string, error) {
	cmd := exec.Command(b.git.Bin, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(append([]string(nil), b.env...), "GIT_AUTHOR_DATE=2026-01-02T03:04:05+0900", "GIT_COMMITTER_DATE=2026-01-02T03:04:05+0900")
	var out, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if err != nil {
		return out.String() + stderr.String(), err
	}
	return out.String(), nil
}

const (
	by         = "committer Tester <tester@example.org> 1767290645 +0900\n"
	twoCommits = "commit refs/heads/main\n" + by + "data 6\nfirst\n\n" +
		"M 644 inline .gitignore\ndata 25\n*.log\n/.aiflow/worktrees\n\nM 644 inline dir/g\ndata 4\ntwo\n\nM 644 inline f\ndata 4\none\n\n" +
		"commit refs/heads/main\n" + by + "data 7\nsecond\n\nM 644 inline f\ndata 9\none\nmore\n\n"
)

// repo makes a repository with two commits: f and dir/g, then f changed.
func (b *bench) repo(name string, init ...string) string {
	b.t.Helper()
	dir := filepath.Join(b.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.sh(dir, append([]string{"init", "-q"}, init...)...)
	if out, err := b.feed(dir, twoCommits, "fast-import", "--quiet"); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	b.sh(dir, "reset", "-q", "--hard")
	return dir
}

func (b *bench) commit(dir, message string, files map[string]string) {
	b.t.Helper()
	for name, text := range files {
		writeFile(b.t, filepath.Join(dir, name), text)
	}
	b.sh(dir, "add", "-A")
	b.sh(dir, "commit", "-q", "--allow-empty", "-m", message)
}

func (b *bench) open(dir string) *Repo {
	b.t.Helper()
	r, err := Open(b.t.Context(), b.git, dir)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// worktree makes branch name from HEAD and a workspace for it.
func (b *bench) worktree(r *Repo, id string) *Workspace {
	b.t.Helper()
	h, err := r.Head(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	branch := "aiflow/" + id + "/20260102-030405"
	if err := r.CreateBranch(b.t.Context(), branch, h.Commit); err != nil {
		b.t.Fatal(err)
	}
	w, err := r.AddWorktree(b.t.Context(), filepath.Join(r.root, ".aiflow/worktrees", id), branch, Keep{})
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFileText(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// keepAll has a place for everything.
func keepAll(t testing.TB) Keep {
	return Keep{
		Ref: "refs/aiflow/attempts/RUN-1/left", Message: CommitMessage{Subject: "kept"},
		Dir: filepath.Join(t.TempDir(), "kept"), Ignored: 1 << 20,
	}
}
