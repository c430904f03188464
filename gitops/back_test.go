package gitops

import (
	"os"
	"path/filepath"
	"testing"

	"aiflow/internal/fault"
)

func worktreeOf(t *testing.T, b *bench, dir string) *Workspace {
	t.Helper()
	r := b.open(dir)
	head := b.sh(dir, "rev-parse", "HEAD")
	if err := r.CreateBranch(t.Context(), "aiflow/x/1", head); err != nil {
		t.Fatal(err)
	}
	w, err := r.AddWorktree(t.Context(), filepath.Join(dir, ".aiflow/worktrees/x"), "aiflow/x/1", Keep{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTakeBackToATree(t *testing.T) {
	b := newBench(t)
	w := worktreeOf(t, b, b.repo("r"))
	writeFile(t, filepath.Join(w.Path(), "f"), "the step's work\n")
	writeFile(t, filepath.Join(w.Path(), "new"), "also\n")
	tested, err := w.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(w.Path(), "f"), "spoiled\n")
	writeFile(t, filepath.Join(w.Path(), "d/deep"), "left\x00over")
	if err := os.Remove(filepath.Join(w.Path(), "dir/g")); err != nil {
		t.Fatal(err)
	}
	if err := w.TakeBack(t.Context(), tested.Tree); err != nil {
		t.Fatal(err)
	}
	after, err := w.Changes(t.Context())
	if err != nil || after.Tree != tested.Tree {
		t.Errorf("tree %s, want %s (%v)", after.Tree, tested.Tree, err)
	}
	if err := w.TakeBack(t.Context(), "HEAD"); err != nil {
		t.Fatal(err)
	}
	if out := b.sh(w.Path(), "status", "--porcelain"); out != "" {
		t.Errorf("left: %s", out)
	}
}

func TestTakeBackInPlaceLeavesOthersAlone(t *testing.T) {
	b := newBench(t)
	dir := b.repo("r")
	w, err := b.open(dir).InPlace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.LeaveOut("requests", "runs")
	writeFile(t, filepath.Join(dir, ".git/info/exclude"), "runs/\n.aiflow/locks/\n")
	writeFile(t, filepath.Join(dir, "runs/x"), "ignored\n")
	writeFile(t, filepath.Join(dir, ".aiflow/locks/y"), "ignored\n")
	writeFile(t, filepath.Join(dir, "requests/a.md"), "mine\n")
	writeFile(t, filepath.Join(dir, "f"), "work\n")
	set, err := w.Changes(t.Context())
	if err != nil || len(set.Files) != 1 || set.Files[0].Path != "f" {
		t.Fatalf("%+v %v", set, err)
	}
	if err := w.TakeBack(t.Context(), "HEAD"); err != nil {
		t.Fatal(err)
	}
	if out := b.sh(dir, "status", "--porcelain"); out != "?? requests/" {
		t.Errorf("status: %s", out)
	}
}

func TestSoftResetKeepsWhatAnAgentCommitted(t *testing.T) {
	b := newBench(t)
	dir := b.repo("r")
	w := worktreeOf(t, b, dir)
	start := b.sh(w.Path(), "rev-parse", "HEAD")
	b.sh(w.Path(), "checkout", "-q", "-b", "agents-own")
	b.commit(w.Path(), "by the agent", map[string]string{"f": "work\n", "n": "new\n"})
	own := b.sh(w.Path(), "rev-parse", "HEAD")
	writeFile(t, filepath.Join(w.Path(), "u"), "uncommitted\n")
	if err := w.repo.KeepCommit(t.Context(), "refs/aiflow/attempts/RUN/S01/agent1", own); err != nil {
		t.Fatal(err)
	}
	if err := w.SoftReset(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	set, err := w.Changes(t.Context())
	if err != nil || len(set.Files) != 3 {
		t.Errorf("%+v %v", set.Files, err)
	}
	made, err := w.Commit(t.Context(), CommitMessage{Subject: "step"}, CommitOptions{})
	if err != nil || b.sh(dir, "rev-parse", "aiflow/x/1") != made.Hash || b.sh(dir, "rev-parse", made.Hash+"^") != start {
		t.Errorf("%s %v", made, err)
	}
	if b.sh(dir, "rev-parse", "refs/aiflow/attempts/RUN/S01/agent1") != own || b.sh(dir, "rev-parse", "agents-own") != own {
		t.Error("the agent's commit is lost")
	}
}

func TestPush(t *testing.T) {
	b := newBench(t)
	dir := b.repo("r")
	b.sh(dir, "branch", "aiflow/x/1")
	r := b.open(dir)
	if err := r.Push(t.Context(), "aiflow/x/1", false); !fault.Has(err, fault.GitPushFailed) {
		t.Errorf("no origin: %v", err)
	}
	far := filepath.Join(b.dir, "far.git")
	b.sh(b.dir, "init", "-q", "--bare", far)
	b.sh(dir, "remote", "add", "origin", far)
	if err := r.Push(t.Context(), "aiflow/x/1", false); err != nil {
		t.Fatal(err)
	}
	if got := b.sh(far, "rev-parse", "aiflow/x/1"); got != b.sh(dir, "rev-parse", "aiflow/x/1") {
		t.Errorf("pushed %s", got)
	}
	if got := b.sh(dir, "rev-parse", "--abbrev-ref", "aiflow/x/1@{upstream}"); got != "origin/aiflow/x/1" {
		t.Errorf("upstream %s", got)
	}
}

func TestPushTellsNoSecrets(t *testing.T) {
	got := withoutSecrets("fatal: unable to access 'https://me:tok@en.example/x.git/'")
	if want := "fatal: unable to access 'https://en.example/x.git/'"; got != want {
		t.Error(got)
	}
}
