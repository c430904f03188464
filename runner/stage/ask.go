package stage

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runner/agent"
)

// ask puts a question to the primary provider, then to the fallback, as often
// as the limits allow. Only faults of defaults.fallback_on are tried again. One
// that says nothing about the work is no try: that provider is not asked again.
func ask(ctx context.Context, run *Run, q question) error {
	c, err := run.Router()
	if err != nil {
		return err
	}
	named, asked := c.Calls(q.role), q.failure
	calls := availableCalls(run, named)
	tries := max(1, run.Project.Config.Limits.MaxRoleTries)
	var before error
	for try := 0; ; {
		call := c.Turn(calls, try, tries)
		err = tryRole(ctx, run, q, call)
		if f, ok := fault.As(err); ok && f.Code.Waits() && len(named) > 1 {
			f.Facts["named"] = "true" // a fallback is
		}
		if err == nil || ctx.Err() != nil || !c.FallsBackOn(err) {
			return agent.InsteadOf(err, before)
		}
		if agent.GoesElsewhere(err) {
			calls = slices.DeleteFunc(slices.Clone(calls), func(c config.Call) bool { return c.Provider == call.Provider })
			if len(calls) == 0 || try > 0 { // it was to stand in for one that was asked and failed
				return agent.InsteadOf(err, before)
			}
			before = agent.Soonest(before, err)
		} else {
			before = err
			try++
		}
		run.Tell(Event{Kind: RoleFailed, StepID: q.stepID(), What: run.InWords(err)})
		if try == tries {
			return agent.TriesUsedUp(q.role, tries, err)
		}
		if agent.Unusable(err) {
			q.failure = strings.TrimSpace(asked + "\n\n" + run.Words.Text("work.prompt_unusable", fault.Facts{"cause": run.InWords(err)}))
		}
		if q.role == config.RoleImplementer && !q.mending { // others change nothing; mending goes on where it stands
			if err := PutBack(ctx, run, run.Stage.CurrentStepIndex); err != nil {
				return err
			}
		}
	}
}

// tryRole starts one provider once, in the workspace, with the prompt on its
// command line where the router wants it and on its standard input.
func tryRole(ctx context.Context, run *Run, q question, call config.Call) error {
	if q.role == config.RoleImplementer { // what will test its work: the step's own command, else the project's
		if call.Test = q.plan.Test; call.Test == "" && run.Project.Config.Tests.Unit.Enabled {
			call.Test = run.Project.Config.Tests.Unit.Command
		}
	}
	done, err := acquireProvider(ctx, run, q, call)
	if err != nil {
		return err
	}
	defer done()
	ofSession, err := checkBudget(run, &call)
	if err != nil {
		return err
	}
	r := agent.Reply{Call: call, Try: countTry(run, q)}
	at, began := run.Project.Now().UTC(), run.Project.Env.Clock.Boot()
	err = budgetExceeded(run, ofSession, call, callRole(ctx, run, q, &r))
	took := run.Project.Env.Clock.Boot() - began
	run.noteProvider(ctx, call.Provider, err)
	if f, ok := fault.As(err); ok && run.Lost != nil && agent.Lost(f.Code) {
		run.Lost[call.Provider] = f
	}
	if err == nil {
		err = q.accept(ctx, r)
	}
	noteCall(run, q, r, at, took, err)
	logTry(run, q, r, took, err)
	return err
}

func callRole(ctx context.Context, run *Run, q question, r *agent.Reply) error {
	prompt, err := prompt(ctx, run, q, r.Call)
	if err != nil {
		return err
	}
	argv, err := argv(run, r.Call, prompt)
	if err != nil {
		return err
	}
	sc := shellCommand{
		text: r.Call.Role + ": " + r.Call.Provider, log: q.role, role: q.role, stepID: q.stepID(), attempt: r.Try,
		limit: run.roles.CallTimeout(run.Project.Config), kind: RoleBegun, env: r.Call.Command.Env,
		listen: func(log io.Writer, heard func()) *agent.Reader {
			// Programs and people here mean the machine's zone where they name none.
			now := func() time.Time { return run.Project.Now().Local() }
			return agent.New(agent.Options{Kind: r.Call.Command.Output, Log: log, Prompt: prompt, Now: now, Heard: heard})
		},
	}
	if r.Call.Command.Output != config.OutputText {
		sc.silent = seconds(run.Project.Config.Limits.SilentSec)
	}
	file, err := prepareResult(run, sc)
	if err != nil {
		return err
	}
	if err := setConfigAside(ctx, run); err != nil {
		return err
	}
	res, err := runCommand(ctx, run, sc, argv, strings.NewReader(prompt))
	r.Log = res.log
	if res.said != nil {
		r.Usage = res.said.Usage()
	}
	if err != nil {
		return err
	}
	if command := res.said.Refused(); command != "" {
		return forbiddenCommand(command, res.log)
	}
	if err := roleEnded(r.Call, sc, res); err != nil {
		return err
	}
	if s := q.step; res.cut && s != nil {
		run.Note(s, "work.note_stream_cut")
	}
	r.Stdout, r.File = res.said.Text(), agent.ReadResult(file)
	if r.File != "" { // into the log, where people look
		_ = run.Dir.AppendLog(sc.log, sc.stepID, sc.attempt, []byte("\n[AIFLOW_RESULT]\n"+strings.TrimRight(r.File, "\n")+"\n"))
	}
	return forbiddenText(run, agent.Lines(strings.NewReader(r.Text())), res.log)
}

// roleEnded is what went wrong with a call, as far as the program itself tells.
func roleEnded(call config.Call, c shellCommand, res result) error {
	facts := []any{"command", call.Command.Bin, "name", call.Provider, "path", res.log}
	if res.TimedOut {
		return timedOut(c, facts)
	}
	if res.silent {
		limit := config.Timeout{Sec: int(c.silent / time.Second), Key: "limits.silent_sec", File: c.limit.File}
		return fault.New(fault.AgentSilent, append(facts, limit.Facts()...)...)
	}
	p := res.said.Problem(res.Status)
	if p.Code == "" {
		return nil
	}
	f := fault.New(p.Code, append(facts, "exit_status", res.Status, "output", res.tail)...)
	if p.Said != "" {
		f.Facts["said"] = p.Said
	}
	if res.cut {
		f.Facts["cause_key"] = "why.stream_cut"
	}
	if !p.Until.IsZero() {
		f.Facts["until"], f.Facts["at"] = p.Until.UTC().Format(time.RFC3339), p.Until.Local().Format(shownTime)
	}
	return f
}

// maxArgument is below what Linux takes as one argument (128 KiB). A longer
// prompt is on standard input only.
const maxArgument = 120 << 10

// argv is how a provider's program is called.
func argv(run *Run, call config.Call, prompt string) ([]string, error) {
	name := call.Command.Bin
	if slices.Contains(run.roles.Guards.ForbidCommands, filepath.Base(name)) {
		return nil, forbiddenCommand(name, config.RouterFile)
	}
	bin := run.Project.Program(name)
	if bin == "" {
		return nil, noCommand(nil, name, "name", call.Provider)
	}
	if len(prompt) > maxArgument {
		prompt = run.Words.Text("work.prompt_on_stdin", fault.Facts{"path": run.Dir.RequestPath()})
	}
	argv := call.Argv(prompt, run.workDir())
	argv[0] = bin
	return argv, nil
}
