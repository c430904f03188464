package stage

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// shellCommand is one command of the project, run in the workspace.
type shellCommand struct {
	text    string // for the shell
	log     string // kind
	role    string // "" is none
	stepID  string
	attempt int
	limit   config.Timeout
	kind    EventKind
	env     map[string]string
	// listen reads an AI command; nil is nobody, and all output goes into the log.
	listen func(log io.Writer, heard func()) *agent.Reader
	silent time.Duration // how long it may say nothing; 0 is for ever
}

// result is how a command ended, with the end of what it said.
type result struct {
	proc.Exit
	tail   string
	log    string // relative to the project
	from   int64  // where in the log this command begins
	took   time.Duration
	said   *agent.Reader // of an AI command
	cut    bool          // its events ended early
	silent bool          // it was ended because it said nothing
}

// errSilent ends a command that says nothing.
var errSilent = errors.New("nothing was said for too long")

// runShell runs a command in a process group of its own and records it while it
// runs. Its error is about the toolkit; the command's own failure is a result.
func runShell(ctx context.Context, run *Run, c shellCommand) (result, error) {
	res, err := runCommand(ctx, run, c, []string{agent.Shell, "-c", c.text}, nil)
	if err != nil {
		return res, err
	}
	return res, forbiddenInLog(run, res)
}

func runCommand(ctx context.Context, run *Run, c shellCommand, argv []string, stdin io.Reader) (result, error) {
	if err := run.MayWrite(); err != nil {
		return result{}, err
	}
	env, err := environment(run, c)
	if err != nil {
		return result{}, err
	}
	file, err := run.Dir.OpenLog(c.log, c.stepID, c.attempt)
	if err != nil {
		return result{}, fault.Wrap(err, fault.StageWriteFailed, "path", run.Dir.RelPath(runs.LogName(c.log, c.stepID, c.attempt)))
	}
	defer file.Close()
	run.Tell(Event{Kind: c.kind, StepID: c.stepID, Step: run.Stage.CurrentStepIndex + 1, What: agent.Shown(c.text)})
	began := run.Project.Env.Clock.Boot()
	res := result{log: run.Dir.RelPath(runs.LogName(c.log, c.stepID, c.attempt)), from: sizeOf(file)}
	if s := run.Stage.Step(c.stepID); s != nil {
		s.Logs = appendOnce(s.Logs, res.log)
	}
	settings := run.Repo.ConfigFile()
	names, _ := run.Repo.OwnNames(ctx) // where git cannot say, nothing is told
	out, end := agent.Output(file)
	stdout, stderr := io.Writer(out), io.Writer(out)
	at, hang := context.WithCancelCause(ctx)
	defer hang(nil)
	heard := func() {}
	if c.silent > 0 {
		watch := time.AfterFunc(c.silent, func() { hang(errSilent) })
		defer watch.Stop()
		heard = func() { watch.Reset(c.silent) }
	}
	if c.listen != nil {
		res.said = c.listen(out, heard)
		stdout, stderr = res.said, res.said.Stderr()
	}
	res.Exit, err = proc.Run(at, proc.Command{
		Argv: argv, Dir: run.workDir(), Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Timeout: seconds(c.limit.Sec), Grace: agent.Grace, Hurry: run.Hurry, Started: run.noteAgent,
	})
	res.silent = ctx.Err() == nil && context.Cause(at) == errSilent
	if res.said != nil {
		res.cut = res.said.Close()
	}
	_ = out.Close()
	res.took = run.Project.Env.Clock.Boot() - began
	res.tail = end.String()
	run.Stage.Agent = nil
	if run.Workspace != nil {
		// Of a git that was killed, in the run's own worktree and branch: all processes of
		// the command have ended, and nobody else writes there.
		_, _ = run.Workspace.ClearStaleLocks() // should one stay, git says so
		run.Repo.ClearBranchLock(run.Stage.Git.WorkBranch)
	}
	if res.Leftover > 0 {
		run.Tell(Event{Kind: StraysEnded, StepID: c.stepID, Count: res.Leftover})
	}
	noteSettings(ctx, run, c.stepID, settings)
	noteNames(ctx, run, c.stepID, names)
	if ctx.Err() != nil {
		return res, context.Cause(ctx)
	}
	if err != nil {
		return res, noCommand(err, argv[0])
	}
	return res, forbiddenCall(run, res.log)
}

func sizeOf(f *os.File) int64 {
	fi, err := f.Stat()
	if err != nil {
		return 0
	}
	return fi.Size()
}

func noCommand(err error, command string, more ...any) error {
	return fault.Wrap(err, fault.CLINotAvailable, append(more, "command", command)...)
}

// noteAgent records who runs now, so that a later command can end it should
// this one die. A record that cannot be written does not stop the command.
func (run *Run) noteAgent(pid int, start uint64) {
	run.Stage.Agent = &runs.Agent{PID: pid, PIDStart: start, BootID: run.Lease.Record().BootID}
	_ = run.Save()
}

// noteSettings tells of git's configuration that a command changed: it is the
// checkout's too, and no branch holds it.
func noteSettings(ctx context.Context, run *Run, stepID string, before []byte) {
	changed, put, err := run.Repo.ChangedSettings(ctx, before)
	if err != nil {
		run.Tell(Event{Kind: Warned, StepID: stepID, What: run.InWords(err)})
	}
	for _, told := range []struct {
		key   string
		names []string
	}{{"work.note_settings", changed}, {"work.note_settings_back", put}} {
		if len(told.names) == 0 {
			continue
		}
		noteOf(run, stepID, run.Words.Text(told.key, fault.Facts{"names": strings.Join(told.names, ", ")}))
	}
}

func noteOf(run *Run, stepID, text string) {
	if s := run.Stage.Step(stepID); s != nil {
		run.NoteText(s, text)
	} else {
		run.Tell(Event{Kind: Warned, What: text})
	}
}

// noteNames tells of branches, tags and stashes of the person that went while a
// command ran, and of replacements that came, which git shows everywhere. Nobody knows
// whether it was the command, so nothing is put back: what they stood for is kept, and the
// command that makes them again is told.
func noteNames(ctx context.Context, run *Run, stepID string, before []gitops.Name) {
	ctx = context.WithoutCancel(ctx)
	after, err := run.Repo.OwnNames(ctx)
	if before == nil || err != nil {
		return
	}
	made := gitops.Lost(after, before)
	for _, n := range gitops.Lost(before, after) {
		if name := n.RenamedTo(made); name != "" {
			back := "git branch -m " + proc.Word(name) + " " + proc.Word(n.Short())
			noteOf(run, stepID, run.Words.Text("work.note_name_renamed", fault.Facts{"name": n.Short(), "found": name, "command": back}))
			continue
		}
		if err := run.Repo.KeepCommit(ctx, runs.LostBy(run.Stage.RunID)+"/"+n.Commit, n.Commit); err != nil {
			run.Tell(Event{Kind: Warned, StepID: stepID, What: run.InWords(err)})
		}
		key := "work.note_name_gone"
		if n.IsStash() {
			key = "work.note_stash_gone"
		}
		noteOf(run, stepID, run.Words.Text(key, fault.Facts{"name": n.Short(), "command": n.Back()}))
	}
	for _, n := range made {
		switch {
		case n.IsStash():
			noteOf(run, stepID, run.Words.Text("work.note_stash_made", fault.Facts{"name": n.Short()}))
		case n.IsReplacement():
			noteOf(run, stepID, run.Words.Text("work.note_replaced", fault.Facts{"name": n.Short(), "command": "git replace -d " + n.Short()}))
		}
	}
}
