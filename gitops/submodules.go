package gitops

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
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
// inside others. Fault: WORKSPACE_FAILED with what git said, and
// the submodule and the commit that it cannot get.
func (w *Workspace) FillSubmodules(ctx context.Context) error {
	_, err := w.git.Do(ctx, quiet("submodule", "--quiet", "update", "--init", "--recursive")...)
	if err == nil {
		return nil
	}
	facts := []any{"path", w.path, "reason", "submodules"}
	if m := lacksCommit.FindStringSubmatch(gitcmd.Stderr(err)); m != nil {
		facts = append(facts, "submodule", m[1], "commit", m[2])
	}
	return failed(err, fault.WorkspaceFailed, facts...)
}

// lacksCommit is what git says where a submodule is cloned from a repository without the
// commit that the branch names.
var lacksCommit = regexp.MustCompile(`Fetched in submodule path '([^']+)', but it did not contain ([0-9a-f]+)`)
