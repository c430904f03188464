package gitops

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// making is the reason with which git locks a worktree until it is complete.
const making = "initializing"

// AddWorktree makes a linked worktree at path with branch checked out. A worktree
// that is left over at that path is removed first, with what is in it kept as k
// says. The caller sees to it that worktrees are made one at a time.
func (r *Repo) AddWorktree(ctx context.Context, path, branch string, k Keep) (*Workspace, error) {
	if !r.isOwnPlace(path) {
		return nil, refuse(fault.WorkspaceFailed, "outside", "path", path, "dir", r.WorktreesDir)
	}
	if !ValidBranch(branch) {
		return nil, refuse(fault.WorkspaceFailed, "bad_name", "path", path, "branch", branch)
	}
	if err := r.git.May(); err != nil {
		return nil, err
	}
	if _, err := r.RepairWorktree(ctx, path); err != nil {
		return nil, err
	}
	if r.adminOf(path) != nil || exists(path) {
		if err := clearStale(ctx, r, path, branch, k); err != nil {
			return nil, err
		}
	}
	_, err := r.git.Do(ctx, quiet("worktree", "add", "-q", "--", path, branch)...)
	w, ok, openErr := r.OpenWorktree(ctx, path)
	switch {
	case openErr != nil:
		return nil, openErr
	case ok && w.branch == branch && (err == nil || ctx.Err() == nil):
		return w, nil // a failing post-checkout hook fails the command, not the worktree
	}
	return nil, failed(err, fault.WorkspaceFailed, "path", path, "branch", branch, "reason", "refused")
}

// OpenWorktree opens the linked worktree at path; false when there is none
// that is whole. One that was moved with its project is repaired first.
func (r *Repo) OpenWorktree(ctx context.Context, path string) (*Workspace, bool, error) {
	if _, err := r.RepairWorktree(ctx, path); err != nil {
		return nil, false, err
	}
	a := r.adminOf(path)
	if a == nil || a.locked == making || linkTarget(path) == "" {
		return nil, false, nil
	}
	return r.workspace(ctx, path, a.dir, true, a.branch), true, nil
}

// InPlace gives the checkout itself as a workspace.
func (r *Repo) InPlace(ctx context.Context) (*Workspace, error) {
	out, err := r.git.Ask(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return nil, failed(gitcmd.NoRepository(err, r.root), fault.GitNotRepo, "path", r.root)
	}
	h, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	return r.workspace(ctx, r.top, line(out), false, h.Branch), nil
}

// unregister removes a worktree without git's own look for changes (--force):
// leave has looked at far more than that, and nothing else calls this. Once begun it
// goes to the end: half a worktree is none, and nobody would take the rest away.
func (r *Repo) unregister(ctx context.Context, path string, a *worktreeRecord) error {
	ctx = context.WithoutCancel(ctx)
	args := quiet("worktree", "remove", "--force", "--", path)
	if a.locked == making {
		args = quiet("worktree", "remove", "--force", "--force", "--", path)
	}
	_, err := r.git.Do(ctx, args...)
	if err == nil {
		return nil
	}
	if a.locked != "" && a.locked != making {
		return failed(err, fault.WorkspaceFailed, "path", path, "reason", "locked")
	}
	if e := removeAll(path); e != nil {
		return failed(e, fault.WorkspaceFailed, "path", path, "reason", "not_removed")
	}
	if r.adminOf(path) == nil {
		return nil
	}
	_, err = r.git.Do(ctx, args...)
	return failed(err, fault.WorkspaceFailed, "path", path, "reason", "not_removed")
}

// removeAll also removes folders that were made read-only, as build caches do.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// isOwnPlace reports whether path is in our worktrees folder, also after links, or is a
// worktree of a request that was made in another one: its name is that of the
// request, and its branch is one of it.
func (r *Repo) isOwnPlace(path string) bool {
	home := filepath.FromSlash(r.WorktreesDir)
	if !filepath.IsAbs(home) {
		home = filepath.Join(r.root, home)
	}
	parent := filepath.Dir(filepath.Clean(path))
	if !filepath.IsAbs(path) {
		return false
	}
	if parent == home || atomicfile.RealPath(parent) == atomicfile.RealPath(home) && exists(home) {
		return true
	}
	a := r.adminOf(path)
	return a != nil && strings.Contains("/"+a.branch, "/"+filepath.Base(path)+"/")
}

// worktreeRecord is git's record of a linked worktree.
type worktreeRecord struct {
	dir    string // inside the repository
	path   string // of the worktree
	branch string // "" when detached
	locked string // the reason; "" when not locked
}

// admins reads the records of all linked worktrees.
func (r *Repo) admins() []worktreeRecord {
	home := filepath.Join(r.commonDir, "worktrees")
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil
	}
	var all []worktreeRecord
	for _, e := range entries {
		if a, ok := r.readAdmin(filepath.Join(home, e.Name())); ok {
			all = append(all, a)
		}
	}
	return all
}

func (r *Repo) readAdmin(dir string) (worktreeRecord, bool) {
	link, err := os.ReadFile(filepath.Join(dir, "gitdir"))
	if err != nil {
		return worktreeRecord{}, false
	}
	at := line(link)
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	a := worktreeRecord{dir: dir, path: filepath.Dir(at), branch: r.headBranch(dir)}
	if why, err := os.ReadFile(filepath.Join(dir, "locked")); err == nil {
		a.locked = strings.TrimSpace(string(why))
		if a.locked == "" {
			a.locked = "locked"
		}
	}
	return a, true
}

// headBranch is the branch of the checkout whose own part of the repository is
// gitDir, whatever the format of the objects; "" when it is detached.
func (r *Repo) headBranch(gitDir string) string {
	repo, _ := openObjects(gitDir, r.commonDir)
	head, err := repo.Reference(plumbing.HEAD, false)
	if err != nil || !head.Target().IsBranch() {
		return ""
	}
	return head.Target().Short()
}

// adminOf finds the record of the worktree at path, nil when there is none.
func (r *Repo) adminOf(path string) *worktreeRecord {
	want := filepath.Join(atomicfile.RealPath(filepath.Dir(path)), filepath.Base(path))
	for _, a := range r.admins() {
		if a.path == filepath.Clean(path) || filepath.Join(atomicfile.RealPath(filepath.Dir(a.path)), filepath.Base(a.path)) == want || sameFile(a.path, path) {
			return &a
		}
	}
	return nil
}

// gitDirOf is the part of the repository that belongs to the checkout at top, ""
// when its .git is neither a folder nor a file that names one.
func gitDirOf(top string) string {
	dir := filepath.Join(top, ".git")
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return linkTarget(top)
}

// linkTarget is the repository folder that a worktree's .git file names, ""
// when it is not such a file.
func linkTarget(path string) string {
	dotGit := filepath.Join(path, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	link, err := os.ReadFile(dotGit)
	if err != nil {
		return ""
	}
	dir, ok := strings.CutPrefix(line(link), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(path, dir)
	}
	return dir
}

// workspace makes the value; nothing is started or touched.
func (r *Repo) workspace(ctx context.Context, path, gitDir string, linked bool, branch string) *Workspace {
	w := &Workspace{
		repo: r, path: path, gitDir: gitDir, linked: linked, branch: branch,
		git: r.git.In(path), src: newSource(gitDir, r.commonDir),
	}
	if linked {
		w.git = pinned(w.git, path)
	}
	inheritSettings(ctx, w)
	return w
}

// pinned keeps git inside a linked worktree: should its .git file be gone,
// git must not climb up and find the user's checkout.
func pinned(g gitcmd.Git, path string) gitcmd.Git {
	return g.With("GIT_CEILING_DIRECTORIES=" + filepath.Dir(path))
}
