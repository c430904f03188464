package runs

import (
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
)

// Mode is how a person asks a stopped run to go on (D34).
type Mode = fault.Mode

// The three modes of D34.
const (
	ModeResume    = fault.ModeResume
	ModeRetryStep = fault.ModeRetryStep
	ModeReplan    = fault.ModeReplan
)

// Ask is the question: go on with this run, how?
type Ask struct {
	Mode  Mode   // "" is resume
	Step  string // target_step_id
	Force bool
}

// Point is where the run goes on, and on what.
type Point struct {
	State  State // the state to move to
	StepID string
	Index  int

	// NewRun: nothing goes on here; a new run takes over (both are linked).
	NewRun bool
	// Back: the step is an earlier one; what was committed since is set aside.
	Back bool
	// Reset: keep what the workspace holds as a failed attempt, then put it back
	// to the start of the step.
	Reset bool
	// Changed says what a workspace means that equals neither its HEAD nor the
	// recorded attempt.
	Changed Changed
}

// Changed is what to do with a workspace that somebody changed.
type Changed int

// The three answers.
const (
	ChangedRefuse  Changed = iota // WORKTREE_DIRTY
	ChangedTake                   // the person's fix: move to TESTING, check, test and commit it
	ChangedDiscard                // keep it as a failed attempt, then put back
)

// Recommended is D34's table 6.2: the mode that helps for a reason code. ""
// means that there is nothing to do but wait.
func Recommended(code fault.Code) Mode {
	switch code {
	case fault.RunInProgress, fault.QueueInProgress:
		return ""
	case fault.JSONParseError, fault.JSONSchemaInvalid, fault.UnitTestFailed, fault.E2ETestFailed,
		fault.PatchApplyFailed, fault.AgentTimeout, fault.AgentSilent, fault.NothingChanged:
		return ModeRetryStep
	case fault.StepTooLarge, fault.ForbiddenPathTouched, fault.GHDependencyDetected, fault.RetryLimitExceeded, fault.ReplanRequired:
		return ModeReplan
	}
	return ModeResume
}

// Resume decides where a run goes on. It looks at nothing but its arguments:
// doctor, locks and the workspace are the caller's. retries is how often one step may be
// tried again.
func Resume(s *Stage, p *Plan, a Ask, retries int) (Point, error) {
	if a.Mode == "" {
		a.Mode = ModeResume
	}
	if err := refuse(s, a); err != nil {
		return Point{}, err
	}
	if a.Mode == ModeReplan {
		return Point{State: Init, NewRun: true}, nil
	}
	if planned := p != nil && len(p.Steps) > 0 && matchesPlan(s, p); !planned {
		if slices.ContainsFunc(s.Steps, func(p Step) bool { return p.Attempt > 0 || p.Status.Settled() }) { // work was begun
			return Point{}, fault.New(fault.ReplanRequired, "request_id", s.RequestID, "run_id", s.RunID, "reason", "plan_lost", "id", s.CurrentStepID)
		}
		return Point{State: Planning}, nil
	}
	i, err := target(s, a)
	if err != nil {
		return Point{}, err
	}
	if !a.Force && i == s.next() {
		if err := limits(s, i, a, retries); err != nil {
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
	case s.DroppedAt != nil:
		return about(fault.NothingToDo, "dropped")
	case s.State == Done:
		return about(fault.NothingToDo, "done")
	case s.ReplacedBy != "":
		return fault.New(fault.NothingToDo, "request_id", s.RequestID, "run_id", s.ReplacedBy, "reason", "replaced")
	case s.RestackStopped() && a.Mode != ModeReplan:
		return &fault.Error{Code: fault.StackConflict, Facts: s.Error.Meta}
	}
	return nil
}

// next is the index of the first step that is not settled. len(s.Steps) means
// that all are; only reporting is left.
func (s *Stage) next() int {
	for i := range s.Steps {
		if !s.Steps[i].Status.Settled() {
			return i
		}
	}
	return len(s.Steps)
}

// target is the index of the step to go on with: the next one, or an earlier one
// that is to be done again.
func target(s *Stage, a Ask) (int, error) {
	next := s.next()
	if a.Step == "" {
		return next, nil
	}
	reason, i := "unknown", s.Index(a.Step)
	switch {
	case i >= 0 && i < next && s.HasEvent(EventPushed):
		reason = "pushed"
	case i >= 0 && i <= next:
		return i, nil
	case i >= 0:
		reason = "not_reached"
	}
	var allowed []string
	for _, step := range s.Steps[:min(next+1, len(s.Steps))] {
		allowed = append(allowed, step.StepID)
	}
	return 0, fault.New(fault.StepNotAvailable, "request_id", s.RequestID, "run_id", s.RunID, "id", a.Step, "reason", reason, "allowed", strings.Join(allowed, ", "))
}

// Earlier are the steps that a person can go back to.
func (s *Stage) Earlier() []string {
	ids := []string{}
	if refuse(s, Ask{Mode: ModeResume}) != nil || s.HasEvent(EventPushed) {
		return ids
	}
	for _, step := range s.Steps[:s.next()] {
		ids = append(ids, step.StepID)
	}
	return ids
}

// limits refuses what has been tried often enough: STEP_TOO_LARGE, the same
// step stopped twice running for the same reason, too many retries.
func limits(s *Stage, i int, a Ask, most int) error {
	if !s.State.Ended() {
		return nil
	}
	code := stopReason(s)
	switch {
	case code == fault.StepTooLarge:
		return refusal(s, fault.ReplanRequired, string(code))
	case stoppedTwice(s):
		e := refusal(s, fault.ReplanRequired, string(code))
		e.Facts["cause_key"] = "why.replan_required_again"
		return e
	}
	if i < len(s.Steps) && retries(s, s.Steps[i].StepID) >= most && point(s, i, a).Reset {
		e := refusal(s, fault.RetryLimitExceeded, string(code))
		e.Facts["allowed"] = strconv.Itoa(most)
		e.Facts["name"] = s.Steps[i].StepID
		return e
	}
	return nil
}

// retries counts how often a step was begun again after it had stopped.
// Interruptions do not count, nor what was before the run went back to an earlier
// step: that is another go, which a person asked for.
func retries(s *Stage, stepID string) int {
	n, stopped := 0, false
	for _, e := range s.History {
		switch {
		case e.Event == EventWentBack:
			n, stopped = 0, false
		case e.StepID != stepID:
		case isStop(e):
			stopped = true
		case e.Event == EventStepStart && stopped:
			n++
			stopped = false
		}
	}
	return n
}

// isStop: the work stopped for a reason of its own. A stop at the gate (doctor,
// a lock, a dirty workspace) says nothing about the work.
func isStop(e Event) bool {
	return (e.Event == EventNeedsInput || e.Event == EventFailed) && !isGateRefusal(fault.Code(e.ReasonCode))
}

// refusal is a limit that force can go beyond; the fact says how.
func refusal(s *Stage, code fault.Code, reason string) *fault.Error {
	return fault.New(code, "request_id", s.RequestID, "run_id", s.RunID, "reason", reason, "id", s.CurrentStepID, "force", "--force")
}

// stops are the stops of the run since it last went back to an earlier step, newest
// first.
func stops(s *Stage) []Event {
	var list []Event
	for _, e := range slices.Backward(s.History) {
		if e.Event == EventWentBack {
			break
		}
		if isStop(e) {
			list = append(list, e)
		}
	}
	return list
}

// stopReason is why the work stopped, even when a later try to go on was
// stopped at the gate for another reason.
func stopReason(s *Stage) fault.Code {
	for _, e := range slices.Backward(s.History) {
		if e.Event == EventStepStart {
			break
		}
		if isStop(e) {
			return fault.Code(e.ReasonCode)
		}
	}
	return fault.Code(s.ReasonCode())
}

// stoppedTwice: the last two stops are of one step and for one reason, which another plan
// could mend.
func stoppedTwice(s *Stage) bool {
	list := stops(s)
	if len(list) < 2 || list[0].StepID != list[1].StepID || list[0].ReasonCode != list[1].ReasonCode {
		return false
	}
	var facts map[string]string
	if step := s.Current(); step != nil && step.Error != nil {
		facts = step.Error.Meta
	}
	return replanHelps(fault.Code(list[0].ReasonCode), facts)
}

func isGateRefusal(code fault.Code) bool {
	switch code {
	case fault.DoctorFailed, fault.WorktreeDirty, fault.RunInProgress, fault.QueueInProgress, fault.LockHeld,
		fault.LockUnreadable, fault.ReplanRequired, fault.StepLimitReached, fault.BudgetExhausted:
		return true
	}
	return false
}

// replanHelps reports whether another plan may help; for what it cannot help
// nobody is sent to make one.
func replanHelps(code fault.Code, facts map[string]string) bool {
	if status := facts["exit_status"]; status == "126" || status == "127" {
		return false // the shell's word for a program that is missing or cannot be started
	}
	if code.OfProvider() {
		return false
	}
	switch code {
	case fault.Interrupted, fault.LockLost, fault.NeedsClarification, fault.ACTooFew, fault.StageWriteFailed,
		fault.GitPushFailed, fault.GitTimeout, fault.RunnerDied, fault.TestCommandNotFound, fault.NothingChanged:
		return false
	}
	category := code.Info().Category
	return code != "" && category != fault.Environment && category != fault.Input
}

// point is D34's section 6 for a run that may go on at step i.
func point(s *Stage, i int, a Ask) Point {
	if i >= len(s.Steps) {
		return Point{State: Reporting, Index: len(s.Steps) - 1, StepID: s.Steps[len(s.Steps)-1].StepID}
	}
	at := Point{State: Implementing, Index: i, StepID: s.Steps[i].StepID, Changed: changed(a)}
	if i < s.next() {
		at.Back, at.Reset = true, true
		return at
	}
	started := s.Steps[i].Attempt > 0
	if a.Mode == ModeResume && started && resumesAtTests(s) {
		at.State, at.Changed = Testing, ChangedTake
		return at
	}
	at.Reset = started
	return at
}

func changed(a Ask) Changed {
	switch {
	case !a.Force:
		return ChangedRefuse
	case a.Mode == ModeRetryStep:
		return ChangedDiscard
	}
	return ChangedTake
}

// resumesAtTests reports whether the step's work is there and only its checks,
// tests or commit are left.
func resumesAtTests(s *Stage) bool {
	if !s.State.Ended() {
		return s.State == Testing
	}
	switch stopReason(s) {
	case fault.UnitTestFailed, fault.E2ETestFailed, fault.StaticCheckFailed, fault.QARejected, fault.TestTimeout,
		fault.TestCommandNotFound, fault.E2ERequired, fault.GitCommitFailed, fault.StepTooLarge:
		return true
	case fault.DiskFull, fault.PathNotWritable, fault.GitTimeout, fault.GitCommandFailed,
		fault.RetryLimitExceeded, fault.JSONParseError, fault.JSONSchemaInvalid, fault.CLINotAvailable, fault.CLIAuthRequired, fault.CLINotTrusted,
		fault.ModelNotFound, fault.ContextTooLong, fault.BudgetExhausted, fault.ToolDenied, fault.AgentTimeout, fault.AgentSilent, fault.ProcessCrashed, fault.NeedsClarification:
		return s.Current() != nil && s.Current().Implemented // what stopped came after the work: qa
	}
	return false
}
