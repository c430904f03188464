package stage

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"aiflow/internal/fault"
	"aiflow/runs"
)

// recordInterruption leaves the run in the state it is in: it is found and resumed by
// the next command for its request. So is one whose provider has to be waited for.
func recordInterruption(run *Run, cause error) error {
	run.writeGuard.stopping.Store(true)
	if err := run.MayWrite(); err != nil {
		return err
	}
	waits, putOff := fault.As(cause)
	if putOff = putOff && waits.Code.Waits(); !putOff {
		cause = interruptionOf(cause)
	}
	run.NameRun(cause)
	if os.Remove(StopMark(run.Dir)) == nil {
		run.Stage.AddEvent(run.Project.Now(), runs.EventStopRequested, run.Stage.CurrentStepID, "")
	}
	if putOff {
		run.Stage.PutOff(run.Project.Now(), waits)
	} else {
		run.Stage.AddEvent(run.Project.Now(), runs.EventInterrupted, run.Stage.CurrentStepID, fault.Interrupted)
	}
	run.Stage.Agent, run.Stage.Boot = nil, ""
	run.Stage.LeaveLocks()
	err := run.Dir.SaveStage(run.Stage)
	if err == nil {
		err = run.restore()
	}
	if err == nil {
		err = run.saveReport()
	}
	if err != nil {
		run.Tell(Event{Kind: Warned, What: run.InWords(err)})
	}
	return &fault.Advised{Err: cause, Advice: adviceNow(context.Background(), run)}
}

// interruptionOf is an INTERRUPTED of the run's own: the one that it came with
// may be everybody's.
func interruptionOf(cause error) *fault.Error {
	if f, ok := fault.As(cause); ok && f.Code == fault.Interrupted {
		own := &fault.Error{Code: f.Code, Facts: fault.Facts{}, Err: cause}
		maps.Copy(own.Facts, f.Facts)
		return own
	}
	return fault.Wrap(cause, fault.Interrupted)
}

// StopMark is the file by which a person's wish to stop a run is told from a signal.
func StopMark(d *runs.Dir) string { return filepath.Join(d.Path, "stop.requested") }

// recordStop ends the run as NEEDS_INPUT or FAILED: what the step did is kept, and
// the reason, what to do and the evidence are recorded (D57's order).
func recordStop(ctx context.Context, run *Run, cause error) error {
	run.NameRun(cause)
	if fault.Has(cause, fault.GitTimeout) { // what git waits for may keep it waiting again
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, keepTime)
		defer end()
	}
	at, step := run.Stage.State, run.Stage.Current()
	evidence := evidenceOf(cause)
	if step != nil && !step.Status.Settled() {
		evidence.LogPaths = step.Logs
		if err := KeepAttempt(ctx, run, step); err != nil {
			run.Tell(Event{Kind: Warned, What: run.InWords(err)})
		}
		noteLeft(run)
	}
	if err := run.Stage.Fail(run.Project.Now(), runs.NewError(cause)); err != nil {
		return err
	}
	list := adviceNow(ctx, run)
	*run.Stage = *run.Stage.Reworded(run.Words.Fault, list) // in words that name what can be done
	run.Stage.Agent = nil
	run.Stage.LeaveLocks()
	run.At("attempt_kept")
	if err := run.Save(); err != nil { // it still stands at its last recorded point, and goes on there
		run.Tell(Event{Kind: Warned, What: run.InWords(cause)})
		run.NameRun(err)
		return errors.Join(err, cause)
	}
	for _, write := range []func() error{
		run.saveReport,
		func() error { return run.Dir.SaveErrors(runs.NewErrors(run.Stage, at, evidence, list)) },
		func() error { return closeReplaced(run) },
		run.restore,
	} {
		if err := write(); err != nil {
			return errors.Join(cause, err)
		}
	}
	run.At("stopped")
	return &fault.Advised{Err: cause, Advice: list}
}

// evidenceOf takes what a fault tells about its command.
func evidenceOf(cause error) runs.Evidence {
	var e runs.Evidence
	f, ok := fault.As(cause)
	if !ok {
		return e
	}
	for _, name := range []string{fault.WholeCommandFact, "command"} {
		if v, ok := f.Facts[name]; ok {
			e.Command = &v
			break
		}
	}
	if v, ok := f.Facts["output"]; ok {
		e.StderrSnippet = &v
	}
	if n, err := strconv.Atoi(f.Facts["exit_status"]); err == nil {
		e.ExitCode = &n
	}
	return e
}
