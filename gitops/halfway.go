package gitops

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// pathChange is a path that differs between two commits. A rename is a path that went
// and one that came.
type pathChange struct {
	kind byte // A, M, T or D
	path string
	mode string // of the later one
	hash string
}

func changesOf(ctx context.Context, g gitcmd.Git, from, to string) ([]pathChange, error) {
	out, err := g.Ask(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", from, to, "--")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	return readRaw(out)
}

// readRaw reads what git's --raw says of differences.
func readRaw(out []byte) (list []pathChange, err error) {
	for pair := range slices.Chunk(fields(out), 2) {
		about := strings.Fields(pair[0])
		if len(pair) < 2 || len(about) < 5 {
			return nil, unexpected("git diff-tree", pair[0])
		}
		if about[0] != ":"+gitlink && about[1] != gitlink { // a submodule's files are none of the checkout's
			list = append(list, pathChange{about[4][0], pair[1], about[1], about[3]})
		}
	}
	return list, nil
}

// fileStates are the files of a checkout as they are now; one that is not there has none.
func fileStates(at string, list []pathChange) map[string]fs.FileInfo {
	seen := map[string]fs.FileInfo{}
	for _, c := range list {
		if fi, err := os.Lstat(filepath.Join(at, filepath.FromSlash(c.path))); err == nil {
			seen[c.path] = fi
		}
	}
	return seen
}

func untouched(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.Mode() == b.Mode() && a.ModTime().Equal(b.ModTime())
}

// ErrHalfway is in the chain where git stopped while it wrote the files of a checkout,
// and they could not be put back: UndoHalfway does that later.
var ErrHalfway = errors.New("the checkout stands halfway")

// moveCheckout has git bring a checkout from one commit to another. Once begun it is let finish:
// a checkout that stands halfway is of no use to anybody. Where it fails before HEAD has
// moved (a full disk, a filter that fails) what it had written is put back.
func moveCheckout(ctx context.Context, g gitcmd.Git, from string, list []pathChange, args ...string) (half []string, err error) {
	before := fileStates(g.Dir, list)
	ctx = context.WithoutCancel(ctx)
	if _, err = g.Do(ctx, quiet(args...)...); err == nil {
		return nil, nil
	}
	if now, ok, e := revParse(ctx, g, "HEAD"); e != nil || !ok || now != from {
		return nil, err
	}
	after := fileStates(g.Dir, list)
	var touched, folders []pathChange
	for _, c := range list {
		switch {
		case c.kind == 'A' && before[c.path] == nil && after[c.path] == nil:
			folders = append(folders, c) // its folder may be there, and empty
		case c.kind == 'A' && before[c.path] == nil, c.kind != 'A' && !untouched(before[c.path], after[c.path]):
			touched = append(touched, c)
		}
	}
	if len(touched) == 0 {
		return nil, err // it refused before it wrote
	}
	if e := unstage(ctx, g, from, touched); e != nil {
		err = errors.Join(err, e)
	}
	list, back := writtenByGit(ctx, g, touched) // not what a person wrote at that moment
	if back == nil {
		back = restoreFiles(ctx, g, from, append(folders, list...))
	}
	if back != nil {
		for _, c := range list {
			half = append(half, c.path)
		}
		return half, errors.Join(err, ErrHalfway, back)
	}
	return nil, err
}

// unstage takes out of the index what git put there before it failed to move the branch (a
// hook that refuses, a lock that was left). list are the files that it wrote; where a
// person had staged the same before, it wrote none.
func unstage(ctx context.Context, g gitcmd.Git, from string, list []pathChange) error {
	out, err := g.Ask(ctx, "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", from, "--")
	if err != nil {
		return failed(err, fault.GitCommandFailed)
	}
	entries, err := readRaw(out)
	if err != nil {
		return err
	}
	staged := map[pathChange]bool{}
	for _, c := range entries {
		staged[c] = true
	}
	var names bytes.Buffer
	for _, c := range list {
		if staged[c] {
			names.WriteString(c.path + "\x00")
		}
	}
	if names.Len() == 0 {
		return nil
	}
	_, err = g.DoInput(ctx, names.Bytes(), "--literal-pathspecs", "reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul", from, "--")
	return failed(err, fault.GitCommandFailed)
}

// restoreFiles gives files of a checkout that git had begun to change what they have at a
// commit. What somebody has staged is theirs.
func restoreFiles(ctx context.Context, g gitcmd.Git, commit string, list []pathChange) error {
	if len(list) == 0 {
		return nil
	}
	out, err := g.Ask(ctx, "diff-index", "--cached", "--name-only", "-z", "--no-renames", commit, "--")
	if err != nil {
		return failed(err, fault.GitCommandFailed)
	}
	staged := paths(out)
	var errs []error
	var names bytes.Buffer
	for _, c := range list {
		switch {
		case staged[c.path]:
		case c.kind == 'A':
			path := filepath.Join(g.Dir, filepath.FromSlash(c.path))
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			for dir := filepath.Dir(path); dir != g.Dir; dir = filepath.Dir(dir) {
				if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
					break // there is something in it
				}
			}
		default:
			names.WriteString(c.path + "\x00")
		}
	}
	if names.Len() > 0 {
		_, err := g.DoInput(ctx, names.Bytes(), "checkout-index", "-f", "-z", "--stdin")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// UndoHalfway undoes in the checkout of a branch what a git that died while it went forward
// to a commit had written there. What has other content is a person's, and stays. It says
// whether there was anything.
func UndoHalfway(ctx context.Context, r *Repo, branch, to string) (bool, error) {
	at := r.CheckedOut(ctx, branch)
	from, ok, err := r.BranchTip(ctx, branch)
	if at == "" || err != nil || !ok {
		return false, err
	}
	g := r.git.In(at)
	list, err := changesOf(ctx, g, from, to)
	if err != nil {
		return false, err
	}
	if list, err = writtenByGit(ctx, g, list); err != nil {
		return false, err
	}
	return len(list) > 0, restoreFiles(ctx, g, from, list)
}

// writtenByGit are the changes whose file has what git would write for them, or the beginning
// of it, or is gone as git would have it.
func writtenByGit(ctx context.Context, g gitcmd.Git, list []pathChange) (by []pathChange, err error) {
	out, err := g.Ask(ctx, "diff-files", "--name-only", "-z")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	changed := paths(out)
	var unsure []pathChange
	var names bytes.Buffer
	for _, c := range list {
		path := filepath.Join(g.Dir, filepath.FromSlash(c.path))
		fi, err := os.Lstat(path)
		switch {
		case c.kind == 'A' && err != nil, c.kind != 'A' && !changed[c.path]:
		case err != nil:
			by = append(by, c)
		case fi.Mode().IsRegular() && !strings.Contains(c.path, "\n"):
			unsure = append(unsure, c)
			names.WriteString(c.path + "\n")
		case fi.Mode()&fs.ModeSymlink != 0:
			if to, err := os.Readlink(path); err == nil && c.mode == symlink && isBlob(ctx, g, c.hash, to) {
				by = append(by, c)
			}
		}
	}
	out, _ = g.AskInput(ctx, names.Bytes(), "hash-object", "--stdin-paths") // where it stops, each file is read
	hashes := strings.Fields(string(out))
	for i, c := range unsure {
		if i < len(hashes) && hashes[i] == c.hash || isPrefixOfBlob(ctx, g, c) {
			by = append(by, c)
		}
	}
	return by, nil
}

// isPrefixOfBlob reports whether a file has the beginning of what git would write for a change.
func isPrefixOfBlob(ctx context.Context, g gitcmd.Git, c pathChange) bool {
	if c.kind == 'D' {
		return false
	}
	is, err := os.ReadFile(filepath.Join(g.Dir, filepath.FromSlash(c.path)))
	if err != nil {
		return false
	}
	whole, err := g.Ask(ctx, "cat-file", "--filters", "--path="+c.path, c.hash)
	return err == nil && bytes.HasPrefix(whole, is)
}

func isBlob(ctx context.Context, g gitcmd.Git, hash, text string) bool {
	is, err := g.Ask(ctx, "cat-file", "blob", hash)
	return err == nil && string(is) == text
}
