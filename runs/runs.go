// Package runs keeps the record of a run: stage.json (where it stands),
// planning.json, errors.json, report.md and logs, all under
// runs/<request-id>/<run-id>/, and decides from the record alone where a
// stopped run goes on.
//
// It does not run anything, does not take locks, does not ask git, and knows
// no clock of its own. Every file is replaced whole; whoever reads it sees the
// old record or the new one.
package runs

import (
	"slices"

	"aiflow/internal/fault"
)

// Version is what we write into stage.json, planning.json and errors.json.
const Version = "1.0"

// State is where a run stands (D34).
type State string

// The eight states of D34.
const (
	Init         State = "INIT"
	Planning     State = "PLANNING"
	Implementing State = "IMPLEMENTING"
	Testing      State = "TESTING"
	Reporting    State = "REPORTING"
	Done         State = "DONE"
	NeedsInput   State = "NEEDS_INPUT"
	Failed       State = "FAILED"
)

// States lists them in the order of a run.
func States() []State {
	return []State{Init, Planning, Implementing, Testing, Reporting, Done, NeedsInput, Failed}
}

// Ended reports whether the run stands still and has said why. A run that is
// not ended and holds no live lock was interrupted.
func (s State) Ended() bool { return s == Done || s == NeedsInput || s == Failed }

func (s State) known() bool { return slices.Contains(States(), s) }

// Status is where a step stands (D56).
type Status string

// The six statuses of D56.
const (
	StepPending    Status = "PENDING"
	StepRunning    Status = "RUNNING"
	StepDone       Status = "DONE"
	StepFailed     Status = "FAILED"
	StepSkipped    Status = "SKIPPED"
	StepNeedsInput Status = "NEEDS_INPUT"
)

// Settled reports whether nothing is left to do for the step.
func (s Status) Settled() bool { return s == StepDone || s == StepSkipped }

// TestStatus is how a test of a step went (D56).
type TestStatus string

// The five test statuses of D56.
const (
	TestNotRun  TestStatus = "NOT_RUN"
	TestRunning TestStatus = "RUNNING"
	TestPass    TestStatus = "PASS"
	TestFail    TestStatus = "FAIL"
	TestSkipped TestStatus = "SKIPPED"
)

// Events of the history.
const (
	EventStarted         = "STARTED"
	EventPlanned         = "PLANNED"
	EventStepStart       = "STEP_START"
	EventStepDone        = "STEP_DONE"
	EventRetry           = "RETRY"
	EventResumed         = "RESUMED"
	EventReplanned       = "REPLANNED"
	EventOldSteps        = "OLD_STEPS_KEPT" // the request has other ones by now
	EventWentBack        = "WENT_BACK"      // to an earlier step; what was committed since is kept aside
	EventWithoutRouter   = "WITHOUT_ROUTER" // the file cannot be used
	EventNeedsInput      = "NEEDS_INPUT"
	EventFailed          = "FAILED"
	EventDone            = "DONE"
	EventInterrupted     = "INTERRUPTED"
	EventStopRequested   = "STOP_REQUESTED"
	EventLockRecovered   = "LOCK_STALE_RECOVERED"
	EventRebuilt         = "RECORD_REBUILT" // from the commits on the run's branch
	EventRecordCommitted = "RECORD_COMMITTED"
	EventPushed          = "PUSHED"
	EventDropped         = "DROPPED"
	EventLanded          = "LANDED"
	EventRestacked       = "RESTACKED" // its commits were moved to where what it depends on is now
	EventMerged          = "MERGED"    // its commits are in HEAD; the request was told once
)

// OutcomeOf says how a run ends for this reason: FAILED only where no answer
// of a person can help inside this run.
func OutcomeOf(code fault.Code) State {
	switch code {
	case fault.InternalError, fault.StageWriteFailed, fault.BaseBranchNotFound,
		fault.BranchCreateFailed, fault.WorkspaceFailed:
		return Failed
	}
	return NeedsInput
}
