package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aiflow/internal/fault"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRootIsTheMainCheckoutFromEverywhere(t *testing.T) {
	top := realTemp(t)
	repo := mkdir(t, top, "re po 日本")
	git(t, repo, "init", "-q", ".")
	git(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	git(t, repo, "worktree", "add", "-q", filepath.Join(top, "linked"))
	git(t, repo, "worktree", "add", "-q", filepath.Join(repo, ".aiflow", "worktrees", "RQ-1"))
	link := filepath.Join(top, "link")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{
		repo, mkdir(t, repo, "a", "b"), mkdir(t, repo, "requests"), filepath.Join(top, "linked"),
		mkdir(t, top, "linked", "deep", "requests"), filepath.Join(repo, ".aiflow", "worktrees", "RQ-1"), link,
	} {
		got, err := FindRoot(from)
		if err != nil || got != (Root{Dir: repo, Git: true, Top: repo}) {
			t.Errorf("FindRoot(%s) = %+v, %v", from, got, err)
		}
	}
}

func TestRootOfOddRepositories(t *testing.T) {
	top := realTemp(t)
	inner := mkdir(t, top, "inner")
	git(t, inner, "init", "-q", ".")
	git(t, inner, "commit", "-q", "--allow-empty", "-m", "x")
	outer := mkdir(t, top, "outer")
	git(t, outer, "init", "-q", ".")
	git(t, outer, "submodule", "add", "-q", inner, "sub")
	git(t, top, "clone", "-q", "--bare", inner, "bare")
	git(t, filepath.Join(top, "bare"), "worktree", "add", "-q", filepath.Join(top, "of-bare"), "-b", "w")
	git(t, top, "init", "-q", "--separate-git-dir", filepath.Join(top, "elsewhere"), "separate")
	for _, dir := range []string{"outer/sub", "of-bare", "separate"} {
		want := filepath.Join(top, dir)
		bare := ""
		if dir == "of-bare" {
			bare = filepath.Join(top, "bare")
		}
		if got, err := FindRoot(want); err != nil || got != (Root{Dir: want, Git: true, Top: want, Bare: bare}) {
			t.Errorf("%s: %+v, %v", dir, got, err)
		}
	}
	if _, err := FindRoot(filepath.Join(top, "bare")); !fault.Has(err, fault.GitBareRepo) {
		t.Errorf("bare: %v", err)
	}
}

func TestRootInsideGitsOwnFolder(t *testing.T) {
	top := realTemp(t)
	for _, dir := range []string{"objects", "refs", "hooks", "modules/sub/objects", "modules/sub/refs"} {
		mkdir(t, top, ".git", dir)
	}
	for _, dir := range []string{".git", ".git/modules/sub"} {
		if err := os.WriteFile(filepath.Join(top, dir, "HEAD"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{".git", ".git/hooks", ".git/modules/sub"} {
		_, err := FindRoot(filepath.Join(top, dir))
		if f, ok := fault.As(err); !ok || f.Code != fault.InsideGitDir || f.Facts["top"] != top {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// The nearest .aiflow within the checkout is the project, else the nearest folder
// of requests; what git takes for no repository is looked past.
func TestRootBelowTheTop(t *testing.T) {
	top := realTemp(t)
	git(t, top, "init", "-q", ".")
	git(t, top, "commit", "-q", "--allow-empty", "-m", "x")
	for _, dir := range []string{"a/.aiflow", "a/src/requests", "b/requests", "b/c/deep/.git", "py/requests", "py/src", "none", "sub/requests/done"} {
		mkdir(t, top, dir)
	}
	for _, name := range []string{"py/requests/api.py", "sub/requests/README.md", "sub/requests/done/RQ-1.md"} {
		if err := os.WriteFile(filepath.Join(top, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(top, "a", ".aiflow", "worktrees", "RQ-1")
	git(t, top, "worktree", "add", "-q", linked)
	mkdir(t, linked, "b")
	for from, want := range map[string]string{
		"a/src": "a", "a/src/requests": "a", "b": "b", "b/c/deep": "b", "py/src": "", "py/requests": "", "none": "", "": "", "sub/requests": "sub",
		"a/.aiflow/worktrees/RQ-1": "a", "a/.aiflow/worktrees/RQ-1/b": "b",
	} {
		if got, err := FindRoot(filepath.Join(top, from)); err != nil || got.Dir != filepath.Join(top, want) || got.Top != top {
			t.Errorf("from %s: %+v, %v; want %s", from, got, err, want)
		}
	}
	mkdir(t, top, ".aiflow")
	if got, err := FindRoot(filepath.Join(top, "b")); err != nil || got.Dir != top {
		t.Errorf("below .aiflow: %+v, %v", got, err)
	}
}

func TestRootWithoutGit(t *testing.T) {
	top := realTemp(t)
	if _, err := FindRoot(mkdir(t, top, "empty")); !fault.Has(err, fault.GitNotRepo) {
		t.Errorf("nothing above: %v", err)
	}
	mkdir(t, top, "p", "requests")
	want := Root{Dir: filepath.Join(top, "p")}
	if got, err := FindRoot(mkdir(t, top, "p", "requests", "x")); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// What HEAD names is read from its file, or left to git.
func TestBranchOfRoot(t *testing.T) {
	top := realTemp(t)
	repo := mkdir(t, top, "repo")
	git(t, repo, "init", "-q", "-b", "main", ".")
	root := Root{Top: repo, Git: true}
	see := func(what string, r Root, want string, plain bool) {
		t.Helper()
		if name, ok := r.branch(); ok != plain || plain && name != want {
			t.Errorf("%s: %q, %v", what, name, ok)
		}
	}
	see("nothing committed", root, "main", true)
	git(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	git(t, repo, "checkout", "-q", "-b", "日本/x")
	see("a branch", root, "日本/x", true)
	git(t, repo, "worktree", "add", "-q", "-b", "other", filepath.Join(top, "linked"))
	see("a linked worktree", Root{Top: filepath.Join(top, "linked"), Git: true}, "other", true)
	git(t, repo, "symbolic-ref", "HEAD", "refs/remotes/x")
	see("no branch", root, "", false)
	git(t, repo, "checkout", "-q", "--detach", "main")
	see("no branch at all", root, "", false)
	if err := os.WriteFile(filepath.Join(repo, ".git", "HEAD"), []byte("ref: refs/heads/.invalid\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	see("refs that are no files", root, "", false)
	see("no repository", Root{Dir: top}, "", false)
}
