package gitops

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Stores reports whether a file of these bytes in the checkout is what commit
// has at relPath: the same bytes, or bytes that line end settings, an encoding
// or a filter turn into those.
func (r *reader) Stores(ctx context.Context, commit, relPath string, data []byte) (bool, error) {
	stored, ok, err := r.ReadFile(ctx, commit, relPath)
	if err != nil || !ok || bytes.Equal(stored, data) {
		return ok && err == nil, err
	}
	full := path.Join(r.prefix, relPath)
	want, err := r.git.Ask(ctx, "rev-parse", "--verify", "-q", "--end-of-options", commit+":"+full)
	if err != nil {
		return false, failed(err, fault.GitCommandFailed, "commit", commit, "path", full)
	}
	got, err := r.git.AskInput(ctx, data, "hash-object", "--stdin", "--path="+relPath)
	if err != nil {
		return false, failed(err, fault.GitCommandFailed, "path", full)
	}
	return bytes.Equal(got, want), nil
}

// MergeClean reports whether git merges two versions of a file that come from
// one base without a conflict.
func (r *reader) MergeClean(ctx context.Context, base, ours, theirs []byte) (bool, error) {
	dir, err := os.MkdirTemp("", "aiflow-merge-")
	if err != nil {
		return false, failed(err, fault.PathNotWritable, "path", os.TempDir())
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{"merge-file", "-q", "-p"}
	for _, f := range []struct {
		name string
		data []byte
	}{{"ours", ours}, {"base", base}, {"theirs", theirs}} {
		name := filepath.Join(dir, f.name)
		if err := os.WriteFile(name, f.data, 0o600); err != nil {
			return false, failed(err, fault.PathNotWritable, "path", name)
		}
		args = append(args, name)
	}
	_, err = r.git.Ask(ctx, args...)
	if n := gitcmd.Exit(err); err != nil && (n < 1 || n > 127) {
		return false, failed(err, fault.GitCommandFailed)
	}
	return err == nil, nil // the exit status is the number of conflicts
}
