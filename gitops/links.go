package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

// borrowed reports whether the untracked path (from the top of the worktree)
// is a link to the same path in the user's checkout: node_modules or .env, put
// there to prepare the worktree. It is no work of anybody and never committed,
// also when .gitignore says "node_modules/", which a link is not.
func (r *Repo) borrowed(worktree, name string) bool {
	at := filepath.Join(worktree, filepath.FromSlash(name))
	target, err := os.Readlink(at)
	if err != nil {
		return false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(at), target)
	}
	same := filepath.Join(r.top, filepath.FromSlash(name))
	return target == same || atomicfile.RealPath(target) == atomicfile.RealPath(same) || linkOfOldPlace(target, name)
}

// Link makes paths of the checkout (node_modules, .env) appear in the worktree as links
// to the checkout's own, where there is nothing yet.
func (w *Workspace) Link(paths []string) error {
	for _, rel := range paths {
		at := filepath.FromSlash(rel)
		if err := link(filepath.Join(w.repo.root, at), filepath.Join(w.Dir(), at), rel); err != nil {
			return fault.Wrap(err, fault.WorkspaceFailed, "path", rel)
		}
		if name := path.Join(w.repo.prefix, rel); w.repo.borrowed(w.path, name) {
			note(w, name)
		}
	}
	return nil
}

// link also replaces a link of ours that leads to where the project was before it
// was moved.
func link(from, to, rel string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if old, err := os.Readlink(to); err == nil && strings.HasSuffix(filepath.ToSlash(old), "/"+rel) {
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(to)
		}
	}
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.Symlink(from, to)
}

// links are the borrowed paths of a linked worktree, as far as they are known
// without a look at everything; differences finds later ones.
func links(ctx context.Context, w *Workspace) []string {
	if w.known || !w.linked {
		return w.borrowed
	}
	out, err := w.git.Ask(ctx, "ls-files", "-z", "-o", "--exclude-standard")
	if err != nil {
		return nil
	}
	for _, name := range fields(out) {
		if w.repo.borrowed(w.path, name) {
			note(w, name)
		}
	}
	if set, err := stagedChanges(ctx, w); err == nil { // by a process that died
		note(w, borrowedOf(w, set)...)
	}
	w.known = true
	return w.borrowed
}

func note(w *Workspace, borrowed ...string) {
	for _, name := range borrowed {
		if !slices.Contains(w.borrowed, name) {
			w.borrowed = append(w.borrowed, name)
		}
	}
}

// borrowedOf finds the borrowed paths among what is staged and new.
func borrowedOf(w *Workspace, set ChangeSet) []string {
	var found []string
	for _, f := range set.Files {
		name := path.Join(w.repo.prefix, f.Path)
		if f.NewMode == symlink && (f.Status == Added || f.Status == Renamed) && w.repo.borrowed(w.path, name) {
			found = append(found, name)
		}
	}
	return found
}

const symlink = "120000"
