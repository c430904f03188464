package gitops

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
)

// Keep says what becomes of what only a worktree holds, before it goes or is put
// back. The zero value keeps nothing: work of any kind is WORKTREE_DIRTY then.
type Keep struct {
	// Ref is where changes and commits are kept, as commits Ref/1, Ref/2, … What
	// an attempt beside it holds already is not kept again.
	Ref     string
	Message CommitMessage
	Refuse  bool // work that no attempt holds yet is refused, not kept
	// Dir is the folder that repositories inside, and ignored files of up to
	// Ignored bytes, are moved into; "" leaves no place for them. Ignored paths
	// below Made can be made again.
	Dir     string
	Ignored int64
	Made    []string
	// Before is told of it all before anything is moved or removed; its error
	// stops the removal. nil is nobody.
	Before func(Kept) error
}

// Kept is what was kept of a worktree, and what goes with it.
type Kept struct {
	Ref     string // of changes and commits, "" when there were none
	Changed []string
	Nested  []Item // moved to the same path below Keep.Dir
	Ignored []Item // likewise
	Gone    []Item // ignored, and not kept
}

// Removal is a worktree that was looked through because it is to go. It is the
// only way to remove one.
type Removal struct {
	*LeftOver
	repo  *Repo
	path  string
	admin *worktreeRecord // nil: git has no record of the folder
	ws    *Workspace      // nil with it
}

// Inspect looks through the worktree at path. It changes nothing but a link that a
// moved folder broke; no worktree has nothing in it.
func (r *Repo) Inspect(ctx context.Context, path string) (*Removal, error) {
	if !r.isOwnPlace(path) {
		return nil, refuse(fault.WorkspaceFailed, "outside", "path", path, "dir", r.WorktreesDir)
	}
	if _, err := r.RepairWorktree(ctx, path); err != nil {
		return nil, err
	}
	l := &Removal{LeftOver: &LeftOver{}, repo: r, path: path, admin: r.adminOf(path)}
	if l.admin == nil {
		if exists(path) {
			return nil, refuse(fault.WorkspaceFailed, "not_a_worktree", "path", path)
		}
		return l, nil
	}
	if l.admin.locked != "" && l.admin.locked != making {
		return nil, refuse(fault.WorkspaceFailed, "locked", "path", path)
	}
	l.ws = r.workspace(ctx, path, l.admin.dir, true, l.admin.branch)
	var err error
	l.LeftOver, err = inspect(ctx, l.ws)
	return l, err
}

// RemoveWorktree removes the worktree at path, after what only it holds was kept
// as k says. Nothing there is no error.
func (r *Repo) RemoveWorktree(ctx context.Context, path string, k Keep) error {
	l, err := r.Inspect(ctx, path)
	if err != nil {
		return err
	}
	return l.RemoveWorktree(ctx, k)
}

// RemoveWorktree keeps what only the worktree holds, and removes it.
func (l *Removal) RemoveWorktree(ctx context.Context, k Keep) error {
	if err := l.repo.git.May(); err != nil {
		return err
	}
	if err := l.keep(ctx, k); err != nil {
		return err
	}
	switch {
	case l.admin != nil:
		return l.repo.unregister(ctx, l.path, l.admin)
	case exists(l.path):
		if err := removeAll(l.path); err != nil {
			return failed(err, fault.WorkspaceFailed, "path", l.path, "reason", "not_removed")
		}
	}
	return nil
}

func (l *Removal) keep(ctx context.Context, k Keep) error {
	kept, err := l.plan(ctx, k)
	if err != nil {
		return err
	}
	if k.Before != nil && (kept.Ref != "" || len(kept.Nested)+len(kept.Ignored)+len(kept.Gone) > 0) {
		if err := k.Before(kept); err != nil {
			return err
		}
	}
	for _, i := range l.Nested {
		if err := moveRepository(l.ws, i.Path, k.Dir); err != nil {
			return err
		}
	}
	for _, dir := range l.modules {
		if err := MoveAside(dir, filepath.Join(k.Dir, moduleName(dir))); err != nil {
			return failed(err, fault.WorkspaceFailed, "path", dir, "reason", "not_kept")
		}
	}
	for _, i := range kept.Ignored {
		if err := MoveAside(filepath.Join(l.path, filepath.FromSlash(i.Path)), filepath.Join(k.Dir, filepath.FromSlash(i.Path))); err != nil {
			return failed(err, fault.WorkspaceFailed, "path", i.Path, "reason", "not_kept")
		}
	}
	return nil
}

// plan decides what is kept where, and keeps changes and commits.
func (l *Removal) plan(ctx context.Context, k Keep) (Kept, error) {
	kept := Kept{Changed: l.Changed, Nested: slices.Clone(l.Nested)}
	if inside := len(l.Nested) + len(l.modules); inside > 0 && (k.Refuse || k.Dir == "") {
		return kept, refuse(fault.WorktreeDirty, "nested_repository", "path", l.path, "name", l.first())
	}
	for _, dir := range l.modules {
		item, err := measured(dir, ".")
		if err != nil {
			return kept, err
		}
		item.Path = moduleName(dir)
		kept.Nested = append(kept.Nested, item)
	}
	if len(l.Changed)+len(l.Commits) > 0 {
		var err error
		if kept.Ref, err = l.keepWork(ctx, k); err != nil {
			return kept, err
		}
	}
	kept.Ignored, kept.Gone = l.shareIgnored(k)
	return kept, nil
}

// moduleName is where the repository of a submodule without a folder is kept.
func moduleName(dir string) string { return "modules/" + filepath.Base(dir) }

// shareIgnored divides what git ignores: the small is kept as long as there is
// room, and nothing that can be made again.
func (l *Removal) shareIgnored(k Keep) (kept, gone []Item) {
	room := k.Ignored
	bySize := slices.SortedFunc(slices.Values(l.Ignored), func(a, b Item) int { return int(a.Bytes - b.Bytes) })
	for _, i := range bySize {
		made := slices.ContainsFunc(k.Made, func(name string) bool { return below(i.Path, name) })
		if i.Files == 0 {
			continue
		}
		if k.Dir == "" || made || k.Ignored == 0 || i.Bytes > room {
			gone = append(gone, i)
			continue
		}
		room -= i.Bytes
		kept = append(kept, i)
	}
	slices.Reverse(gone)
	return kept, gone
}

// keepWork makes a commit of changes and hidden files on top of all commits that
// would be lost.
func (l *Removal) keepWork(ctx context.Context, k Keep) (ref string, err error) {
	dirty := refuse(fault.WorktreeDirty, "has_changes", "path", l.path, "name", l.first())
	if k.Ref == "" {
		return "", dirty
	}
	tree, err := snapshotTree(ctx, l.ws, true)
	if err != nil {
		return "", err
	}
	attempts, err := l.repo.attempts(ctx, path.Dir(k.Ref))
	if err != nil {
		return "", err
	}
	for _, a := range attempts {
		if a.tree == tree && len(l.Commits) == 0 {
			return "", nil
		}
	}
	if k.Refuse {
		return "", dirty
	}
	parents := l.Commits
	if head, ok, err := revParse(ctx, l.ws.git, "HEAD"); err == nil && ok && !slices.Contains(parents, head) {
		parents = append([]string{head}, parents...)
	}
	commit, err := commitTree(ctx, l.ws, tree, parents, k.Message)
	if err != nil {
		return "", failedIn(l.path, err, fault.GitCommandFailed, "name", k.Ref)
	}
	for n := 1; ; n++ {
		ref = k.Ref + "/" + strconv.Itoa(n)
		if !slices.ContainsFunc(attempts, func(a attempt) bool { return a.ref == ref }) {
			break
		}
	}
	if _, err = l.repo.git.Do(ctx, "update-ref", "-m", "aiflow: kept", ref, commit, ""); err != nil {
		return "", failed(err, fault.GitCommandFailed, "name", ref)
	}
	return ref, nil
}

type attempt struct{ ref, tree string }

// attempts are the commits kept under a prefix of refs.
func (r *Repo) attempts(ctx context.Context, prefix string) ([]attempt, error) {
	out, err := r.git.Ask(ctx, "for-each-ref", "--format=%(refname) %(tree)", prefix)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	var all []attempt
	for l := range strings.Lines(string(out)) {
		ref, tree, _ := strings.Cut(strings.TrimSpace(l), " ")
		all = append(all, attempt{ref, tree})
	}
	return all, nil
}

// moveRepository moves a folder with a repository of its own. One that is a
// submodule gets its repository back from the worktree's record first.
func moveRepository(w *Workspace, name, dir string) error {
	at := filepath.Join(w.path, filepath.FromSlash(name))
	inside, err := repositoriesIn(at)
	if err != nil {
		return err
	}
	slices.Reverse(inside) // inner ones lie in the outer one's
	for _, rel := range append(inside, ".") {
		if sub := path.Join(name, rel); isSubmodule(w, sub) {
			if err := absorbGitDir(w, filepath.Join(w.path, filepath.FromSlash(sub))); err != nil {
				return err
			}
		}
	}
	err = MoveAside(at, filepath.Join(dir, filepath.FromSlash(name)))
	return failed(err, fault.WorkspaceFailed, "path", at, "reason", "not_kept")
}

// absorbGitDir puts a submodule's repository into its folder, in place of the file
// that names it.
func absorbGitDir(w *Workspace, at string) error {
	dotGit := filepath.Join(at, ".git")
	from := linkTarget(at)
	moved := dotGit + ".aiflow"
	err := MoveAside(from, moved)
	if err == nil {
		err = os.Rename(dotGit, filepath.Join(moved, "was-a-link-to"))
	}
	if err == nil {
		err = os.Rename(moved, dotGit)
	}
	if err != nil {
		return failed(err, fault.WorkspaceFailed, "path", at, "reason", "not_kept")
	}
	_, _ = w.repo.git.Do(context.Background(), "config", "--file", filepath.Join(dotGit, "config"), "--unset", "core.worktree")
	return nil
}
