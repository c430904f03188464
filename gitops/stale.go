package gitops

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// clearStale removes what is left over at path, and git's record of it, with
// what is in it kept. A folder that git has no record of is somebody's, unless
// all that is in it is in branch or ignored.
func clearStale(ctx context.Context, r *Repo, path, branch string, k Keep) error {
	if r.adminOf(path) != nil {
		return r.RemoveWorktree(ctx, path, k)
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return refuse(fault.WorkspaceFailed, "not_a_folder", "path", path)
	}
	if os.Remove(path) == nil {
		return nil // was empty
	}
	l, err := inspectFolder(ctx, r, path, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	if name := l.first(); name != "" {
		return refuse(fault.WorkspaceFailed, "has_changes", "path", path, "name", name)
	}
	return (&Removal{LeftOver: l, repo: r, path: path}).RemoveWorktree(ctx, k)
}

// inspectFolder is inspect for a folder that was a worktree once. The index used is
// a private one, made from rev. Files that are missing are no loss.
func inspectFolder(ctx context.Context, r *Repo, path, rev string) (*LeftOver, error) {
	index := filepath.Join(r.commonDir, "aiflow-"+rand.Text()+".index")
	defer func() { _ = os.Remove(index) }()
	ask := func(args ...string) ([]string, error) {
		out, err := r.git.In(path).Run(ctx, gitcmd.Call{
			Args: quiet(args...), Mode: gitcmd.Write,
			Env: []string{"GIT_DIR=" + r.commonDir, "GIT_WORK_TREE=" + path, "GIT_INDEX_FILE=" + index},
		})
		if err != nil {
			return nil, failed(err, fault.WorkspaceFailed, "path", path, "reason", "has_changes")
		}
		return fields(out), nil
	}
	l := &LeftOver{}
	if _, err := ask("read-tree", rev); err != nil {
		return nil, err
	}
	changed, err := ask("diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-filter=d", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	others, err := ask("ls-files", "-o", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	ignored, err := ask("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return nil, err
	}
	inside, err := repositoriesIn(path)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(changed, others, inside) {
		if !r.borrowed(path, name) {
			l.Changed = append(l.Changed, name)
		}
	}
	return l, noteIgnored(r, l, path, ignored)
}

// noteIgnored measures what git ignores. A link to the checkout's own is nothing.
func noteIgnored(r *Repo, l *LeftOver, top string, names []string) error {
	for _, name := range names {
		name = strings.TrimSuffix(name, "/")
		if r.borrowed(top, name) {
			continue
		}
		item, err := measured(top, name)
		if err != nil {
			return err
		}
		l.Ignored = append(l.Ignored, item)
	}
	return nil
}
