package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMendIndex tears the index of a sparse worktree at many lengths: what is
// not checked out must not look deleted afterwards.
func TestMendIndex(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		b := newBench(t)
		w := sparseWorktree(b, format)
		index := filepath.Join(w.gitDir, "index")
		whole, err := os.ReadFile(index)
		if err != nil || !wholeIndex(whole) {
			t.Fatalf("%s: git's own index does not count as whole: %v", format, err)
		}
		for n := 0; n < len(whole); n += 1 + len(whole)/9 {
			writeFile(t, index, string(whole[:n]))
			if err := w.MendIndex(t.Context()); err != nil {
				t.Fatalf("%s, %d bytes: %v", format, n, err)
			}
			if got := b.sh(w.Dir(), "add", "-A", "-n"); strings.TrimSpace(got) != "add 'dir/new'" {
				t.Errorf("%s, %d bytes: %q", format, n, got)
			}
		}
	}
}

func sparseWorktree(b *bench, format string) *Workspace {
	b.t.Helper()
	dir := b.repo(format, "--object-format="+format)
	r, err := Open(b.t.Context(), b.git, dir)
	if err != nil {
		b.t.Fatal(err)
	}
	r.WorktreesDir = ".aiflow/worktrees"
	path := filepath.Join(dir, ".aiflow/worktrees/w")
	b.sh(dir, "worktree", "add", "-q", "-b", "w", path)
	w, ok, err := r.OpenWorktree(b.t.Context(), path)
	if err != nil || !ok {
		b.t.Fatal(ok, err)
	}
	b.commit(path, "third", map[string]string{"elsewhere/h": "three\n"})
	b.sh(path, "sparse-checkout", "set", "--cone", "dir")
	writeFile(b.t, filepath.Join(path, "dir/new"), "new\n")
	return w
}
