package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/runs"
)

// openWorkspace makes the work branch and a worktree on it, and prepares it as
// the configuration says.
func (j *job) openWorkspace(ctx context.Context) error {
	if err := j.makeBranch(ctx); err != nil {
		return err
	}
	j.at("branch")
	if err := j.checkOut(ctx); err != nil {
		return err
	}
	j.at("worktree")
	if err := os.MkdirAll(j.workDir(), 0o777); err != nil { // where the base does not have the project's folder
		return err
	}
	j.tell(Event{Kind: WorkspaceUp, What: j.stage.Git.Workspace})
	if err := j.linkPaths(); err != nil {
		return err
	}
	if err := j.submodules(ctx); err != nil {
		return err
	}
	return j.setUp(ctx)
}

// submodules fills the submodules of a new worktree, which git leaves empty,
// or says that they are.
func (j *job) submodules(ctx context.Context) error {
	if j.inPlace() {
		return nil
	}
	empty, err := j.ws.EmptySubmodules(ctx)
	switch {
	case err != nil || len(empty) == 0:
		return err
	case j.Project.Config.Workspace.Submodules:
		return j.ws.FillSubmodules(ctx)
	}
	j.warn("work.submodules_empty", j.stage, fault.Facts{"names": strings.Join(empty, ", "), "count": strconv.Itoa(len(empty))})
	return nil
}

// makeBranch creates the branch that was recorded; one of that name that is
// not this run's own gets company, not overwritten.
func (j *job) makeBranch(ctx context.Context) error {
	g := &j.stage.Git
	err := j.createBranch(ctx)
	if !errors.Is(err, gitops.ErrBranchExists) {
		return err
	}
	if tip, ok, e := j.repo.BranchTip(ctx, g.WorkBranch); e == nil && ok && tip == g.BaseCommit && j.begunBefore() {
		return nil
	}
	g.WorkBranch += "-" + j.stage.RunID[len(j.stage.RunID)-6:]
	if err := j.save(); err != nil {
		return err
	}
	return j.createBranch(ctx)
}

// begunBefore reports whether an earlier process worked for this run, so that
// a branch of its name is its own.
func (j *job) begunBefore() bool {
	return j.stage.HasEvent(runs.EventInterrupted) || j.stage.HasEvent(runs.EventResumed)
}

// checkOut makes the worktree, one at a time in this project: git's own
// bookkeeping of worktrees is not made for two at once.
func (j *job) checkOut(ctx context.Context) error {
	if j.Project.Config.Git.Workspace == config.WorkspaceInPlace {
		return j.checkOutInPlace(ctx)
	}
	m, err := j.Project.Locks()
	if err != nil {
		return err
	}
	turn, err := m.AcquireNamed(ctx, "worktrees", locks.Ask{RunID: j.stage.RunID, Wait: time.Minute})
	if err != nil {
		return err
	}
	defer release(turn)
	if err := j.held(); err != nil {
		return err
	}
	j.ws, err = j.repo.AddWorktree(ctx, j.workspacePath(), j.stage.Git.WorkBranch, j.keepOrphan())
	return err
}

func (j *job) workspacePath() string { return j.workspacePathOf(j.stage) }

// workDir is the project's folder in the workspace, where its commands run.
func (j *job) workDir() string {
	if j.inPlace() {
		return j.Project.Dir
	}
	return filepath.Join(j.workspacePath(), j.Project.Inside())
}

// linkPaths makes what the configuration names (node_modules, .env) appear in
// the worktree as links to the checkout's own.
func (j *job) linkPaths() error {
	if j.inPlace() {
		return nil
	}
	for _, rel := range j.Project.Config.Workspace.Link {
		to := filepath.Join(j.workDir(), filepath.FromSlash(rel))
		if err := linkPath(j.Project.Path(rel), to, rel); err != nil {
			return fault.Wrap(err, fault.WorkspaceFailed, "path", rel)
		}
	}
	return nil
}

// linkPath also replaces a link of ours that leads to where the project was
// before it was moved.
func linkPath(from, to, rel string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if old, err := os.Readlink(to); err == nil && strings.HasSuffix(filepath.ToSlash(old), "/"+rel) {
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(to)
		}
	}
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.Symlink(from, to)
}

func (j *job) setUp(ctx context.Context) error {
	for _, command := range j.Project.Config.Workspace.Setup {
		res, err := j.shell(ctx, shellCommand{text: command, log: runs.LogSetup, kind: CommandBegun})
		if err != nil {
			return err
		}
		if res.Status != 0 {
			return fault.New(fault.WorkspaceFailed, append(named(command), "path", j.stage.Git.Workspace, "exit_status", res.Status, "output", res.tail)...)
		}
	}
	return j.noteMade(ctx)
}

// noteMade records what of the ignored files the set-up made: it can be made
// again, and need not be kept.
func (j *job) noteMade(ctx context.Context) (err error) {
	if j.inPlace() || len(j.Project.Config.Workspace.Setup) == 0 {
		return nil
	}
	j.stage.Git.Made, err = j.ws.Ignored(ctx)
	return err
}

func (j *job) inPlace() bool { return j.Project.Config.Git.Workspace == config.WorkspaceInPlace }

// openRepo opens the project's repository with the project's names for
// branches and worktrees.
func (r *Runner) openRepo(ctx context.Context) (*gitops.Repo, error) {
	repo, err := gitops.Open(ctx, r.Project.Git(), r.Project.Dir)
	if err != nil {
		return nil, err
	}
	repo.WorktreesDir, repo.WorkPrefix = r.Project.WorktreesDir(), r.Project.Config.Git.WorkBranchPrefix
	return repo, nil
}
