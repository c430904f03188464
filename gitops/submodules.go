package gitops

import (
	"context"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
)

// EmptySubmodules are the submodules of the workspace that git has not filled,
// from its top: a new worktree has none of their files.
func (w *Workspace) EmptySubmodules(ctx context.Context) ([]string, error) {
	if !exists(filepath.Join(w.path, ".gitmodules")) {
		return nil, nil
	}
	out, err := w.git.Ask(ctx, "ls-files", "-z", "-s")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed, "path", w.path)
	}
	var empty []string
	for _, entry := range fields(out) {
		about, name, _ := strings.Cut(entry, "\t")
		if strings.HasPrefix(about, gitlink+" ") && !exists(filepath.Join(w.path, filepath.FromSlash(name), ".git")) {
			empty = append(empty, name)
		}
	}
	return empty, nil
}

// FillSubmodules clones and checks out the workspace's submodules, also those
// inside others. Fault: WORKSPACE_FAILED with what git said.
func (w *Workspace) FillSubmodules(ctx context.Context) error {
	if _, err := w.git.Do(ctx, quiet("submodule", "--quiet", "update", "--init", "--recursive")...); err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "submodules")
	}
	return nil
}
