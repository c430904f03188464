package gitops

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// clearStale removes what is at path, and git's record of it, when nothing
// there differs from a commit. Anything else is WORKSPACE_FAILED.
func (r *Repo) clearStale(ctx context.Context, path, branch string) error {
	a := r.adminOf(path)
	switch {
	case a == nil:
		return r.clearUnregistered(ctx, path, branch)
	case a.locked != "" && a.locked != making:
		return inTheWay(path, "locked")
	case a.locked != making && exists(path):
		if a.branch == "" {
			return inTheWay(path, "no_branch") // its commits may be in no branch
		}
		if err := r.refuseContent(ctx, path, "refs/heads/"+a.branch); err != nil {
			return err
		}
	}
	return r.removeWorktree(ctx, path, a)
}

func (r *Repo) clearUnregistered(ctx context.Context, path, branch string) error {
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return inTheWay(path, "not_a_folder")
	}
	if os.Remove(path) == nil {
		return nil // was empty
	}
	if err := r.refuseContent(ctx, path, "refs/heads/"+branch); err != nil {
		return err
	}
	return removeAll(path)
}

func inTheWay(path, reason string) error {
	return refuse(fault.WorkspaceFailed, reason, "path", path)
}

// refuseContent fails when a file at path is not in rev or differs from it.
// Files that are missing are no loss. The index used is a private one, so an
// interrupted checkout, which has none, is judged like any other.
func (r *Repo) refuseContent(ctx context.Context, path, rev string) error {
	index := filepath.Join(r.commonDir, "aiflow-"+rand.Text()+".index")
	defer func() { _ = os.Remove(index) }()
	ask := func(args ...string) ([]byte, error) {
		return r.git.In(path).Run(ctx, gitcmd.Call{
			Args: quiet(args...), Mode: gitcmd.Write,
			Env: []string{"GIT_DIR=" + r.commonDir, "GIT_WORK_TREE=" + path, "GIT_INDEX_FILE=" + index},
		})
	}
	if _, err := ask("read-tree", rev); err != nil {
		return failed(err, fault.WorkspaceFailed, "path", path, "reason", "has_changes")
	}
	changed, err := ask("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-filter=d", "--name-only", "-z")
	if err != nil {
		return failed(err, fault.WorkspaceFailed, "path", path)
	}
	others, err := ask("ls-files", "-o", "--exclude-standard", "-z")
	if err != nil {
		return failed(err, fault.WorkspaceFailed, "path", path)
	}
	for _, name := range append(fields(changed), fields(others)...) {
		if !r.borrowed(path, name) {
			return refuse(fault.WorkspaceFailed, "has_changes", "path", path, "name", name)
		}
	}
	return nil
}
