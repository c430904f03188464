package gitops

import (
	"context"
	"errors"

	"aiflow/internal/gitcmd"
)

var errTodo = errors.New("not written yet")

// Repo is a repository with a checkout.
type Repo struct{}

// Workspace is a checkout that a run works in.
type Workspace struct{}

func Open(ctx context.Context, g gitcmd.Git, root string) (*Repo, error) { return nil, errTodo }

func (r *Repo) Head(ctx context.Context) (Head, error) { return Head{}, errTodo }
func (r *Repo) ResolveBase(ctx context.Context, wanted string) (branch, commit string, err error) {
	return "", "", errTodo
}
func (r *Repo) CreateBranch(ctx context.Context, name, commit string) error { return errTodo }
func (r *Repo) BranchTip(ctx context.Context, name string) (commit string, ok bool, err error) {
	return "", false, errTodo
}
func (r *Repo) DeleteBranch(ctx context.Context, name, commit string) error { return errTodo }
func (r *Repo) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	return false, errTodo
}
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) { return "", errTodo }
func (r *Repo) AddWorktree(ctx context.Context, path, branch string) (*Workspace, error) {
	return nil, errTodo
}
func (r *Repo) OpenWorktree(ctx context.Context, path string) (*Workspace, bool, error) {
	return nil, false, errTodo
}
func (r *Repo) InPlace(ctx context.Context) (*Workspace, error)                   { return nil, errTodo }
func (r *Repo) RemoveWorktree(ctx context.Context, path string, force bool) error { return errTodo }
func (r *Repo) Commits(ctx context.Context, base, tip string) ([]Commit, error)   { return nil, errTodo }
func (r *Repo) RunCommitsInHead(ctx context.Context, runIDs []string) (map[string]bool, error) {
	return nil, errTodo
}
func (r *Repo) Tracked(ctx context.Context, relPath string) (bool, error)      { return false, errTodo }
func (r *Repo) Ignored(ctx context.Context, paths ...string) ([]string, error) { return nil, errTodo }
func (r *Repo) Dirty(ctx context.Context) ([]Change, error)                    { return nil, errTodo }
func (r *Repo) ReadFile(ctx context.Context, commit, path string) ([]byte, bool, error) {
	return nil, false, errTodo
}
func (r *Repo) Identity(ctx context.Context) (name, email string, err error) { return "", "", errTodo }
func (r *Repo) CompareURL(ctx context.Context, base, branch, template string) (string, error) {
	return "", errTodo
}
func (r *Repo) Diff(ctx context.Context, from, to string, o DiffOptions) (Diff, error) {
	return Diff{}, errTodo
}

func (w *Workspace) Path() string                                   { return "" }
func (w *Workspace) Branch() string                                 { return "" }
func (w *Workspace) Head(ctx context.Context) (string, error)       { return "", errTodo }
func (w *Workspace) Changes(ctx context.Context) (ChangeSet, error) { return ChangeSet{}, errTodo }
func (w *Workspace) Patch(ctx context.Context) ([]byte, error)      { return nil, errTodo }
func (w *Workspace) Commit(ctx context.Context, m CommitMessage, o CommitOptions) (string, error) {
	return "", errTodo
}
func (w *Workspace) CommitFile(ctx context.Context, relPath string, data []byte, m CommitMessage, o CommitOptions) (string, error) {
	return "", errTodo
}
func (w *Workspace) KeepAttempt(ctx context.Context, ref string, m CommitMessage) (string, error) {
	return "", errTodo
}
func (w *Workspace) ResetToHead(ctx context.Context) error                 { return errTodo }
func (w *Workspace) ApplyPatch(ctx context.Context, patch []byte) error    { return errTodo }
func (w *Workspace) ClearStaleLocks(ctx context.Context) ([]string, error) { return nil, errTodo }
