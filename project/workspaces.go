package project

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/runs"
)

// What stands in the places of workspaces, as git tells it: without go-git, which
// the programs that start at every commit do not link.

// workspaceChanged is why a run that failed is not begun anew: its workspace holds what a
// person changed since.
func workspaceChanged(ctx context.Context, p *Project, st *runs.Stage) *fault.Error {
	dir := p.Path(p.Workspace(st))
	if st.Git.Workspace == "." || st.Git.Workspace == "" || !isDir(dir) {
		return nil
	}
	g := p.Git()
	g.Dir = dir
	ask := func(args ...string) string {
		out, _ := g.Ask(ctx, args...) // what cannot be asked is told by the run that needs it
		return strings.TrimSpace(string(out))
	}
	if ask("symbolic-ref", "-q", "HEAD") != "refs/heads/"+st.Git.WorkBranch {
		return nil
	}
	changed := func(what ...any) *fault.Error {
		return fault.New(fault.WorktreeDirty, append([]any{
			"path", st.Git.Workspace, "request_id", st.RequestID, "run_id", st.RunID, "workspace", proc.Word(dir),
			"fresh", runs.Fresh(st),
		}, what...)...)
	}
	if tip := ask("rev-parse", "HEAD"); tip != st.Tip() && !strings.Contains(ask("log", "--format=%B", st.Tip()+"..HEAD"), RunTrailer+": "+st.RunID) {
		return changed("commit", term.ShortHash(tip))
	}
	files := ask("status", "--porcelain", "--untracked-files=all")
	if files == "" {
		return nil
	}
	if step := st.Current(); step != nil && step.AttemptTree != "" && differsFrom(ctx, p, dir, step.AttemptTree, "", nil) == "" {
		return nil
	}
	return changed("count", strings.Count(files, "\n")+1)
}

// worktrees are the linked worktrees that git has a record of, and whether
// somebody locked them. Git itself locks those that it is making.
func worktrees(p *Project) map[string]bool {
	found := map[string]bool{}
	dir := filepath.Join(p.CommonDir(), "worktrees")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		link, err := os.ReadFile(filepath.Join(dir, e.Name(), "gitdir"))
		if err != nil {
			continue
		}
		at := filepath.Dir(absFrom(filepath.Join(dir, e.Name()), strings.TrimRight(string(link), "\r\n")))
		why, err := os.ReadFile(filepath.Join(dir, e.Name(), "locked"))
		found[atomicfile.RealPath(at)] = err == nil && string(bytes.TrimSpace(why)) != "initializing"
		here := filepath.Join(p.Path(p.WorktreesDir()), filepath.Base(at))
		if back, _ := gitDirOf(here); filepath.Base(back) == e.Name() && filepath.Base(filepath.Dir(back)) == "worktrees" {
			found[atomicfile.RealPath(here)] = false // moved with the project: it is repaired
		}
	}
	return found
}

// replacedLink: another repository was made where a worktree's .git file was. One that is
// only gone is written again by the run.
func replacedLink(top string) bool {
	link, _ := gitDirOf(top)
	_, err := os.Lstat(filepath.Join(top, ".git"))
	return err == nil && filepath.Base(filepath.Dir(link)) != "worktrees"
}

// workIn is the first file in a folder that git has no record of, and that is
// neither in HEAD nor ignored; "" where a run would take the place.
func workIn(ctx context.Context, p *Project, dir string) string {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		return ""
	}
	return differsFrom(ctx, p, dir, "HEAD", "--diff-filter=d", []string{"GIT_DIR=" + p.CommonDir(), "GIT_WORK_TREE=" + dir})
}

// differsFrom is the first file in a folder that is not as in a tree, and that is not
// ignored; "" is none, and "?" that nobody can say.
func differsFrom(ctx context.Context, p *Project, dir, tree, filter string, env []string) string {
	index, err := os.MkdirTemp("", "aiflow-index-")
	if err != nil {
		return "?"
	}
	defer os.RemoveAll(index)
	g := p.Git()
	g.Dir = dir
	env = append(env, "GIT_INDEX_FILE="+filepath.Join(index, "index"))
	diff := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--name-only", "-z"}
	if filter != "" {
		diff = append(diff, filter)
	}
	for _, args := range [][]string{
		{"read-tree", tree},
		diff,
		{"ls-files", "-o", "--exclude-standard", "-z"},
	} {
		out, err := g.Run(ctx, gitcmd.Call{Args: args, Mode: gitcmd.Write, Env: env})
		if err != nil {
			return "?"
		}
		if name, _, _ := bytes.Cut(out, []byte{0}); len(name) > 0 {
			return string(name)
		}
	}
	return ""
}
