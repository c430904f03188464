package gitops

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// OnlyKept names the repositories below dir, where those of a workspace were kept, that
// hold a commit which a branch names, of one since a commit of ours, and which nobody
// else is known to have: no remote of theirs, and not the repository at that place of
// the checkout. The branch that is given does not count.
func (r *Repo) OnlyKept(ctx context.Context, dir, since, branch string) ([]string, error) {
	names, err := repositoriesIn(dir)
	if err != nil {
		return nil, err
	}
	modules, _ := os.ReadDir(filepath.Join(dir, "modules")) // of submodules without a folder
	for _, m := range modules {
		if at := filepath.Join("modules", m.Name()); exists(filepath.Join(dir, at, "objects")) {
			names = append(names, at)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	args := []string{"log", "--raw", "-m", "--no-abbrev", "--no-renames", "--ignore-submodules=none", "--no-show-signature", "--format=", "--ignore-missing"}
	if branch != "" {
		args = append(args, "--exclude="+branch)
	}
	args = append(args, "--branches", "--tags")
	if since != "" {
		args = append(args, "^"+since)
	}
	out, err := r.git.Ask(ctx, append(args, "--")...)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	commits := map[string]bool{}
	for l := range strings.Lines(string(out)) {
		if f := strings.Fields(l); len(f) > 3 && f[1] == gitlink {
			commits[f[3]] = true
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		own := unfetched(ctx, r.git, filepath.Join(dir, name), commits)
		if at := filepath.Join(r.top, name); exists(filepath.Join(at, ".git")) {
			maps.DeleteFunc(own, func(commit string, _ bool) bool {
				_, err := pinned(r.git.In(at), at).Ask(ctx, "cat-file", "-e", commit+"^{commit}")
				return err == nil
			})
		}
		return len(own) == 0
	}), nil
}

// unfetched are those of the commits that the repository at a path has and none of its remotes.
func unfetched(ctx context.Context, g gitcmd.Git, at string, commits map[string]bool) map[string]bool {
	g = pinned(g.In(at), at)
	var args []string
	if !exists(filepath.Join(at, ".git")) {
		args = []string{"--git-dir=" + at, "-c", "core.worktree=" + at}
	}
	found := map[string]bool{}
	for commit := range commits {
		out, err := g.Ask(ctx, append(slices.Clone(args), "rev-list", "-n", "1", commit, "--not", "--remotes", "--")...)
		if err == nil && len(out) > 0 {
			found[commit] = true
		}
	}
	return found
}
