package gitops

import (
	"os"
	"path/filepath"
	"testing"
)

// What a git that died had written of a later commit goes, whole or begun; what a person
// has there, staged or with other content, stays. Then git goes forward.
func TestPutBackTakesWhatGitWrote(t *testing.T) {
	b := newBench(t)
	dir := b.repo("r")
	at := func(name string) string { return filepath.Join(dir, name) }
	b.commit(dir, "third", map[string]string{"changed": "old\n", "gone": "here\n", "mine": "old\n", "staged": "old\n"})
	from := b.sh(dir, "rev-parse", "HEAD")
	b.sh(dir, "checkout", "-q", "-b", "later")
	b.sh(dir, "rm", "-q", "gone")
	if err := os.Symlink("changed", at("link")); err != nil {
		t.Fatal(err)
	}
	b.commit(dir, "fourth", map[string]string{
		"changed": "new and long\n", "mine": "new\n", "staged": "new\n", "whole": "whole\n", "a/b/begun": "begun and not ended\n", "a/other": "theirs\n",
	})
	to := b.sh(dir, "rev-parse", "HEAD")
	b.sh(dir, "checkout", "-q", "main")

	writeFile(t, at("changed"), "new and")
	writeFile(t, at("whole"), "whole\n")
	writeFile(t, at("a/b/begun"), "begun")
	writeFile(t, at("a/other"), "a person's\n")
	writeFile(t, at("mine"), "a person's\n")
	writeFile(t, at("staged"), "new\n")
	b.sh(dir, "add", "staged")
	if err := os.Remove(at("gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("changed", at("link")); err != nil {
		t.Fatal(err)
	}

	half, err := UndoHalfway(t.Context(), b.open(dir), "main", to)
	if err != nil || !half {
		t.Fatalf("half %v, %v", half, err)
	}
	if got, want := b.sh(dir, "status", "--porcelain"), " M mine\nM  staged\n?? a/"; got != want {
		t.Errorf("the checkout has\n%s\nwant\n%s", got, want)
	}
	for name, want := range map[string]string{"changed": "old\n", "gone": "here\n", "mine": "a person's\n", "staged": "new\n", "a/other": "a person's\n"} {
		if got := readFileText(t, at(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if exists(at("a/b")) || exists(at("whole")) || exists(at("link")) {
		t.Error("a file that git had written stays")
	}
	if half, err := UndoHalfway(t.Context(), b.open(dir), "main", to); half || err != nil {
		t.Errorf("again: half %v, %v", half, err)
	}
	b.sh(dir, "reset", "-q", "--hard", from)
	b.sh(dir, "clean", "-q", "-fd")
	if err := b.open(dir).Advance(t.Context(), "main", from, to); err != nil {
		t.Error(err)
	}
}

// Where git fails, what it had written goes; a file that a person made at that moment stays.
func TestWritePutsBackWhatGitWroteAlone(t *testing.T) {
	b := newBench(t)
	dir := b.repo("r")
	from := b.sh(dir, "rev-parse", "HEAD")
	b.sh(dir, "checkout", "-q", "-b", "later")
	b.commit(dir, "third", map[string]string{"a/whole": "whole\n", "b/mine": "theirs\n", "f": "new\n"})
	to := b.sh(dir, "rev-parse", "HEAD")
	b.sh(dir, "checkout", "-q", "main")

	g := b.git.In(dir)
	list, err := changesOf(t.Context(), g, from, to)
	if err != nil {
		t.Fatal(err)
	}
	fails := "alias.fails=!mkdir a b; printf wh >a/whole; echo new >f; echo mine >b/mine; exit 1"
	if half, err := moveCheckout(t.Context(), g, from, list, "-c", fails, "fails"); err == nil || half != nil {
		t.Errorf("half %v, %v", half, err)
	}
	if got, want := b.sh(dir, "status", "--porcelain", "-uall"), "?? b/mine"; got != want || exists(filepath.Join(dir, "a")) {
		t.Errorf("the checkout has %q, want %q", got, want)
	}
}

// Where git cannot move the branch, what it staged is taken out of the index, and what a
// person had staged stays, though it is the same.
func TestWriteLeavesWhatAPersonStaged(t *testing.T) {
	b := newBench(t)
	dir := b.repo("r")
	from := b.sh(dir, "rev-parse", "HEAD")
	b.sh(dir, "checkout", "-q", "-b", "later")
	b.commit(dir, "third", map[string]string{"a/whole": "whole\n", "f": "new\n"})
	to := b.sh(dir, "rev-parse", "HEAD")
	b.sh(dir, "checkout", "-q", "main")
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("new\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b.sh(dir, "add", "f")
	installHook(t, filepath.Join(dir, ".git/hooks/reference-transaction"), "! grep -q refs/heads/main")
	g := b.git.In(dir)
	list, err := changesOf(t.Context(), g, from, to)
	if err != nil {
		t.Fatal(err)
	}
	if half, err := moveCheckout(t.Context(), g, from, list, "merge", "-q", "--ff-only", to); err == nil || half != nil {
		t.Errorf("half %v, %v", half, err)
	}
	if got := b.sh(dir, "diff", "--cached", "--name-only", from); got != "f" || exists(filepath.Join(dir, "a")) {
		t.Errorf("staged is %q, want f alone", got)
	}
}
