package gitops

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
)

// RestoreBranch makes a branch again at commit where it is gone: deleted by
// hand, or a power cut left its file without the name of a commit. One that is
// there stays, wherever it stands. made: it was gone.
func (r *Repo) RestoreBranch(ctx context.Context, name, commit string) (made bool, err error) {
	if !ValidBranch(name) || commit == "" {
		return false, nil
	}
	if _, ok, _ := revParse(ctx, r.git, "refs/heads/"+name); ok {
		return false, nil
	}
	if err := r.git.May(); err != nil {
		return false, err
	}
	path := filepath.Join(r.commonDir, "refs", "heads", filepath.FromSlash(name))
	if data, err := os.ReadFile(path); err == nil {
		if isHash(strings.TrimSpace(string(data))) {
			return false, nil // that commit is gone; git says so to whoever needs it
		}
		if err := os.Remove(path); err != nil {
			return false, failed(err, fault.BranchCreateFailed, "branch", name, "commit", commit, "reason", "broken")
		}
	}
	if err := r.CreateBranch(ctx, name, commit); err != nil {
		if errors.Is(err, ErrBranchExists) {
			err = nil
		}
		return false, err
	}
	return true, nil
}

// LockFiles are the files by which a git keeps others from the checkout's index and HEAD, and
// from refs and settings of the repository.
func (r *reader) LockFiles() (found []string) {
	for _, dir := range slices.Compact([]string{gitDirOf(r.top), r.commonDir}) {
		names, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*.lock"))
		found = append(found, names...)
	}
	_ = filepath.WalkDir(filepath.Join(r.commonDir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// ClearBranchLock removes the lock file of a branch that only one run writes.
// The caller has proven that the process that left it is dead.
func (r *Repo) ClearBranchLock(name string) {
	path := filepath.Join(r.commonDir, "refs", "heads", filepath.FromSlash(name)+".lock")
	if info, err := os.Lstat(path); ValidBranch(name) && err == nil && info.Mode().IsRegular() && r.git.May() == nil {
		_ = os.Remove(path) // should it stay, git says so
	}
}

// MendIndex makes the index of a linked worktree again from its HEAD where a
// power cut tore it: git itself notices only some of that. The files are not
// touched, and the caller stages them anew.
func (w *Workspace) MendIndex(ctx context.Context) error {
	path := filepath.Join(w.gitDir, "index")
	data, err := os.ReadFile(path)
	if !w.linked || err != nil || wholeIndex(data) {
		return nil
	}
	if err := w.git.May(); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "index")
	}
	_, err = w.git.Do(ctx, "read-tree", "-m", "HEAD")
	return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "index")
}

// wholeIndex compares the index with the checksum that it ends with; zeros are
// that of a git that was told to write none (index.skipHash).
func wholeIndex(data []byte) bool {
	if !bytes.HasPrefix(data, []byte("DIRC")) {
		return false
	}
	for _, h := range []hash.Hash{sha1.New(), sha256.New()} {
		n := len(data) - h.Size()
		if n < len("DIRC") {
			return false
		}
		h.Write(data[:n])
		if bytes.Equal(h.Sum(nil), data[n:]) || bytes.Equal(make([]byte, h.Size()), data[n:]) {
			return true
		}
	}
	return false
}
