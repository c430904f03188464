package gitops

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkRun is the git part of a run of three steps; BenchmarkBare the same
// with nothing but the git commands that a careful person would type. The
// ratio of the two is what our own reading, checking and recording costs.
func BenchmarkRun(b *testing.B) { bySize(b, benchmarkRun) }

// BenchmarkBare is the other half of the comparison.
func BenchmarkBare(b *testing.B) { bySize(b, benchmarkBare) }

func bySize(b *testing.B, f func(b *testing.B, files int)) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { f(b, n) })
	}
}

func benchmarkRun(b *testing.B, files int) {
	h := newBench(b)
	r, root := h.open(h.sized(files)), filepath.Join(h.dir, "r")
	for n := 0; b.Loop(); n++ {
		id := fmt.Sprintf("RQ-%d", n)
		base, commit, err := r.ResolveBase(b.Context(), "")
		fatal(b, err)
		branch := "aiflow/" + id + "/20260102-030405"
		fatal(b, r.CreateBranch(b.Context(), branch, commit))
		w, err := r.AddWorktree(b.Context(), filepath.Join(root, ".aiflow/worktrees", id), branch, Keep{})
		fatal(b, err)
		for s := range 3 {
			writeFile(b, filepath.Join(w.Path(), "dir/f7"), fmt.Sprint(n, s))
			_, err := w.Changes(b.Context())
			fatal(b, err)
			_, err = w.Commit(b.Context(), stepMessage(), CommitOptions{RunHooks: true})
			fatal(b, err)
		}
		_, err = w.CommitFile(b.Context(), "dir/f9", fmt.Append(nil, n), stepMessage(), CommitOptions{RunHooks: true})
		fatal(b, err)
		done, err := r.Commits(b.Context(), commit, "refs/heads/"+branch)
		fatal(b, err)
		if len(done) != 4 || base != "main" {
			b.Fatal(base, done)
		}
		fatal(b, r.RemoveWorktree(b.Context(), w.Path(), Keep{}))
	}
}

func benchmarkBare(b *testing.B, files int) {
	h := newBench(b)
	root := h.sized(files)
	for n := 0; b.Loop(); n++ {
		id := fmt.Sprintf("RQ-%d", n)
		branch := "aiflow/" + id + "/20260102-030405"
		path := filepath.Join(root, ".aiflow/worktrees", id)
		commit := h.sh(root, "rev-parse", "HEAD")
		h.sh(root, "branch", branch, commit)
		h.sh(root, "worktree", "add", "-q", path, branch)
		for s := range 3 {
			writeFile(b, filepath.Join(path, "dir/f7"), fmt.Sprint(n, s))
			h.sh(path, "add", "-A")
			h.sh(path, "diff", "--cached", "--numstat", "-z")
			h.sh(path, "commit", "-q", "-m", "step")
		}
		writeFile(b, filepath.Join(path, "dir/f9"), fmt.Sprint(n))
		h.sh(path, "commit", "-q", "-m", "record", "--", "dir/f9")
		h.sh(root, "log", "--format=%H %s", commit+".."+branch)
		h.sh(root, "worktree", "remove", path)
	}
}

func fatal(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// sized makes a repository of so many files.
func (b *bench) sized(files int) string {
	dir := b.repo("r")
	for i := range files {
		writeFile(b.t, filepath.Join(dir, "dir", fmt.Sprintf("f%d", i)), fmt.Sprint("file ", i))
	}
	b.commit(dir, "large", nil)
	return dir
}

// BenchmarkHead compares a read in process with a start of git.
func BenchmarkHead(b *testing.B) {
	h := newBench(b)
	r := h.open(h.repo("r"))
	b.Run("go-git", func(b *testing.B) {
		for b.Loop() {
			_, err := r.Head(b.Context())
			fatal(b, err)
		}
	})
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			_, err := askHead(b.Context(), r.git)
			fatal(b, err)
		}
	})
}
