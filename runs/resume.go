package runs

import (
	"aiflow/internal/fault"
)

// Mode is how a person asks a stopped run to go on (D34).
type Mode string

// The three modes of D34.
const (
	ModeResume    Mode = "resume"
	ModeRetryStep Mode = "retry_step"
	ModeReplan    Mode = "replan"
)

// Ask is the question: go on with this run, how?
type Ask struct {
	Mode  Mode   // "" is resume
	Step  string // target_step_id
	Force bool
	Live  bool // somebody holds the request lock and lives
}

// Bounds are the retry limits of D34.
type Bounds struct {
	RoleTries   int // tries of one role per execution of a step
	StepRetries int // retries of one step
}

// DefaultBounds are D34's figures.
func DefaultBounds() Bounds { return Bounds{RoleTries: 2, StepRetries: 3} }

// Point is where the run goes on, and on what.
type Point struct {
	Mode   Mode  // what is really done
	State  State // the state to move to
	StepID string
	Index  int

	// NewRun: nothing goes on here; a new run takes over (both are linked).
	NewRun bool
	// Reset: keep what the workspace holds as a failed attempt, then put it back
	// to the start of the step.
	Reset bool
	// TakeChanges: a workspace that differs from its HEAD and from the recorded
	// attempt is the person's fix: check, test and commit it (TESTING). Without
	// it such a workspace is WORKTREE_DIRTY.
	TakeChanges bool
}

// Recommended is D34's table 6.2: the mode that helps for a reason code. ""
// means that there is nothing to do but wait.
func Recommended(code fault.Code) Mode {
	switch code {
	case fault.RunInProgress, fault.QueueInProgress:
		return ""
	case fault.JSONParseError, fault.JSONSchemaInvalid, fault.UnitTestFailed, fault.E2ETestFailed,
		fault.PatchApplyFailed, fault.AgentTimeout, fault.ForbiddenPathTouched:
		return ModeRetryStep
	case fault.StepTooLarge, fault.RetryLimitExceeded, fault.ReplanRequired:
		return ModeReplan
	}
	return ModeResume
}

// Resume decides where a run goes on. It looks at nothing but its arguments:
// doctor, locks and the workspace are the caller's.
func Resume(s *Stage, p *Plan, a Ask, b Bounds) (Point, error) {
	if a.Mode == "" {
		a.Mode = ModeResume
	}
	if err := refuse(s, a); err != nil {
		return Point{}, err
	}
	if a.Mode == ModeReplan {
		return Point{Mode: ModeReplan, State: Init, NewRun: true}, nil
	}
	if p == nil && !s.begun() {
		return Point{Mode: a.Mode, State: Planning}, nil
	}
	if p == nil || !s.follows(p) {
		return Point{}, refusal(s, fault.ReplanRequired, "plan_lost")
	}
	i, err := target(s, a)
	if err != nil {
		return Point{}, err
	}
	if !a.Force {
		if err := limits(s, i, a, b); err != nil {
			return Point{}, err
		}
	}
	return point(s, i, a), nil
}

func refuse(s *Stage, a Ask) error {
	about := func(code fault.Code, reason string) error {
		return fault.New(code, "request_id", s.RequestID, "run_id", s.RunID, "reason", reason)
	}
	switch {
	case a.Mode != ModeResume && a.Mode != ModeRetryStep && a.Mode != ModeReplan:
		return fault.New(fault.UsageError, "key", "mode", "value", a.Mode, "allowed", "resume, retry_step, replan")
	case a.Live:
		return about(fault.RunInProgress, "live")
	case s.State == Done:
		return about(fault.NothingToDo, "done")
	case s.ReplacedBy != "":
		return fault.New(fault.NothingToDo, "request_id", s.RequestID, "run_id", s.ReplacedBy, "reason", "replaced")
	}
	return nil
}

// begun reports whether work for any step was started.
func (s *Stage) begun() bool {
	for i := range s.Steps {
		if s.Steps[i].Attempt > 0 || s.Steps[i].Status.Settled() {
			return true
		}
	}
	return false
}

// target is the index of the step to go on with: the first one that is not
// settled. len(s.Steps) means that all are; only reporting is left.
func target(s *Stage, a Ask) (int, error) {
	next := len(s.Steps)
	for i := range s.Steps {
		if !s.Steps[i].Status.Settled() {
			next = i
			break
		}
	}
	if a.Step == "" {
		return next, nil
	}
	if next < len(s.Steps) && s.Steps[next].StepID == a.Step {
		return next, nil
	}
	allowed := ""
	if next < len(s.Steps) {
		allowed = s.Steps[next].StepID
	}
	return 0, fault.New(fault.UsageError, "key", "step", "value", a.Step, "allowed", allowed, "run_id", s.RunID)
}

// limits refuses what has been tried often enough: STEP_TOO_LARGE, the same
// step stopped twice running for the same reason, too many retries.
func limits(s *Stage, i int, a Ask, b Bounds) error {
	code := fault.Code(s.ReasonCode())
	if s.State.Ended() && code == fault.StepTooLarge && a.Mode == ModeResume {
		return refusal(s, fault.ReplanRequired, string(code))
	}
	if s.State.Ended() && sameTwice(s) {
		return refusal(s, fault.ReplanRequired, string(code))
	}
	if i >= len(s.Steps) || !s.State.Ended() {
		return nil
	}
	if s.Steps[i].Attempt > b.StepRetries && point(s, i, a).Reset {
		e := refusal(s, fault.RetryLimitExceeded, string(code))
		e.Facts["allowed"] = fault.New("", "n", b.StepRetries).Facts["n"]
		e.Facts["name"] = s.Steps[i].StepID
		return e
	}
	return nil
}

func refusal(s *Stage, code fault.Code, reason string) *fault.Error {
	return fault.New(code, "request_id", s.RequestID, "run_id", s.RunID, "reason", reason, "id", s.CurrentStepID)
}

// sameTwice reports whether the last two stops were at the same step for the
// same reason. Reasons that another plan cannot mend do not count.
func sameTwice(s *Stage) bool {
	var last *Event
	for i := len(s.History) - 1; i >= 0; i-- {
		e := &s.History[i]
		if e.Event != EventNeedsInput && e.Event != EventFailed {
			continue
		}
		if last == nil {
			last = e
			continue
		}
		return e.StepID == last.StepID && e.ReasonCode == last.ReasonCode && planCanMend(fault.Code(e.ReasonCode))
	}
	return false
}

func planCanMend(code fault.Code) bool {
	switch code {
	case fault.WorktreeDirty, fault.Interrupted, fault.LockLost, fault.RunInProgress, fault.QueueInProgress,
		fault.LockHeld, fault.NeedsClarification, fault.ACTooFew, fault.StageWriteFailed, fault.GitPushFailed:
		return false
	}
	return code != "" && code.Info().Category != fault.Environment
}

// point is D34's section 6 for a run that may go on at step i.
func point(s *Stage, i int, a Ask) Point {
	if i >= len(s.Steps) {
		return Point{Mode: ModeResume, State: Reporting, Index: len(s.Steps) - 1, StepID: s.Steps[len(s.Steps)-1].StepID}
	}
	at := Point{Mode: a.Mode, State: Implementing, Index: i, StepID: s.Steps[i].StepID, TakeChanges: a.Force}
	started := s.Steps[i].Attempt > 0
	if a.Mode == ModeResume && started && resumesAtTests(s) {
		at.State, at.TakeChanges = Testing, true
		return at
	}
	at.Reset = started
	if started && s.State.Ended() && Recommended(fault.Code(s.ReasonCode())) == ModeRetryStep {
		at.Mode = ModeRetryStep
	}
	if a.Mode == ModeRetryStep {
		at.TakeChanges = true // kept as the failed attempt, then put back
	}
	return at
}

// resumesAtTests reports whether the step's work is there and only its checks,
// tests or commit are left.
func resumesAtTests(s *Stage) bool {
	if !s.State.Ended() {
		return s.State == Testing
	}
	switch fault.Code(s.ReasonCode()) {
	case fault.UnitTestFailed, fault.E2ETestFailed, fault.StaticCheckFailed, fault.TestTimeout,
		fault.TestCommandNotFound, fault.E2ERequired, fault.GitCommitFailed, fault.StepTooLarge:
		return true
	}
	return false
}
