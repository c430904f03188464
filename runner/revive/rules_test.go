package revive

import (
	"strings"
	"testing"

	"aiflow/internal/fault"
	"aiflow/runs"
)

// TestRulesOfResume says where a run of three steps goes on, the first of which is done:
// by its record, by what was asked for, and by whether its workspace was changed since.
func TestRulesOfResume(t *testing.T) {
	const retry, replan = runs.ModeRetryStep, runs.ModeReplan
	for _, c := range []struct {
		name    string
		state   runs.State
		reason  fault.Code // for which it stopped
		mode    runs.Mode  // "" is resume
		force   bool
		step    string // an earlier one
		changed bool   // by a person since it stopped, by a killed command where it did not
		want    string
	}{
		{name: "the runner died before there was a plan", state: runs.Init, want: "begin"},
		{name: "the runner died in a step", state: runs.Implementing, want: "put back, work"},
		{name: "and its command had changed something", state: runs.Implementing, changed: true, want: "put back, work"},
		{name: "the runner died in the tests of a step", state: runs.Testing, want: "test"},
		{name: "the runner died at the report", state: runs.Reporting, want: "finish"},

		{name: "a command failed", state: runs.NeedsInput, reason: fault.StepCommandFailed, want: "say so, put back, work"},
		{name: "and a person mended something", state: runs.NeedsInput, reason: fault.StepCommandFailed, changed: true, want: "WORKTREE_DIRTY"},
		{name: "which is to be taken", state: runs.NeedsInput, reason: fault.StepCommandFailed, changed: true, force: true, want: "test"},
		{name: "which is to be put aside", state: runs.NeedsInput, reason: fault.StepCommandFailed, changed: true, mode: retry, force: true, want: "say so, put back, work"},

		{name: "a test failed", state: runs.NeedsInput, reason: fault.UnitTestFailed, want: "test"},
		{name: "and a person mended it", state: runs.NeedsInput, reason: fault.UnitTestFailed, changed: true, want: "test"},
		{name: "and the step is to be done again", state: runs.NeedsInput, reason: fault.UnitTestFailed, mode: retry, want: "say so, put back, work"},
		{name: "which would take a person's work away", state: runs.NeedsInput, reason: fault.UnitTestFailed, mode: retry, changed: true, want: "WORKTREE_DIRTY"},

		{name: "an earlier step is to be done again", state: runs.NeedsInput, reason: fault.UnitTestFailed, step: "S01", want: "say so, set aside, put back, work"},
		{name: "a later step", state: runs.NeedsInput, reason: fault.UnitTestFailed, step: "S03", want: "STEP_NOT_AVAILABLE"},
		{name: "another plan", state: runs.NeedsInput, reason: fault.UnitTestFailed, mode: replan, want: "a new run"},
		{name: "the step was too large", state: runs.NeedsInput, reason: fault.StepTooLarge, want: "REPLAN_REQUIRED"},
		{name: "which a person allows", state: runs.NeedsInput, reason: fault.StepTooLarge, force: true, want: "test"},
		{name: "done", state: runs.Done, want: "NOTHING_TO_DO"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, plan := ofThree(c.state, c.reason)
			got := outcome(st, plan, runs.Ask{Mode: c.mode, Force: c.force, Step: c.step}, c.changed)
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// outcome is what a run does, in words.
func outcome(st *runs.Stage, plan *runs.Plan, ask runs.Ask, isChanged bool) string {
	at, err := runs.Resume(st, plan, ask, 3)
	switch {
	case err != nil:
		return string(fault.CodeOf(err))
	case at.NewRun:
		return "a new run"
	}
	ended := st.State.Ended()
	if isChanged && at.State == runs.Implementing {
		var ok bool
		if at, ok = pointForChanges(at, ended); !ok {
			return string(fault.WorktreeDirty)
		}
	}
	d := continuationAt(at, ended, !ended, false)
	var words []string
	for _, one := range []struct {
		does bool
		word string
	}{{d.recordsFirst, "say so"}, {d.setsAside, "set aside"}, {d.putsBack, "put back"}, {true, string(d.next)}} {
		if one.does {
			words = append(words, one.word)
		}
	}
	return strings.Join(words, ", ")
}

// ofThree is a run in its second step; before its plan, or behind all of its steps, where
// the state says so.
func ofThree(state runs.State, reason fault.Code) (*runs.Stage, *runs.Plan) {
	st := &runs.Stage{RequestID: "RQ-1", RunID: "RUN-20260105-010203-abcdef", State: state}
	if state == runs.Init {
		return st, nil
	}
	plan := &runs.Plan{}
	for i, status := range []runs.Status{runs.StepDone, runs.StepRunning, runs.StepPending} {
		id := runs.StepID(i + 1)
		if state == runs.Reporting {
			status = runs.StepDone
		}
		attempt := 1
		if status == runs.StepPending {
			attempt = 0
		}
		plan.Steps = append(plan.Steps, runs.PlanStep{StepID: id})
		st.Steps = append(st.Steps, runs.Step{StepID: id, Status: status, Attempt: attempt})
	}
	st.CurrentStepIndex, st.CurrentStepID = 1, "S02"
	if reason != "" {
		st.Error = &runs.ErrorObject{ReasonCode: reason}
	}
	return st, plan
}

// TestTheUsersCheckoutIsNotPutBack: in place nobody knows what is the person's own.
func TestTheUsersCheckoutIsNotPutBack(t *testing.T) {
	at := runs.Point{State: runs.Implementing}
	if continuationAt(at, false, true, true).putsBack || !continuationAt(at, false, true, false).putsBack {
		t.Error("the checkout is put back, or a worktree is not")
	}
}
