package gitops

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"aiflow/internal/fault"
)

// What may not be written is not: each write gives the guard's error and leaves
// references, worktrees and files as they were.
func TestGuardedRepositoryWritesNothing(t *testing.T) {
	b := newBench(t)
	dir := b.repo("r")
	head := b.sh(dir, "rev-parse", "HEAD")
	open := b.open(dir)
	b.worktree(open, "x")
	b.sh(dir, "branch", "aiflow/y/1")
	no := fault.New(fault.LockLost)
	r := open.Guarded(func() error { return no })
	w, ok, err := r.OpenWorktree(t.Context(), filepath.Join(dir, ".aiflow/worktrees/x"))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	checkout, err := r.InPlace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(w.Path(), "f"), "work\n")
	writeFile(t, filepath.Join(w.Path(), "new"), "also\n")
	writeFile(t, filepath.Join(w.Path(), "a.log"), "ignored\n")
	writeFile(t, filepath.Join(w.gitDir, "HEAD.lock"), "")
	writeFile(t, filepath.Join(r.commonDir, "refs/heads", w.Branch()+".lock"), "")
	writeFile(t, filepath.Join(r.commonDir, "refs/heads/aiflow/torn"), "")
	m, patch := CommitMessage{Subject: "s"}, []byte("--- a/dir/g\n+++ b/dir/g\n@@ -1 +1 @@\n-two\n+2\n")
	before := filesOf(t, b.dir)
	for name, write := range map[string]func(context.Context) error{
		"CreateBranch":    func(ctx context.Context) error { return r.CreateBranch(ctx, "aiflow/z/1", head) },
		"DeleteBranch":    func(ctx context.Context) error { return r.DeleteBranch(ctx, "aiflow/y/1", head) },
		"RestoreBranch":   func(ctx context.Context) error { _, err := r.RestoreBranch(ctx, "aiflow/torn", head); return err },
		"Push":            func(ctx context.Context) error { return r.Push(ctx, w.Branch(), false) },
		"RemoveWorktree":  func(ctx context.Context) error { return r.RemoveWorktree(ctx, w.Path(), keepAll(t)) },
		"KeepCommit":      func(ctx context.Context) error { return r.KeepCommit(ctx, "refs/aiflow/attempts/b", head) },
		"SoftReset":       func(ctx context.Context) error { return w.SoftReset(ctx, "HEAD~1") },
		"ResetTo":         func(ctx context.Context) error { return w.ResetTo(ctx, "HEAD", keepAll(t)) },
		"TakeBack":        func(ctx context.Context) error { return w.TakeBack(ctx, "HEAD") },
		"ApplyPatch":      func(ctx context.Context) error { return w.ApplyPatch(ctx, patch) },
		"Switch":          func(ctx context.Context) error { return checkout.Switch(ctx, "aiflow/y/1") },
		"ClearStaleLocks": func(ctx context.Context) error { _, err := w.ClearStaleLocks(); return err },
		"ClearBranchLock": func(context.Context) error { r.ClearBranchLock(w.Branch()); return no },
		"AddWorktree": func(ctx context.Context) error {
			_, err := r.AddWorktree(ctx, filepath.Join(dir, ".aiflow/worktrees/y"), "aiflow/y/1", Keep{})
			return err
		},
		"Commit": func(ctx context.Context) error { _, err := w.Commit(ctx, m, CommitOptions{}); return err },
		"CommitFile": func(ctx context.Context) error {
			_, err := w.CommitFile(ctx, "dir/g", []byte("x"), m, CommitOptions{})
			return err
		},
		"KeepAttempt": func(ctx context.Context) error { _, err := w.KeepAttempt(ctx, "refs/aiflow/attempts/c", m); return err },
		"MendIndex": func(ctx context.Context) error {
			index := filepath.Join(w.gitDir, "index")
			whole := readFileText(t, index)
			writeFile(t, index, "torn")
			err := w.MendIndex(ctx)
			if readFileText(t, index) != "torn" {
				t.Error("the index was mended")
			}
			writeFile(t, index, whole)
			return err
		},
	} {
		if err := write(t.Context()); !fault.Has(err, fault.LockLost) {
			t.Errorf("%s: %v", name, err)
		}
		now := filesOf(t, b.dir)
		for path, text := range now {
			if was, there := before[path]; !there || was != text {
				t.Errorf("%s changed %s", name, path)
			}
		}
		if len(now) < len(before) {
			t.Errorf("%s removed something", name)
		}
	}
}

// filesOf are the files below a folder with what is in them, but git's objects.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "objects":
			return fs.SkipDir
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			files[path] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
