package gitops

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBorrowedLinks: ".gitignore" says "deps/", which a link called deps is
// not; it must be neither committed nor removed nor in the way.
func TestBorrowedLinks(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.commit(root, "ignore", map[string]string{".gitignore": "deps/\n/.aiflow/worktrees\n", "pkg/a/x": "x\n"})
	names := []string{"deps", "pkg/a/deps", "sp [a]*"}
	for _, name := range names {
		writeFile(t, filepath.Join(root, name, "f"), "f\n")
	}
	r := b.open(root)
	w := b.worktree(r, "RQ-1")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(w.Path(), name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		link(filepath.Join(root, name), name)
	}
	if set, err := w.Changes(t.Context()); err != nil || !set.Empty() {
		t.Fatalf("%+v, %v", set.Files, err)
	}
	link("f", "own")                            // the agent's
	link(filepath.Join(root, "f"), "pkg/other") // to another path
	if set, err := w.Changes(t.Context()); err != nil || len(set.Files) != 2 || set.Files[0].Path != "own" {
		t.Fatalf("%+v, %v", set.Files, err)
	}
	again, _, err := r.OpenWorktree(t.Context(), w.Path())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.KeepAttempt(t.Context(), "refs/aiflow/attempts/RUN-1/S01/1", stepMessage()); err != nil {
		t.Fatal(err)
	}
	if got := b.sh(root, "diff", "--name-only", "HEAD", "refs/aiflow/attempts/RUN-1/S01/1"); got != "own\npkg/other" {
		t.Errorf("kept %q", got)
	}
	if err := again.ResetTo(t.Context(), "HEAD", keepAll(t)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !exists(filepath.Join(w.Path(), name, "f")) {
			t.Errorf("%s is gone", name)
		}
	}
	if exists(filepath.Join(w.Path(), "own")) {
		t.Error("own is left")
	}
	if err := r.RemoveWorktree(t.Context(), w.Path(), Keep{}); err != nil {
		t.Error(err)
	}
	if !exists(filepath.Join(root, "deps/f")) {
		t.Error("a link was followed")
	}
}

// TestBorrowedLinkThatIsStaged: a process that died between two of its commands
// leaves the link in the index.
func TestBorrowedLinkThatIsStaged(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	writeFile(t, filepath.Join(root, "deps", "f"), "f\n")
	r := b.open(root)
	w := b.worktree(r, "RQ-1")
	if err := os.Symlink(filepath.Join(root, "deps"), filepath.Join(w.Path(), "deps")); err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func(*Workspace) (string, error){
		"changes": func(w *Workspace) (string, error) { set, err := w.Changes(t.Context()); return set.Tree, err },
		"patch": func(w *Workspace) (string, error) {
			patch, err := w.Patch(t.Context())
			return string(patch), err
		},
		"attempt": func(w *Workspace) (string, error) { return snapshotTree(t.Context(), w, true) },
	} {
		b.sh(w.Path(), "add", "deps")
		again, _, err := r.OpenWorktree(t.Context(), w.Path())
		if err != nil {
			t.Fatal(err)
		}
		want := b.sh(root, "rev-parse", "HEAD^{tree}")
		if name == "patch" {
			want = ""
		}
		if got, err := look(again); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// TestBorrowedLinkInPlaceOfAFolder: what the link hides is not gone, whenever it
// comes; a step's own link in place of a folder is a change like any other.
func TestBorrowedLinkInPlaceOfAFolder(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.commit(root, "folders", map[string]string{"deps/f": "f\n", "deps/g": "g\n", "own/f": "f\n", "late/f": "f\n"})
	r := b.open(root)
	w := b.worktree(r, "RQ-1")
	link := func(name, target string) {
		t.Helper()
		at := filepath.Join(w.Path(), name)
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, at); err != nil {
			t.Fatal(err)
		}
	}
	paths := func(w *Workspace) string {
		t.Helper()
		set, err := w.Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names := ""
		for _, f := range set.Files {
			names += string(f.Status) + " " + f.Path + "\n"
		}
		return names
	}
	link("deps", filepath.Join(root, "deps"))
	if got := paths(w); got != "" {
		t.Errorf("first look: %s", got)
	}
	writeFile(t, filepath.Join(w.Path(), "a.txt"), "a\n")
	link("late", filepath.Join(root, "late"))
	if got := paths(w); got != string(Added)+" a.txt\n" {
		t.Errorf("second look: %s", got)
	}
	b.sh(w.Path(), "add", "-A") // by a process that died
	again, _, err := r.OpenWorktree(t.Context(), w.Path())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := snapshotTree(t.Context(), again, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.sh(root, "diff", "--name-status", "HEAD", tree); got != "A\ta.txt" {
		t.Errorf("kept: %s", got)
	}
	again, _, _ = r.OpenWorktree(t.Context(), w.Path())
	if got := paths(again); got != string(Added)+" a.txt\n" {
		t.Errorf("after it: %s", got)
	}
	link("own", "/etc")
	if got := b.sh(root, "diff", "--name-only", "HEAD", must(again.Changes(t.Context())).Tree); got != "a.txt\nown\nown/f" {
		t.Errorf("its own: %s", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
