package gitops

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
)

// Moved reports whether the worktree at path and the repository have lost each
// other: each names the other by its path, and the project was moved, renamed,
// copied or is mounted elsewhere.
func (r *Repo) Moved(path string) bool {
	_, moved := r.lost(path)
	return moved
}

// lost is git's record of the worktree at path when the two no longer name each
// other. A record that another worktree uses, and a worktree that another
// repository uses, are no part of a move.
func (r *Repo) lost(path string) (worktreeRecord, bool) {
	link := linkTarget(path)
	if filepath.Base(filepath.Dir(link)) != "worktrees" {
		return worktreeRecord{}, false
	}
	a, ok := r.readAdmin(filepath.Join(r.commonDir, "worktrees", filepath.Base(link)))
	if !ok {
		return a, false
	}
	named, back := sameFile(link, a.dir), sameFile(a.path, path)
	switch {
	case named && back:
		return a, false
	case !back && sameFile(linkTarget(a.path), a.dir):
		return a, false
	case !named:
		theirs, ok := r.readAdmin(link)
		return a, !ok || !sameFile(theirs.path, path)
	}
	return a, true
}

// RepairWorktree makes the worktree at path and the repository name each other
// again, and reports whether it had to.
func (r *Repo) RepairWorktree(ctx context.Context, path string) (bool, error) {
	a, moved := r.lost(path)
	if !moved || !r.isOwnPlace(path) {
		return false, nil
	}
	// git repairs what the worktree names: of a copy that would be the original.
	if err := os.WriteFile(filepath.Join(path, ".git"), []byte("gitdir: "+a.dir+"\n"), 0o666); err != nil {
		return false, failed(err, fault.WorkspaceFailed, "path", path, "reason", "link_lost")
	}
	if _, err := r.git.Do(ctx, "worktree", "repair", "--", path); err != nil {
		return false, failed(err, fault.WorkspaceFailed, "path", path, "reason", "link_lost")
	}
	return true, nil
}

// linkOfOldPlace reports whether target, a link's, is where the same file of the
// checkout was before the project was moved.
func linkOfOldPlace(target, name string) bool {
	return filepath.IsAbs(target) && !exists(target) && strings.HasSuffix(filepath.ToSlash(target), "/"+name)
}
