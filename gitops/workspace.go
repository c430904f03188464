package gitops

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Workspace is the checkout that a run works in: a linked worktree of ours or,
// in place, the user's own. One goroutine uses it at a time.
type Workspace struct {
	repo   *Repo
	path   string
	gitDir string
	linked bool
	branch string
	git    gitcmd.Git
	src    *source
	staged bool   // everything there is in the index, and judged
	patch  []byte // of what is staged, when it was read with it

	leave    []string // paths from the project's root that are no part of the work
	known    bool     // the links have been looked for
	borrowed []string // links to the same path in the user's checkout
	unborn   []string // repositories inside that have no commit
}

// Path is the top folder of the workspace.
func (w *Workspace) Path() string { return w.path }

// Dir is the project's folder in the workspace; Path, unless the project is in
// a folder of its repository.
func (w *Workspace) Dir() string { return filepath.Join(w.path, filepath.FromSlash(w.repo.prefix)) }

// Branch is the branch that was checked out when the workspace was opened.
func (w *Workspace) Branch() string { return w.branch }

// LeaveOut names files and folders, relative to Dir, that are no part of the
// work when the workspace is the user's own checkout.
func (w *Workspace) LeaveOut(paths ...string) { w.leave = append(w.leave, paths...) }

// Head is the commit that the workspace stands at.
func (w *Workspace) Head(ctx context.Context) (string, error) {
	h, err := w.head(ctx)
	return h.Commit, err
}

// HeadOf is what is checked out in a workspace.
func HeadOf(ctx context.Context, w *Workspace) (Head, error) { return w.head(ctx) }

func (w *Workspace) head(ctx context.Context) (Head, error) {
	if err := w.verify(); err != nil {
		return Head{}, err
	}
	return headOf(ctx, w.src, w.git)
}

// verify makes sure that git, started in the workspace, works on the
// workspace. A lost .git file is written again; a foreign repository in its
// place is a fault.
func (w *Workspace) verify() error {
	if !w.linked {
		return nil
	}
	link := linkTarget(w.path)
	switch {
	case link != "" && sameFile(link, w.gitDir):
		return nil
	case link == "" && !exists(filepath.Join(w.path, ".git")) && exists(w.path) && exists(w.gitDir):
		if err := os.WriteFile(filepath.Join(w.path, ".git"), []byte("gitdir: "+w.gitDir+"\n"), 0o666); err != nil {
			return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "link_lost")
		}
		return nil
	}
	if !exists(w.path) {
		return refuse(fault.WorkspaceFailed, "folder_gone", "path", w.path)
	}
	return refuse(fault.WorkspaceFailed, "link_lost", "path", w.path)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// onBranch makes sure that a commit lands on the workspace's branch.
func (w *Workspace) onBranch(ctx context.Context) (Head, error) {
	h, err := w.head(ctx)
	if err != nil {
		return h, err
	}
	if h.Branch != w.branch || h.Detached {
		return h, refuse(fault.WorkspaceFailed, "branch_switched", "path", w.path, "branch", w.branch, "name", h.Branch)
	}
	inheritSettings(ctx, w) // what a step did may have taken hooks away
	return h, nil
}

// Switch checks out another branch in the user's checkout, for work in place.
// Changes that git would overwrite make it fail.
func (w *Workspace) Switch(ctx context.Context, branch string) error {
	if w.linked || !ValidBranch(branch) {
		return refuse(fault.WorkspaceFailed, "not_switched", "path", w.path, "branch", branch)
	}
	from, err := w.Head(ctx)
	if err != nil {
		return err
	}
	list, err := changesOf(ctx, w.git, from, branch)
	if err != nil {
		return err
	}
	if _, err := moveCheckout(ctx, w.git, from, list, "checkout", "-q", "--no-guess", branch, "--"); err != nil {
		h, e := headOf(ctx, w.src, w.git)
		if e != nil || h.Branch != branch { // not just a failing post-checkout hook
			return failed(err, fault.WorkspaceFailed, "path", w.path, "branch", branch, "reason", "not_switched")
		}
	}
	w.branch, w.staged = branch, false
	return nil
}

// ResetTo puts our linked worktree back to commit ("HEAD" is the last): tracked
// files, new ones, and the workspace's branch, which is checked out again if it
// was left. Ignored files and submodules stay. What it had on top is kept first
// as k says. It refuses on the user's checkout.
func (w *Workspace) ResetTo(ctx context.Context, commit string, k Keep) error {
	if !w.linked {
		return refuse(fault.WorkspaceFailed, "users_checkout", "path", w.path)
	}
	h, err := w.head(ctx)
	if err != nil {
		return err
	}
	if err := w.git.May(); err != nil {
		return err
	}
	w.staged = false
	if err := keepForReset(ctx, w, commit, k); err != nil {
		return err
	}
	if err := headToBranch(ctx, w, h); err != nil {
		return err
	}
	if _, err := w.git.Do(ctx, quiet("-c", "submodule.recurse=false", "reset", "-q", "--hard", commit)...); err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.path, "commit", commit, "reason", "not_reset")
	}
	return removeNew(ctx, w)
}

// keepForReset keeps what a reset would take away. Repositories inside stay when
// the commit has a submodule at their path.
func keepForReset(ctx context.Context, w *Workspace, commit string, k Keep) error {
	left, err := inspect(ctx, w)
	if err != nil {
		return err
	}
	left.Ignored, left.modules = nil, nil
	left.Nested = slices.DeleteFunc(left.Nested, func(i Item) bool {
		out, err := w.git.Ask(ctx, "--literal-pathspecs", "ls-tree", "--full-tree", commit, "--", i.Path)
		return err == nil && strings.HasPrefix(string(out), gitlink)
	})
	if err := (&Removal{LeftOver: left, repo: w.repo, path: w.path, ws: w}).keep(ctx, k); err != nil || len(left.hidden) == 0 {
		return err
	}
	return unhideFiles(ctx, w, filepath.Join(w.gitDir, "index"), left.hidden)
}

// removeNew takes away what is new. A repository inside is no longer there.
func removeNew(ctx context.Context, w *Workspace) error {
	args := quiet("clean", "-q", "-f", "-d")
	for _, p := range links(ctx, w) {
		args = append(args, "-e", "/"+escapeGlob(p))
	}
	if _, err := w.git.Do(ctx, args...); err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "not_reset")
	}
	left, err := w.git.Ask(ctx, "ls-files", "-z", "-o", "--exclude-standard", "--directory", "--no-empty-directory")
	if err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "not_reset")
	}
	for _, name := range fields(left) {
		if !w.repo.borrowed(w.path, name) {
			return refuse(fault.WorkspaceFailed, "nested_repository", "path", w.path, "name", name)
		}
	}
	return nil
}

// ClearStaleLocks removes the lock files in the linked worktree's own part of
// the repository and names them. The caller has proven that the process that
// left them is dead. In the user's checkout it does nothing.
func (w *Workspace) ClearStaleLocks() ([]string, error) {
	if !w.linked {
		return nil, nil
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(w.gitDir), "*.lock"))
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, p := range found {
		if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := w.git.May(); err != nil {
			return removed, err
		}
		if err := os.Remove(p); err != nil {
			return removed, failed(err, fault.PathNotWritable, "path", p)
		}
		removed = append(removed, p)
	}
	return removed, nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
