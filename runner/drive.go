package runner

import (
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// drive does a part of a run and records how it ended: done, stopped for a
// reason, interrupted, or cut off from its lock.
func (j *job) drive(ctx context.Context, part func(context.Context) error) (Outcome, error) {
	if j.opts.Begun != nil {
		j.opts.Begun(j.req.ID, j.stage.RunID)
	}
	j.callsBefore = len(j.stage.Attempts.Calls)
	j.noteStart()
	j.noteUnread()
	defer j.noteEnd()
	err := part(ctx)
	out := Outcome{RequestID: j.req.ID, RunID: j.stage.RunID, RunPath: j.dir.Rel, Stage: j.stage, Err: err}
	after, end := j.afterwards(ctx)
	defer end()
	switch {
	case err == nil:
	case j.recorded:
		j.tell(Event{Kind: Warned, What: j.inWords(err)})
		out.Err = nil
	case fault.Has(err, fault.LockLost):
		// Somebody else may own the run now: nothing shared is written.
	case fault.CodeOf(err).Waits() || fault.Has(err, fault.Interrupted) || ctx.Err() != nil || errors.Is(err, context.Canceled):
		out.Err = j.interrupted(err)
	case j.stage.State == runs.Done:
		out.Stage = j.asRecorded()
	default:
		out.Err = j.stop(after, err)
	}
	return out, nil
}

// keepTime is how long what a stopped run leaves may take to be kept.
const keepTime = time.Minute

// afterwards is the context of what is still done when ctx has ended. It ends
// keepTime later, and at once when somebody is in a hurry.
func (r *Runner) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-after.Done():
		case <-r.Hurry:
		case <-time.After(keepTime):
		}
		cancel()
	})
	return after, cancel
}

// asRecorded is the run as its record says when the end of it could not be
// written: the next command for the request finds it and finishes it.
func (j *job) asRecorded() *runs.Stage {
	if st, err := j.dir.LoadStage(); err == nil {
		return st
	}
	return j.stage
}

// interrupted leaves the run in the state it is in: it is found and resumed by
// the next command for its request. So is one whose provider has to be waited for.
func (j *job) interrupted(cause error) error {
	if err := j.leaving(); err != nil {
		return err
	}
	waits, putOff := fault.As(cause)
	if putOff = putOff && waits.Code.Waits(); !putOff {
		cause = interruptionOf(cause)
	}
	j.nameRun(cause)
	if os.Remove(stopMark(j.dir)) == nil {
		j.stage.AddEvent(j.Project.Now(), runs.EventStopRequested, j.stage.CurrentStepID, "")
	}
	if putOff {
		j.stage.PutOff(j.Project.Now(), waits)
	} else {
		j.stage.AddEvent(j.Project.Now(), runs.EventInterrupted, j.stage.CurrentStepID, fault.Interrupted)
	}
	j.stage.Agent, j.stage.Boot = nil, ""
	j.stage.LeaveLocks()
	err := j.dir.SaveStage(j.stage)
	if err == nil {
		err = j.unlessGone(j.Project.RestoreRequest(j.req, j.stage))
	}
	if err == nil {
		err = j.renderReport()
	}
	if err != nil {
		j.tell(Event{Kind: Warned, What: j.inWords(err)})
	}
	return &fault.Advised{Err: cause, Advice: j.advice(context.Background())}
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

// stop ends the run as NEEDS_INPUT or FAILED: what the step did is kept, and
// the reason, what to do and the evidence are recorded (D57's order).
func (j *job) stop(ctx context.Context, cause error) error {
	j.nameRun(cause)
	if fault.Has(cause, fault.GitTimeout) { // what git waits for may keep it waiting again
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, keepTime)
		defer end()
	}
	at, step := j.stage.State, j.stage.Current()
	evidence := evidenceOf(cause)
	if step != nil && !step.Status.Settled() {
		evidence.LogPaths = step.Logs
		if err := j.keepAttempt(ctx, step); err != nil {
			j.tell(Event{Kind: Warned, What: j.inWords(err)})
		}
		j.noteLeft()
	}
	list, err := j.fail(ctx, cause)
	if err != nil {
		return err
	}
	j.stage.Agent = nil
	j.stage.LeaveLocks()
	j.at("attempt_kept")
	for _, write := range []func() error{
		j.save,
		j.saveReport,
		func() error { return j.saveErrors(runs.NewErrors(j.stage, at, evidence, list)) },
		j.closeReplaced,
		j.restore,
	} {
		if err := write(); err != nil {
			return errors.Join(cause, err)
		}
	}
	j.at("stopped")
	return &fault.Advised{Err: cause, Advice: list}
}

// fail records why the run stops, in words that name what can be done.
func (j *job) fail(ctx context.Context, cause error) ([]fault.Advice, error) {
	if err := j.stage.Fail(j.Project.Now(), runs.NewError(cause, nil)); err != nil {
		return nil, err
	}
	list := j.advice(ctx)
	*j.stage = *j.stage.Reworded(j.Words.Fault, list)
	return list, nil
}

// nameRun puts the run's name into the fault, so that what to type next names
// it too, and is not refused.
func (j *job) nameRun(cause error) {
	if f, ok := fault.As(cause); ok {
		for k, v := range map[string]string{"request_id": j.req.ID, "run_id": j.stage.RunID} {
			if f.Facts[k] == "" {
				f.Facts[k] = v
			}
		}
	}
}

// evidenceOf takes what a fault tells about its command.
func evidenceOf(cause error) runs.Evidence {
	var e runs.Evidence
	f, ok := fault.As(cause)
	if !ok {
		return e
	}
	for _, name := range []string{wholeCommand, "command"} {
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

// keepAttempt saves what a failed or dead attempt left in the workspace as a
// patch and as a commit of its own, out of the way of every branch.
func (j *job) keepAttempt(ctx context.Context, step *runs.Step) error {
	if j.ws == nil {
		return nil
	}
	changes, err := j.ws.Changes(ctx)
	j.left = changes.Files
	if err != nil || changes.Empty() || changes.Tree == step.AttemptTree {
		return err
	}
	if err := j.held(); err != nil {
		return err
	}
	step.AttemptTree = changes.Tree
	n := j.dir.NextAttempt(step.StepID)
	patch, err := j.ws.Patch(ctx)
	if err != nil {
		return err
	}
	name, err := j.dir.SavePatch(step.StepID, n, patch)
	if err != nil {
		return err
	}
	j.stage.Artifacts.Patches = appendOnce(j.stage.Artifacts.Patches, name)
	ref := attemptRef(j.stage.RunID, step.StepID, n)
	if err := j.held(); err != nil {
		return err
	}
	if _, err := j.ws.KeepAttempt(ctx, ref, j.attemptMessage(step, n)); err != nil {
		return err
	}
	j.tell(Event{Kind: AttemptKept, StepID: step.StepID, What: ref, Count: n})
	return nil
}

func attemptRef(runID, stepID string, n int) string {
	return attemptsOf(runID) + "/" + stepID + "/" + strconv.Itoa(n)
}

func (j *job) attemptMessage(step *runs.Step, n int) gitops.CommitMessage {
	m := j.stepMessage(step)
	m.Subject = "aiflow(" + j.req.ID + "): attempt " + strconv.Itoa(n) + " of " + oneLine(step.Title) + " [" + step.StepID + "]"
	return m
}

func (j *job) renderReport() error {
	return j.dir.RenderReport(j.stage, j.plan, j.reportFacts(), j.Words.Text)
}
