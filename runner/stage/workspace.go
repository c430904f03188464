package stage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// WorkspaceOf is where another run of the request works.
func (run *Run) WorkspaceOf(st *runs.Stage) string {
	return run.Project.Path(run.Project.Workspace(st))
}

// openWorkspace makes the work branch and a worktree on it, and prepares it as
// the configuration says.
func openWorkspace(ctx context.Context, run *Run) error {
	if err := makeBranch(ctx, run); err != nil {
		return err
	}
	run.At("branch")
	if err := CheckOut(ctx, run); err != nil {
		return err
	}
	run.At("worktree")
	if err := os.MkdirAll(run.workDir(), 0o777); err != nil { // where the base does not have the project's folder
		return err
	}
	run.Tell(Event{Kind: WorkspaceUp, What: run.Stage.Git.Workspace})
	if err := LinkPaths(run); err != nil {
		return err
	}
	if err := submodules(ctx, run); err != nil {
		return err
	}
	setup := run.Project.Config.Workspace.Setup
	for _, command := range setup {
		res, err := runShell(ctx, run, shellCommand{text: command, log: runs.LogSetup, kind: CommandBegun})
		if err != nil {
			return err
		}
		if res.Status != 0 {
			return fault.New(fault.WorkspaceFailed, append(agent.NamedCommand(command), "path", run.Stage.Git.Workspace, "exit_status", res.Status, "output", res.tail)...)
		}
	}
	if run.InPlace() || len(setup) == 0 {
		return nil
	}
	made, err := run.Workspace.Ignored(ctx) // what it made can be made again, and need not be kept
	run.Stage.Git.Made = made
	return err
}

// submodules fills the submodules of a new worktree, which git leaves empty,
// or says that they are.
func submodules(ctx context.Context, run *Run) error {
	if run.InPlace() {
		return nil
	}
	empty, err := run.Workspace.EmptySubmodules(ctx)
	switch {
	case err != nil || len(empty) == 0:
		return err
	case run.Project.Config.Workspace.Submodules:
		return whereKept(ctx, run, run.Workspace.FillSubmodules(ctx))
	}
	run.Warn("work.submodules_empty", run.Stage, fault.Facts{"names": strings.Join(empty, ", "), "count": strconv.Itoa(len(empty))})
	return nil
}

// whereKept adds to the error of a submodule without its commit which repository of an
// earlier run has that.
func whereKept(ctx context.Context, run *Run, err error) error {
	f, ok := fault.As(err)
	if !ok || f.Facts["commit"] == "" {
		return err
	}
	p := run.Project
	for st := range p.AllRuns() {
		kept := p.Run(st.RequestID, st.RunID).RelPath(runs.KeptDir + "/" + f.Facts["submodule"])
		if _, e := os.Stat(p.Path(kept)); e != nil {
			continue
		}
		if _, e := p.Git().In(p.Path(kept)).Ask(ctx, "cat-file", "-e", f.Facts["commit"]+"^{commit}"); e == nil {
			f.Facts["kept"] = proc.Word(kept) // of a command
		}
	}
	return err
}

// makeBranch creates the branch that was recorded; one of that name that is
// not this run's own gets company, not overwritten.
func makeBranch(ctx context.Context, run *Run) error {
	g := &run.Stage.Git
	err := run.Repo.CreateBranch(ctx, g.WorkBranch, g.BaseCommit)
	if !errors.Is(err, gitops.ErrBranchExists) {
		return err
	}
	begunBefore := run.Stage.HasEvent(runs.EventInterrupted) || run.Stage.HasEvent(runs.EventResumed)
	if tip, ok, e := run.Repo.BranchTip(ctx, g.WorkBranch); begunBefore && e == nil && ok && tip == g.BaseCommit {
		return nil // an earlier process of this run made it
	}
	g.WorkBranch += "-" + run.Stage.RunID[len(run.Stage.RunID)-6:]
	if err := run.Save(); err != nil {
		return err
	}
	return run.Repo.CreateBranch(ctx, g.WorkBranch, g.BaseCommit)
}

// CheckOut makes the worktree, one at a time in this project: git's own
// bookkeeping of worktrees is not made for two at once.
func CheckOut(ctx context.Context, run *Run) error {
	if run.InPlace() {
		return CheckOutInPlace(ctx, run)
	}
	turn, err := run.Project.Locks().Acquire(ctx, locks.Named("worktrees"), locks.Ask{RunID: run.Stage.RunID, Wait: time.Minute})
	if err != nil {
		return err
	}
	defer turn.Release()
	run.Workspace, err = run.Repo.AddWorktree(ctx, run.WorkspacePath(), run.Stage.Git.WorkBranch, keepOrphan(run))
	return err
}

// WorkspacePath is where this run works.
func (run *Run) WorkspacePath() string { return run.WorkspaceOf(run.Stage) }

// workDir is the project's folder in the workspace, where its commands run.
func (run *Run) workDir() string {
	if run.InPlace() {
		return run.Project.Dir
	}
	return filepath.Join(run.WorkspacePath(), run.Project.Inside())
}

// LinkPaths makes what the configuration names (node_modules, .env) appear in
// the worktree as links to the checkout's own.
func LinkPaths(run *Run) error {
	if run.InPlace() {
		return nil
	}
	return run.Workspace.Link(run.Project.Config.Workspace.Link)
}

// InPlace: the run works in the checkout itself.
func (run *Run) InPlace() bool { return run.Project.Config.Git.Workspace == config.WorkspaceInPlace }
