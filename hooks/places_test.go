package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Where core.hooksPath may point, what install does there and what runs.
func TestHooksPath(t *testing.T) {
	for _, tc := range []struct {
		name, scope, value string
		global             bool
		want               string
		dir                string // below root
		ran                string
	}{
		{"relative", "--local", ".githooks", false, all("install:in_tree"), "re po/.githooks", "ours pre-commit;ours post-commit"},
		{"relative with dots", "--local", "./a/../my hooks", false, all("install:in_tree"), "re po/my hooks", "ours pre-commit;ours post-commit"},
		{"absolute in the work tree", "--local", "ROOT/re po/h", false, all("install:in_tree"), "re po/h", "ours pre-commit;ours post-commit"},
		{"inside .git", "--local", "ROOT/re po/.git/other", false, all("install"), "re po/.git/other", "ours pre-commit;ours post-commit"},
		{"outside", "--local", "ROOT/outside", false, all("refuse:shared"), "", ""},
		{"outside, asked for", "--local", "ROOT/outside", true, all("install"), "outside", "ours pre-commit;ours post-commit"},
		{"home", "--global", "~/h", false, all("refuse:shared"), "", ""},
		{"home, asked for", "--global", "~/h", true, all("install"), "h", "ours pre-commit;ours post-commit"},
		{"global, fixed, in this work tree", "--global", "ROOT/re po/h", false, all("refuse:shared"), "", ""},
		{"global but relative", "--global", ".githooks", false, all("install:in_tree"), "re po/.githooks", "ours pre-commit;ours post-commit"},
		{"empty", "--local", "", true, all("refuse:off"), "", ""},
		{"/dev/null", "--local", "/dev/null", true, all("refuse:off"), "", ""},
		{"a file", "--local", "file", true, all("refuse:not_folder"), "", ""},
		{"husky", "--local", ".husky/_", true, all("refuse:husky"), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.put(filepath.Join(b.repo, "file"), "", 0o644)
			b.put(filepath.Join(b.repo, "a/b"), "", 0o644)
			b.git("config", tc.scope, "core.hooksPath", strings.ReplaceAll(tc.value, "ROOT", b.root))
			before := snapshot(t, b.root)
			o := b.options()
			o.Global = tc.global
			if got := b.install(o); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if tc.dir == "" && snapshot(t, b.root) != before {
				t.Error("something was written")
			}
			if _, err := os.Stat(filepath.Join(b.root, tc.dir, PreCommit)); tc.dir != "" && err != nil {
				t.Error(err)
			}
			b.commit()
			if got := b.logged(); got != tc.ran {
				t.Errorf("ran %s", got)
			}
			b.git("update-ref", "-d", "HEAD")
			b.uninstall(o)
			if tc.dir != "" && strings.Contains(snapshot(t, filepath.Join(b.root, tc.dir)), "aiflow") {
				t.Error("something of ours is left")
			}
		})
	}
}

func TestHooksFolderThatIsALinkToElsewhere(t *testing.T) {
	b := newBench(t)
	shared := filepath.Join(b.root, "dotfiles")
	if err := os.Rename(b.hook(""), shared); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shared, filepath.Join(b.repo, ".git/hooks")); err != nil {
		t.Fatal(err)
	}
	if got := b.install(b.options()); got != all("refuse:shared") {
		t.Error(got)
	}
	if strings.Contains(snapshot(t, shared), "aiflow") {
		t.Error("written")
	}
}

func TestNoHooksFolderYet(t *testing.T) {
	b := newBench(t)
	if err := os.RemoveAll(b.hook("")); err != nil {
		t.Fatal(err)
	}
	b.install(b.options())
	b.commit()
	if got := b.logged(); got != "ours pre-commit;ours post-commit" {
		t.Error(got)
	}
}

func TestWorktreeSetting(t *testing.T) {
	b := newBench(t)
	b.commit()
	b.git("config", "extensions.worktreeConfig", "true")
	b.git("worktree", "add", "-q", "../wt", "-b", "w")
	b.git("-C", "../wt", "config", "--worktree", "core.hooksPath", "own")
	b.install(b.options())
	b.git("-C", "../wt", "commit", "-q", "--allow-empty", "-m", "x")
	if got := b.logged(); got != "" {
		t.Errorf("control: ran %s", got)
	}
	main := b.repo
	b.repo = filepath.Join(b.root, "wt")
	b.install(b.options())
	b.git("commit", "-q", "--allow-empty", "-m", "x")
	if got := b.logged(); got != "ours pre-commit;ours post-commit" {
		t.Errorf("ran %s", got)
	}
	if s := Inspect(b.folder(), b.options()); s.HooksPath.Scope != "worktree" {
		t.Errorf("scope %s", s.HooksPath.Scope)
	}
	b.repo = main
}

func TestLinkedWorktreeAndSubmodule(t *testing.T) {
	b := newBench(t)
	b.commit()
	b.git("worktree", "add", "-q", "../w t", "-b", "w")
	main := b.repo
	b.repo = filepath.Join(b.root, "w t", "sub")
	if err := os.MkdirAll(b.repo, 0o755); err != nil {
		t.Fatal(err)
	}
	b.install(b.options()) // from a folder of the worktree: the common hooks
	for _, dir := range []string{main, b.repo} {
		b.git("-C", dir, "commit", "-q", "--allow-empty", "-m", "x")
		if got := b.logged(); got != "ours pre-commit;ours post-commit" {
			t.Errorf("%s: ran %s", dir, got)
		}
	}
	b.repo = main
	b.git("init", "-q", "../lib")
	b.git("-C", "../lib", "commit", "-q", "--allow-empty", "-m", "x")
	b.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", b.root+"/lib", "mod")
	b.logged()
	b.repo = filepath.Join(main, "mod")
	b.commit()
	if got := b.logged(); got != "" {
		t.Errorf("control: ran %s", got)
	}
	if got := b.install(b.options()); got != all("install") {
		t.Error(got)
	}
	b.commit()
	if got := b.logged(); got != "ours pre-commit;ours post-commit" {
		t.Errorf("ran %s", got)
	}
	if f := b.folder(); f.Dir != filepath.Join(main, ".git/modules/mod/hooks") {
		t.Errorf("folder %s", f.Dir)
	}
}

func TestBareRepositoryWithWorktrees(t *testing.T) {
	b := newBench(t)
	b.commit()
	b.git("clone", "-q", "--bare", ".", "../bare.git")
	b.repo = filepath.Join(b.root, "bare.git")
	_, err := Look(t.Context(), b.gitcmd())
	if got := fault.CodeOf(err); got != fault.GitBareRepo {
		t.Errorf("bare: %v", err)
	}
	b.git("worktree", "add", "-q", "../wt", "main")
	b.repo = filepath.Join(b.root, "wt")
	b.install(b.options())
	b.commit()
	if got := b.logged(); got != "ours pre-commit;ours post-commit" {
		t.Errorf("ran %s", got)
	}
}

func TestNoRepository(t *testing.T) {
	b := newBench(t)
	_, err := Look(t.Context(), gitcmd.Git{Dir: b.root, Env: append(b.env, "GIT_CEILING_DIRECTORIES="+b.root)})
	if got := fault.CodeOf(err); got != fault.GitNotRepo {
		t.Errorf("got %v", err)
	}
	_, err = Look(t.Context(), gitcmd.Git{Bin: "/nowhere/git", Dir: b.repo, Env: b.env})
	if got := fault.CodeOf(err); got != fault.GitNotAvailable {
		t.Errorf("got %v", err)
	}
}

// A poisoned environment leads nobody to another repository.
func TestInheritedRepositoryIsIgnored(t *testing.T) {
	b := newBench(t)
	b.git("init", "-q", "../victim")
	before := snapshot(t, filepath.Join(b.root, "victim"))
	b.env = append(b.env, "GIT_DIR="+b.root+"/victim/.git", "GIT_WORK_TREE="+b.root+"/victim", "GIT_INDEX_FILE="+b.root+"/victim/x")
	b.install(b.options())
	if snapshot(t, filepath.Join(b.root, "victim")) != before {
		t.Error("the other repository was written to")
	}
	if _, err := os.Stat(b.hook(PreCommit)); err != nil {
		t.Error(err)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	b := newBench(t)
	f := b.folder()
	f.Writable = false // as root every folder can be written to
	actions := Plan(f, b.options())
	if got := decisions(actions); got != all("refuse:read_only") {
		t.Error(got)
	}
	if got := fault.CodeOf(Refused(actions)); got != fault.PathNotWritable {
		t.Error(got)
	}
}
