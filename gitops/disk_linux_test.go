package gitops

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aiflow/internal/fault"
)

// On a small disk with so many KiB left, whatever git fails at is DISK_FULL, and
// with room again the same call does it.
func TestFullDiskInsideGit(t *testing.T) {
	home := t.TempDir()
	if err := syscall.Mount("none", home, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(home, syscall.MNT_DETACH) })
	b := newBench(t)
	root := filepath.Join(home, "repo")
	b.sh(home, "init", "-q", "repo")
	for i := range 10 {
		writeFile(t, filepath.Join(root, fmt.Sprintf("f%d", i)), noise(30000))
	}
	b.sh(root, "add", ".")
	b.sh(root, "commit", "-q", "-m", "one")
	r, err := Open(t.Context(), b.git, root)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for n, left := range []int{0, 4, 8, 12, 16, 20, 24, 40, 100, 200, 320, 400} {
		branch := fmt.Sprintf("aiflow/RQ-%d/x", n)
		w := &fullWork{t: t, home: home, left: left, seen: seen}
		w.does("branch", func(ctx context.Context) error { return r.CreateBranch(ctx, branch, b.sh(root, "rev-parse", "HEAD")) })
		var ws *Workspace
		w.does("worktree", func(ctx context.Context) (err error) {
			ws, err = r.AddWorktree(ctx, filepath.Join(root, ".aiflow/worktrees", fmt.Sprintf("RQ-%d", n)), branch, Keep{})
			return err
		})
		writeFile(t, filepath.Join(ws.Path(), "new"), noise(10000))
		w.does("stage", func(ctx context.Context) error { _, err := ws.Changes(ctx); return err })
		w.does("commit", func(ctx context.Context) error {
			_, err := ws.Commit(ctx, CommitMessage{Subject: "new"}, CommitOptions{})
			return err
		})
		if got := b.sh(ws.Path(), "show", "--name-only", "--format=%s", "HEAD"); got != "new\n\nnew" {
			t.Errorf("%d KiB: committed %q", left, got)
		}
		if err := r.RemoveWorktree(t.Context(), ws.Path(), keepAll(t)); err != nil {
			t.Error(err)
		}
	}
	for _, what := range []string{"branch", "worktree", "stage", "commit"} {
		if seen[what] == 0 {
			t.Errorf("%s never failed", what)
		}
	}
}

type fullWork struct {
	t    *testing.T
	home string
	left int
	seen map[string]int
}

// does something with little room, and once more with enough.
func (w *fullWork) does(what string, do func(context.Context) error) {
	w.t.Helper()
	fill := w.fill()
	err := do(w.t.Context())
	if e := os.Remove(fill); e != nil {
		w.t.Fatal(e)
	}
	if err == nil {
		return
	}
	w.seen[what]++
	if f, _ := fault.As(err); !fault.Has(err, fault.DiskFull) || !strings.HasPrefix(f.Facts["path"], w.home) {
		w.t.Errorf("%s with %d KiB left: %v", what, w.left, err)
	}
	if err := do(w.t.Context()); err != nil {
		w.t.Fatalf("%s with room again: %v", what, err)
	}
}

func (w *fullWork) fill() string {
	w.t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(w.home, &st); err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.home, "fill")
	size := max(0, int64(st.Bavail)*st.Bsize-int64(w.left)<<10)
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func noise(n int) string {
	var s strings.Builder
	for range n {
		s.WriteByte(byte(' ' + rand.N(90)))
	}
	return s.String()
}
