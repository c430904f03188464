package land

import (
	"context"
	"os"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// checkOut puts the workspace to a commit, and makes it where there is none.
func (s *landing) checkOut(ctx context.Context, commit string) error {
	if s.ws != nil && s.cleanAt == commit {
		return nil
	}
	if s.ws != nil {
		err := s.ws.Restart(ctx, commit)
		s.cleanAt = commit
		return err
	}
	turn, err := s.Project.Locks().Acquire(ctx, locks.Named("worktrees"), locks.Ask{Wait: time.Minute}) // git makes one at a time
	if err != nil {
		return err
	}
	defer func() { _ = turn.Release() }()
	s.ws, err = s.repo.Scratch(ctx, s.path(project.LandScratch), commit)
	s.cleanAt = commit
	return err
}

// prepare makes the workspace one in which tests run, as a run's own.
func (s *landing) prepare(ctx context.Context, st *runs.Stage) error {
	cfg := s.Project.Config.Workspace
	if err := s.ws.Link(cfg.Link); err != nil {
		return err
	}
	empty, err := s.ws.EmptySubmodules(ctx)
	if err == nil && len(empty) > 0 && cfg.Submodules {
		err = s.ws.FillSubmodules(ctx)
	}
	if err != nil {
		return err
	}
	if s.ready {
		return nil
	}
	for _, command := range cfg.Setup {
		s.tell(Event{Kind: "setup", What: command})
		exit, facts, err := s.shell(ctx, st, command, s.Project.Config.StepTimeout().Sec)
		if err != nil {
			return err
		}
		if exit.Status != 0 {
			return fault.New(fault.WorkspaceFailed, append(facts, "path", s.ws.Path())...)
		}
	}
	s.ready = true
	return nil
}

// test judges what is in the workspace.
func (s *landing) test(ctx context.Context, st *runs.Stage) error {
	if err := s.prepare(ctx, st); err != nil {
		return err
	}
	kind, t := s.Project.Config.LandTest()
	limit := s.Project.Config.TestTimeout(kind)
	exit, facts, err := s.shell(ctx, st, t.Command, limit.Sec)
	if err != nil {
		return err
	}
	facts = append(append(facts, "request_id", st.RequestID, "run_id", st.RunID, "branch", st.Git.WorkBranch, "into", s.result.Into), limit.Facts()...)
	switch {
	case exit.TimedOut:
		return fault.New(fault.TestTimeout, facts...)
	case exit.NotStarted():
		return fault.New(fault.TestCommandNotFound, append(facts, "key", "tests."+kind+".command")...)
	case exit.Status != 0:
		return fault.New(fault.LandTestFailed, facts...)
	}
	return nil
}

// shell runs a command in the workspace. What it says goes into a log of the run.
func (s *landing) shell(ctx context.Context, st *runs.Stage, command string, seconds int) (proc.Exit, []any, error) {
	file, path, err := newLog(s.Project.Run(st.RequestID, st.RunID))
	if err != nil {
		return proc.Exit{}, nil, err
	}
	defer file.Close()
	out, end := agent.Output(file)
	env := append(agent.CleanEnvironment(s.Project.Env.Environ), s.mark(), "AIFLOW_REQUEST="+st.RequestID, "AIFLOW_ROOT="+s.Project.Dir, "AIFLOW_WORKSPACE="+s.ws.Dir())
	exit, err := proc.Run(ctx, proc.Command{
		Argv: []string{agent.Shell, "-c", command}, Dir: s.ws.Dir(), Env: env, Stdout: out, Stderr: out,
		Timeout: time.Duration(seconds) * time.Second, Grace: agent.Grace, Hurry: s.Hurry,
	})
	_ = out.Close()
	if ctx.Err() != nil {
		return exit, nil, context.Cause(ctx)
	}
	if err != nil {
		return exit, nil, fault.Wrap(err, fault.CLINotAvailable, "command", agent.Shell)
	}
	return exit, append(agent.NamedCommand(command), "exit_status", exit.Status, "output", end.String(),
		"path", path), nil
}

// newLog is the next log of what a landing made of a run.
func newLog(dir *runs.Dir) (file *os.File, path string, err error) {
	n := 1
	for ; ; n++ {
		if _, err := os.Lstat(dir.LogPath(runs.LogLand, "", n)); err != nil {
			break
		}
	}
	file, err = dir.OpenLog(runs.LogLand, "", n)
	return file, dir.RelPath(runs.LogName(runs.LogLand, "", n)), err
}
