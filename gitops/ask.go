package gitops

import (
	"bytes"
	"context"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Ignored gives those of the paths that git ignores. Tracked files are never
// ignored.
func (r *reader) Ignored(ctx context.Context, paths ...string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := r.git.AskInput(ctx, []byte(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "-z", "--stdin")
	if err != nil && gitcmd.Exit(err) != 1 {
		return nil, failed(err, fault.GitCommandFailed)
	}
	return fields(out), nil
}

// Identity is the author that commits get. git's own words about what to type
// are in the fault's output.
func (r *reader) Identity(ctx context.Context) (name, email string, err error) {
	out, err := r.git.Ask(ctx, "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return "", "", failed(err, fault.GitIdentityMissing, "reason", "identity_missing",
			"command", `git config user.name "…" && git config user.email "…"`)
	}
	name, rest, _ := strings.Cut(line(out), " <")
	email, _, _ = strings.Cut(rest, "> ")
	return name, email, nil
}

// ReadFile gives a file's bytes as they are in commit; false when there is no
// such file. A symlink's bytes are its target.
func (r *reader) ReadFile(ctx context.Context, commit, relPath string) ([]byte, bool, error) {
	full := path.Join(r.prefix, relPath)
	h, ok, err := r.commit(ctx, commit)
	if err != nil || !ok {
		return nil, false, err
	}
	data, err := read(r.src, func(repo *objects) ([]byte, error) { return readFile(repo, h, full) })
	if err == nil {
		return data, data != nil, nil
	}
	return r.askFile(ctx, h, full)
}

// readFile is nil where there is no such file.
func readFile(repo *objects, commit, full string) ([]byte, error) {
	c, err := repo.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	tree, err := c.Tree()
	if err != nil {
		return nil, err
	}
	entry, err := tree.FindEntry(full)
	if err == object.ErrEntryNotFound || err == object.ErrDirectoryNotFound || err == nil && (entry.Mode == filemode.Dir || entry.Mode == filemode.Submodule) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	blob, err := object.GetBlob(repo.storage, entry.Hash)
	if err != nil {
		return nil, err
	}
	in, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

func (r *reader) askFile(ctx context.Context, commit, full string) ([]byte, bool, error) {
	out, err := r.git.Ask(ctx, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", full)
	if err != nil {
		return nil, false, failed(err, fault.GitCommandFailed, "commit", commit, "path", full)
	}
	about, _, _ := bytes.Cut(out, []byte("\t"))
	f := strings.Fields(string(about)) // mode, type, object
	if len(f) != 3 || f[1] != "blob" {
		return nil, false, nil
	}
	data, err := r.git.Ask(ctx, "cat-file", "blob", f[2])
	return data, err == nil, failed(err, fault.GitCommandFailed, "commit", commit, "path", full)
}

// fields splits NUL-terminated output.
func fields(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// paths are fields of which it is asked whether one is there: a landing may have very many.
func paths(out []byte) map[string]bool {
	there := map[string]bool{}
	for _, path := range fields(out) {
		there[path] = true
	}
	return there
}
