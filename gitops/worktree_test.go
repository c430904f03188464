package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func reason(err error) string {
	if f, ok := fault.As(err); ok {
		return f.Facts["reason"]
	}
	return ""
}

func TestOpenFaults(t *testing.T) {
	b := newBench(t)
	b.sh(b.dir, "init", "-q", "--bare", "bare")
	if _, err := Open(t.Context(), b.git, filepath.Join(b.dir, "bare")); !fault.Has(err, fault.GitBareRepo) {
		t.Errorf("bare: %v", err)
	}
	writeFile(t, filepath.Join(b.dir, "plain/f"), "")
	for _, dir := range []string{"plain", "none", "gitconfig"} {
		if _, err := Open(t.Context(), b.git, filepath.Join(b.dir, dir)); !fault.Has(err, fault.GitNotRepo) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	g := b.git
	g.Bin = "/no/such/git"
	if _, err := Open(t.Context(), g, b.repo("r")); !fault.Has(err, fault.GitNotAvailable) {
		t.Errorf("no git: %v", err)
	}
}

func TestSafeDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give a folder away")
	}
	b := newBench(t)
	root := b.repo("r")
	for _, dir := range []string{root, filepath.Join(root, ".git")} {
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Skip(err)
		}
	}
	_, err := Open(t.Context(), b.git, root)
	f, _ := fault.As(err)
	if !fault.Has(err, fault.GitRepoRefused) || f.Facts["trust"] != "git config --global --add safe.directory "+root || !strings.Contains(f.Facts["cause"], "dubious ownership") {
		t.Fatalf("err = %v", err)
	}
	g := b.git.With("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0="+root)
	if _, err := Open(t.Context(), g, root); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

func TestResolveBase(t *testing.T) {
	b := newBench(t)
	from := b.repo("from")
	b.sh(from, "branch", "feature", "HEAD~1")
	b.sh(b.dir, "clone", "-q", from, "r")
	root := filepath.Join(b.dir, "r")
	b.commit(root, "local", nil)
	b.sh(root, "tag", "-a", "-m", "t", "v1", "HEAD~1")
	b.sh(root, "tag", "main", "HEAD~2")
	b.sh(root, "update-ref", "refs/heads/aiflow/RQ-1/x", "HEAD")
	r := b.open(root)
	for _, tc := range []struct{ wanted, branch, rev string }{
		{"", "main", "refs/heads/main"},
		{"main", "main", "refs/heads/main"},
		{"origin/main", "origin/main", "refs/remotes/origin/main"},
		{"feature", "origin/feature", "refs/remotes/origin/feature"},
		{"v1", "v1", "refs/tags/v1^{commit}"},
		{"refs/tags/v1", "refs/tags/v1", "refs/tags/v1^{commit}"},
		{"HEAD~1", "HEAD~1", "HEAD~1"},
		{"aiflow/RQ-1/x", "aiflow/RQ-1/x", "HEAD"},
	} {
		branch, commit, err := r.ResolveBase(t.Context(), tc.wanted)
		if want := b.sh(root, "rev-parse", tc.rev); err != nil || branch != tc.branch || commit != want {
			t.Errorf("%q: %s, %s, %v, want %s, %s", tc.wanted, branch, commit, err, tc.branch, want)
		}
	}
	for _, wanted := range []string{"nope", "--upload-pack=id", "-x", "a b", "x\ny", "HEAD:f"} {
		if _, _, err := r.ResolveBase(t.Context(), wanted); !fault.Has(err, fault.BaseBranchNotFound) {
			t.Errorf("%q: %v", wanted, err)
		}
	}
	b.sh(root, "checkout", "-q", "-b", "topic", "HEAD~1")
	if branch, commit, err := r.ResolveBase(t.Context(), ""); branch != "topic" || commit != b.sh(root, "rev-parse", "HEAD") {
		t.Errorf("beside a main and an origin: %s, %v", branch, err)
	}
}

func TestCurrentBase(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	if branch, commit, err := r.ResolveBase(t.Context(), ""); branch != "main" || commit != b.sh(root, "rev-parse", "HEAD") || err != nil {
		t.Errorf("%s, %s, %v", branch, commit, err)
	}
	b.sh(root, "checkout", "-q", "-b", "aiflow/RQ-1/x")
	if _, _, err := r.ResolveBase(t.Context(), ""); !fault.Has(err, fault.BaseBranchNotFound) || reason(err) != "work_branch" {
		t.Errorf("on a work branch: %v", err)
	}
	b.sh(root, "checkout", "-q", "--detach")
	if branch, commit, err := r.ResolveBase(t.Context(), ""); branch != commit || commit != b.sh(root, "rev-parse", "HEAD") || err != nil {
		t.Errorf("detached: %s, %s, %v", branch, commit, err)
	}
	b.sh(b.dir, "init", "-q", "empty")
	for _, wanted := range []string{"", "main"} {
		if _, _, err := b.open(filepath.Join(b.dir, "empty")).ResolveBase(t.Context(), wanted); !fault.Has(err, fault.GitNoCommit) {
			t.Errorf("unborn, %q: %v", wanted, err)
		}
	}
}

func TestCreateBranch(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	head, first := b.sh(root, "rev-parse", "HEAD"), b.sh(root, "rev-parse", "HEAD~1")
	create := func(name, commit string) error { return r.CreateBranch(t.Context(), name, commit) }
	if err := create("aiflow/RQ-1/x", head); err != nil {
		t.Fatal(err)
	}
	if err := create("aiflow/RQ-1/x", first); !errors.Is(err, ErrBranchExists) || !fault.Has(err, fault.BranchCreateFailed) {
		t.Errorf("again: %v", err)
	}
	if got := b.sh(root, "rev-parse", "aiflow/RQ-1/x"); got != head {
		t.Errorf("the branch was moved to %s", got)
	}
	b.sh(root, "branch", "work")
	for _, tc := range []struct{ name, commit, reason string }{
		{"work/RQ-1/x", head, "name_taken"},
		{"aiflow", head, "name_taken"},
		{"-x", head, "bad_name"},
		{"a..b", head, "bad_name"},
		{"refs/heads/x", head, "bad_name"},
		{"y", strings.Repeat("1", 40), "commit_not_found"},
	} {
		if err := create(tc.name, tc.commit); !fault.Has(err, fault.BranchCreateFailed) || reason(err) != tc.reason || errors.Is(err, ErrBranchExists) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestDeleteBranch(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	w := b.worktree(r, "RQ-1")
	head, first := b.sh(root, "rev-parse", "HEAD"), b.sh(root, "rev-parse", "HEAD~1")
	if err := r.DeleteBranch(t.Context(), w.Branch(), first); !errors.Is(err, ErrMoved) {
		t.Errorf("moved: %v", err)
	}
	for _, name := range []string{w.Branch(), "main"} {
		if err := r.DeleteBranch(t.Context(), name, head); reason(err) != "checked_out" {
			t.Errorf("%s is checked out: %v", name, err)
		}
	}
	remove(t, filepath.Join(w.Path(), ".git")) // a git that was killed while it removed the worktree
	for range 2 {
		if err := r.DeleteBranch(t.Context(), w.Branch(), head); err != nil {
			t.Error(err)
		}
	}
	if got := b.sh(root, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("refs %s", got)
	}
}

func TestValidBranchAgreesWithGit(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{
		"a", "a/b", "a//b", "/a", "a/", ".a", "a/.b", "a.", "a..b", "a.lock", "a.lock/b", "@", "a@{b", "a@b", "a b", "a\tb", "a\x1bb", "a\x7fb",
		"a~b", "a^b", "a:b", "a?b", "a*b", "a[b", `a\b`, "日本", "x;id", "x$(id)", "", "feature|cat", "`x`", "a\nb",
	} {
		_, err := b.try(b.dir, "check-ref-format", "refs/heads/"+name)
		if got, want := ValidBranch(name), err == nil && name != "@"; got != want {
			t.Errorf("ValidBranch(%q) = %t, git says %t", name, got, want)
		}
	}
	for _, name := range []string{"-x", "--upload-pack=id", "HEAD", "refs/heads/x", strings.Repeat("a", 300)} {
		if ValidBranch(name) {
			t.Errorf("ValidBranch(%q)", name)
		}
	}
}

// stale leaves something at the path of RQ-1's worktree and says whether it
// may be cleared away.
var staleCases = []struct {
	name   string
	leave  func(t *testing.T, b *bench, r *Repo, w *Workspace)
	reason string // of the refusal; "" means cleared
}{
	{"folder gone", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) { remove(t, w.Path()) }, ""},
	{"clean and registered", func(*testing.T, *bench, *Repo, *Workspace) {}, ""},
	{"killed while being made", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) {
		writeFile(t, filepath.Join(w.gitDir, "locked"), "initializing")
		remove(t, filepath.Join(w.gitDir, "index"))
		remove(t, filepath.Join(w.Path(), "dir"))
		writeFile(t, filepath.Join(w.Path(), "f"), "on")
	}, ""},
	{"killed before the link", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) {
		writeFile(t, filepath.Join(w.gitDir, "locked"), "initializing")
		remove(t, filepath.Join(w.Path(), ".git"))
	}, ""},
	{"half removed", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) {
		remove(t, filepath.Join(w.Path(), "dir"))
		remove(t, filepath.Join(w.gitDir, "index"))
	}, ""},
	{"record gone", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) { remove(t, w.gitDir) }, ""},
	{"empty folder", func(t *testing.T, b *bench, r *Repo, w *Workspace) {
		b.sh(r.root, "worktree", "remove", w.Path())
		mkdir(t, w.Path())
	}, ""},
	{"changed file", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) {
		writeFile(t, filepath.Join(w.Path(), "f"), "mine\n")
	}, "has_changes"},
	{"new file", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) {
		writeFile(t, filepath.Join(w.Path(), "n"), "mine\n")
	}, "has_changes"},
	{"new file, record gone", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) {
		remove(t, w.gitDir)
		writeFile(t, filepath.Join(w.Path(), "n"), "mine\n")
	}, "has_changes"},
	{"folder of something else", func(t *testing.T, b *bench, r *Repo, w *Workspace) {
		b.sh(r.root, "worktree", "remove", w.Path())
		writeFile(t, filepath.Join(w.Path(), "thesis.txt"), "mine\n")
	}, "has_changes"},
	{"file", func(t *testing.T, b *bench, r *Repo, w *Workspace) {
		b.sh(r.root, "worktree", "remove", w.Path())
		writeFile(t, w.Path(), "mine\n")
	}, "not_a_folder"},
	{"link", func(t *testing.T, b *bench, r *Repo, w *Workspace) {
		b.sh(r.root, "worktree", "remove", w.Path())
		mkdir(t, filepath.Join(b.dir, "elsewhere"))
		if err := os.Symlink(filepath.Join(b.dir, "elsewhere"), w.Path()); err != nil {
			t.Fatal(err)
		}
	}, "not_a_folder"},
	{"locked by a person", func(_ *testing.T, b *bench, r *Repo, w *Workspace) { b.sh(r.root, "worktree", "lock", w.Path()) }, "locked"},
	{"detached where a branch is", func(_ *testing.T, b *bench, _ *Repo, w *Workspace) { b.sh(w.Path(), "checkout", "-q", "--detach") }, ""},
	{"detached with a commit", func(_ *testing.T, b *bench, _ *Repo, w *Workspace) {
		b.sh(w.Path(), "checkout", "-q", "--detach")
		b.sh(w.Path(), "commit", "-q", "--allow-empty", "-m", "nowhere else")
	}, "has_changes"},
	{"changed while being made", func(t *testing.T, _ *bench, _ *Repo, w *Workspace) {
		writeFile(t, filepath.Join(w.gitDir, "locked"), "initializing")
		remove(t, filepath.Join(w.gitDir, "index"))
		writeFile(t, filepath.Join(w.Path(), "f"), "mine\n")
	}, "has_changes"},
}

func TestWhatIsLeftAtTheWorktreesPath(t *testing.T) {
	for _, tc := range staleCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			root := b.repo("sp ace 日\n本")
			r := b.open(root)
			w := b.worktree(r, "RQ-1")
			tc.leave(t, b, r, w)
			before := listing(t, w.Path())
			again, err := r.AddWorktree(t.Context(), w.Path(), w.Branch(), Keep{})
			if tc.reason != "" {
				if reason(err) != tc.reason || listing(t, w.Path()) != before {
					t.Errorf("err = %v, want %s; files %q, were %q", err, tc.reason, listing(t, w.Path()), before)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if set, err := again.Changes(t.Context()); err != nil || !set.Empty() || readFileText(t, filepath.Join(again.Path(), "dir/g")) != "two\n" {
				t.Errorf("%+v, %v", set, err)
			}
			if got := strings.Count(b.sh(root, "worktree", "list", "--porcelain"), "\nbranch refs/heads/aiflow/"); got != 1 {
				t.Errorf("%d worktrees", got)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir // commits are welcome there
		}
		if err == nil && d.Type().IsRegular() {
			all.WriteString(p + "=" + readFileText(t, p) + ";")
		}
		return nil
	})
	return all.String()
}

func TestOpenWorktree(t *testing.T) {
	b := newBench(t)
	r := b.open(b.repo("r"))
	w := b.worktree(r, "RQ-1")
	again, ok, err := r.OpenWorktree(t.Context(), w.Path())
	if err != nil || !ok || again.Branch() != w.Branch() || again.gitDir != w.gitDir {
		t.Fatalf("%+v, %t, %v", again, ok, err)
	}
	if _, ok, err := r.OpenWorktree(t.Context(), filepath.Join(r.root, ".aiflow/worktrees/RQ-2")); ok || err != nil {
		t.Errorf("none: %t, %v", ok, err)
	}
	if _, ok, _ := r.OpenWorktree(t.Context(), r.root); ok {
		t.Error("the checkout is no linked worktree")
	}
	writeFile(t, filepath.Join(w.gitDir, "locked"), "initializing\n")
	if _, ok, _ := r.OpenWorktree(t.Context(), w.Path()); ok {
		t.Error("a half-made one is none")
	}
}

func TestWorktreesAreOnlyInTheirFolder(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	b.sh(root, "branch", "side")
	b.sh(root, "worktree", "add", "-q", "../theirs", "side")
	theirs := filepath.Join(b.dir, "theirs")
	for _, path := range []string{theirs, root, filepath.Join(root, ".aiflow/worktrees"), filepath.Join(root, ".aiflow/worktrees/../x"), ".aiflow/worktrees/x"} {
		if err := r.RemoveWorktree(t.Context(), path, keepAll(t)); reason(err) != "outside" {
			t.Errorf("remove %s: %v", path, err)
		}
		if _, err := r.AddWorktree(t.Context(), path, "main", Keep{}); reason(err) != "outside" {
			t.Errorf("add %s: %v", path, err)
		}
	}
	if !exists(filepath.Join(theirs, "f")) {
		t.Error("the user's worktree is gone")
	}
}

func TestAddWorktreeRefusals(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	r := b.open(root)
	path := filepath.Join(root, ".aiflow/worktrees/RQ-1")
	for _, branch := range []string{"no/such", "-b", "", "main"} { // main is checked out in the user's checkout
		if _, err := r.AddWorktree(t.Context(), path, branch, Keep{}); !fault.Has(err, fault.WorkspaceFailed) {
			t.Errorf("%q: %v", branch, err)
		}
	}
	b.sh(root, "config", "filter.bad.smudge", "false")
	b.sh(root, "config", "filter.bad.required", "true")
	b.sh(root, "config", "filter.bad.clean", "cat")
	b.commit(root, "cannot be checked out", map[string]string{".gitattributes": "f filter=bad\n"})
	b.sh(root, "branch", "side")
	_, err := r.AddWorktree(t.Context(), path, "side", Keep{})
	if f, _ := fault.As(err); f == nil || f.Code != fault.WorkspaceFailed || exists(path) || r.adminOf(path) != nil {
		t.Errorf("err = %v; left over: %t", err, exists(path))
	} else if said := f.Facts["cause"]; strings.Contains(said, "\n") || !strings.Contains(said, "smudge filter bad failed") {
		t.Errorf("%q is no part of a sentence", said)
	}
}

func TestFailingPostCheckoutHookIsNoMatter(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	installHook(t, filepath.Join(root, ".git/hooks/post-checkout"), "exit 1")
	w := b.worktree(b.open(root), "RQ-1")
	if set, err := w.Changes(t.Context()); err != nil || !set.Empty() {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestRemoveWorktree(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(t *testing.T, b *bench, w *Workspace)
		force  bool
		reason string
	}{
		{"clean", func(*testing.T, *bench, *Workspace) {}, false, ""},
		{"ignored files", func(t *testing.T, _ *bench, w *Workspace) { writeFile(t, filepath.Join(w.Path(), "x.log"), "x") }, false, ""},
		{"folder gone", func(t *testing.T, _ *bench, w *Workspace) { remove(t, w.Path()) }, false, ""},
		{"changed", func(t *testing.T, _ *bench, w *Workspace) { writeFile(t, filepath.Join(w.Path(), "f"), "x") }, false, "has_changes"},
		{"new", func(t *testing.T, _ *bench, w *Workspace) { writeFile(t, filepath.Join(w.Path(), "n"), "x") }, false, "has_changes"},
		{"staged", func(t *testing.T, b *bench, w *Workspace) { b.sh(w.Path(), "rm", "-q", "f") }, false, "has_changes"},
		{"changed, forced", func(t *testing.T, _ *bench, w *Workspace) { writeFile(t, filepath.Join(w.Path(), "f"), "x") }, true, ""},
		{"link lost", func(t *testing.T, _ *bench, w *Workspace) { remove(t, filepath.Join(w.Path(), ".git")) }, false, ""},
		{"link lost and changed", func(t *testing.T, _ *bench, w *Workspace) {
			remove(t, filepath.Join(w.Path(), ".git"))
			writeFile(t, filepath.Join(w.Path(), "f"), "x")
		}, false, "has_changes"},
		{"link lost, forced", func(t *testing.T, _ *bench, w *Workspace) { remove(t, filepath.Join(w.Path(), ".git")) }, true, ""},
		{"locked", func(_ *testing.T, b *bench, w *Workspace) { b.sh(w.repo.root, "worktree", "lock", w.Path()) }, true, "locked"},
		{"half made", func(t *testing.T, _ *bench, w *Workspace) {
			writeFile(t, filepath.Join(w.gitDir, "locked"), "initializing")
		}, false, ""},
		{"read-only folder", func(t *testing.T, _ *bench, w *Workspace) {
			writeFile(t, filepath.Join(w.Path(), "cache.log/f"), "x")
			if err := os.Chmod(filepath.Join(w.Path(), "cache.log"), 0o555); err != nil {
				t.Fatal(err)
			}
		}, false, ""},
		{"link into the checkout", func(t *testing.T, _ *bench, w *Workspace) {
			writeFile(t, filepath.Join(w.repo.root, "deps.log/f"), "x")
			if err := os.Symlink(filepath.Join(w.repo.root, "deps.log"), filepath.Join(w.Path(), "deps.log")); err != nil {
				t.Fatal(err)
			}
		}, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.open(b.repo("r"))
			w := b.worktree(r, "RQ-1")
			tc.before(t, b, w)
			k := Keep{}
			if tc.force {
				k = keepAll(t)
			}
			err := r.RemoveWorktree(t.Context(), w.Path(), k)
			if tc.reason != "" {
				if reason(err) != tc.reason || !exists(w.Path()) {
					t.Errorf("err = %v", err)
				}
				return
			}
			if err != nil || exists(w.Path()) || strings.Contains(b.sh(r.root, "worktree", "list"), "RQ-1") {
				t.Errorf("err = %v, there: %t", err, exists(w.Path()))
			}
			if exists(filepath.Join(r.root, "deps.log")) && !exists(filepath.Join(r.root, "deps.log/f")) {
				t.Error("a link was followed")
			}
			if err := r.RemoveWorktree(t.Context(), w.Path(), Keep{}); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// A person who stops a command while a worktree is taken away leaves none that is half gone.
func TestRemoveWorktreeGoesToItsEnd(t *testing.T) {
	b := newBench(t)
	r := b.open(b.repo("r"))
	w := b.worktree(r, "RQ-1")
	writeFile(t, filepath.Join(w.Path(), "f"), "x")
	ctx, stop := context.WithCancel(t.Context())
	l, err := r.Inspect(ctx, w.Path())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := r.unregister(ctx, l.path, l.admin); err != nil || exists(w.Path()) || strings.Contains(b.sh(r.root, "worktree", "list"), "RQ-1") {
		t.Errorf("err = %v, there: %t", err, exists(w.Path()))
	}
}

// TestWorktreeOfOddRepositories does a step in a worktree of each repository
// that has a commit.
func TestWorktreeOfOddRepositories(t *testing.T) {
	for _, o := range oddRepos() {
		switch o.name {
		case "unborn", "unborn branch beside commits":
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.open(o.make(b))
			checkout := listing(t, r.top)
			w := b.worktree(r, "RQ-1")
			writeFile(t, filepath.Join(w.Path(), "outside/new\nfile"), "new\n")
			set, err := w.Changes(t.Context())
			if err != nil || len(set.Files) != 1 || set.Files[0].Added != 1 {
				t.Fatalf("%+v, %v", set, err)
			}
			if _, err := w.KeepAttempt(t.Context(), "refs/aiflow/attempts/RUN-1/S01/1", stepMessage()); err != nil {
				t.Fatal(err)
			}
			made, err := w.Commit(t.Context(), stepMessage(), CommitOptions{RunHooks: true})
			if err != nil {
				t.Fatal(err)
			}
			if tree, err := r.treeOf(t.Context(), made.Hash); err != nil || tree != set.Tree {
				t.Errorf("tree %s, %v, want %s", tree, err, set.Tree)
			}
			if got := b.sh(w.Path(), "diff", "--name-only", "-z", made.Hash+"~1", made.Hash); got != "outside/new\nfile\x00" {
				t.Errorf("commit %q", got)
			}
			if err := r.RemoveWorktree(t.Context(), w.Path(), Keep{}); err != nil {
				t.Fatal(err)
			}
			if got := listing(t, r.top); got != checkout {
				t.Errorf("the checkout changed:\n%q\n%q", checkout, got)
			}
		})
	}
}

func TestIgnoredAndDirty(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	writeFile(t, filepath.Join(root, ".git/info/exclude"), "secret\n")
	r := b.open(root)
	got, err := r.Ignored(t.Context(), "a.log", "f", "secret", "x\ny.log", "dir")
	if err != nil || strings.Join(got, "|") != "a.log|secret|x\ny.log" {
		t.Errorf("Ignored = %q, %v", got, err)
	}
	if got, err := r.Ignored(t.Context(), "f"); err != nil || got != nil {
		t.Errorf("Ignored = %q, %v", got, err)
	}
	b.sh(root, "mv", "dir/g", "dir/h")
	writeFile(t, filepath.Join(root, "f"), "x\n")
	writeFile(t, filepath.Join(root, "new\n/x"), "x\n")
	changes, err := r.Dirty(t.Context())
	want := []Change{
		{Path: "dir/h", OldPath: "dir/g", Status: Renamed, Staged: true},
		{Path: "f", Status: Modified},
		{Path: "new\n/", Status: Untracked},
	}
	if err != nil || len(changes) != 3 || changes[0] != want[0] || changes[1] != want[1] || changes[2] != want[2] {
		t.Errorf("Dirty = %+v, %v", changes, err)
	}
}

func TestConflictIsDirty(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.sh(root, "checkout", "-q", "-b", "side", "HEAD~1")
	b.commit(root, "side", map[string]string{"f": "side\n"})
	if _, err := b.try(root, "merge", "main"); err == nil {
		t.Fatal("no conflict")
	}
	changes, err := b.open(root).Dirty(t.Context())
	if err != nil || len(changes) != 1 || changes[0] != (Change{Path: "f", Status: Unmerged, Staged: true}) {
		t.Errorf("Dirty = %+v, %v", changes, err)
	}
}

// What git calls unmerged is told, in any form of the index.
func TestUnmergedAsGitHasIt(t *testing.T) {
	for form, config := range map[string][]string{
		"2": {"index.version", "2"}, "4": {"index.version", "4"}, "split": {"core.splitIndex", "true"}, "no checksum": {"index.skipHash", "true"},
	} {
		t.Run(form, func(t *testing.T) {
			b := newBench(t)
			root := b.repo("r")
			b.sh(root, append([]string{"config"}, config...)...)
			b.sh(root, "checkout", "-q", "-b", "side", "HEAD~1")
			b.commit(root, "side", map[string]string{"f": "side\n", "é\n": "side\n"})
			w := b.worktree(b.open(root), "RQ-1")
			b.sh(w.Path(), "reset", "-q", "--hard", "side")
			if names, err := w.Unmerged(t.Context()); err != nil || len(names) != 0 {
				t.Errorf("before: %q, %v", names, err)
			}
			b.sh(root, "checkout", "-q", "main")
			b.commit(root, "both", map[string]string{"é\n": "main\n"})
			if _, err := b.try(w.Path(), "merge", "main"); err == nil {
				t.Fatal("no conflict")
			}
			if names, err := w.Unmerged(t.Context()); err != nil || !slices.Equal(names, []string{"f", "é\n"}) {
				t.Errorf("%q, %v", names, err)
			}
			if marked := Marked(t.Context(), w); !slices.Equal(marked, []string{"f", "é\n"}) {
				t.Errorf("marked %q", marked)
			}
			writeFile(t, filepath.Join(w.Path(), "f"), "resolved\n")
			if marked := Marked(t.Context(), w); !slices.Equal(marked, []string{"é\n"}) {
				t.Errorf("marked %q", marked)
			}
		})
	}
}
