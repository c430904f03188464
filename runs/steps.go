package runs

import (
	"slices"
	"time"

	"aiflow/internal/fault"
)

// AddEvent writes a line of history and gives it, so that a detail can be
// added.
func (s *Stage) AddEvent(now time.Time, event, stepID string, code fault.Code) *Event {
	s.History = append(s.History, Event{At: now, Event: event, StepID: stepID, ReasonCode: string(code)})
	s.touch(now)
	return &s.History[len(s.History)-1]
}

// SetPlan takes over the steps of p, all of them pending.
func (s *Stage) SetPlan(p *Plan, now time.Time) {
	s.Steps = make([]Step, 0, len(p.Steps))
	for _, ps := range p.Steps {
		step := Step{StepID: ps.StepID, Title: ps.Title, Role: ps.Role, Status: StepPending}
		step.fillIn()
		s.Steps = append(s.Steps, step)
	}
	s.CurrentStepIndex, s.CurrentStepID = 0, ""
	s.AddEvent(now, EventPlanned, "", "")
}

// CountProcess notes, before anything is started, that a process of this boot works
// for the run, and counts it when the one before died: it wrote no end, and
// the machine has not been started anew since.
func (s *Stage) CountProcess(boot string) {
	if s.Boot != "" && s.Boot == boot && !s.State.Ended() {
		s.Deaths++
	}
	s.Boot = boot
}

// LastChance: once more, and a person is asked (MaxDeaths). boot is this one.
func LastChance(s *Stage, boot string) bool {
	n := s.Deaths
	if s.Boot != "" && s.Boot == boot {
		n++
	}
	return !s.State.Ended() && n == MaxDeaths-1
}

// MaxDeaths is how often in a row the process that works for a run may die
// before a person is asked.
const MaxDeaths = 3

// Begin starts a new attempt of a step.
func (s *Stage) Begin(now time.Time, stepID string) (*Step, error) {
	p, err := s.enter(now, stepID)
	if err != nil {
		return nil, err
	}
	p.Attempt++
	p.Test, p.QA, p.Notes, p.Implemented = StepTests{}, nil, nil, false
	p.DiffStat = DiffStat{}
	p.fillIn()
	if p.Attempt > 1 {
		s.Counters.Retries++
	}
	if _, listed := s.Attempts.Steps[stepID]; !listed { // also one that asks no role
		s.Attempts.Steps[stepID] = StepAttempts{}
	}
	s.AddEvent(now, EventStepStart, stepID, "")
	return p, nil
}

// Continue goes on with the attempt of a step that was stopped (its tests, its
// commit).
func (s *Stage) Continue(now time.Time, stepID string) (*Step, error) {
	p, err := s.enter(now, stepID)
	if err != nil {
		return nil, err
	}
	if p.Attempt == 0 {
		p.Attempt = 1
	}
	return p, nil
}

func (s *Stage) enter(now time.Time, stepID string) (*Step, error) {
	i := s.Index(stepID)
	if i < 0 {
		return nil, mistake(s, "unknown_step", "value", stepID)
	}
	p := &s.Steps[i]
	s.CurrentStepIndex, s.CurrentStepID = i, stepID
	p.Status, p.Error, p.EndedAt = StepRunning, nil, nil
	if p.StartedAt == nil {
		p.StartedAt = &now
	}
	s.touch(now)
	return p, nil
}

// GoBack makes a step that was settled, and those after it, pending again, and
// gives the commit that the run goes back to.
func (s *Stage) GoBack(now time.Time, i int) (start string) {
	for n := i; n < len(s.Steps); n++ {
		old := s.Steps[n]
		s.Steps[n] = Step{StepID: old.StepID, Title: old.Title, Role: old.Role, Attempt: old.Attempt, Logs: old.Logs}
		s.Steps[n].fillIn()
	}
	kept := 0
	for kept < len(s.Git.Commits) && s.Index(s.Git.Commits[kept].StepID) >= 0 && s.Index(s.Git.Commits[kept].StepID) < i {
		kept++
	}
	s.Git.Commits = s.Git.Commits[:kept]
	s.CurrentStepIndex, s.CurrentStepID = i, s.Steps[i].StepID
	s.AddEvent(now, EventWentBack, s.CurrentStepID, "")
	return s.Tip()
}

// Tip is the run's last commit, at first the one that it starts from.
func (s *Stage) Tip() string {
	if n := len(s.Git.Commits); n > 0 {
		return s.Git.Commits[n-1].Hash
	}
	return s.Git.BaseCommit
}

// Finish ends the current step as done.
func (s *Stage) Finish(now time.Time, summary string) error {
	p := s.Current()
	if p == nil || p.Status != StepRunning {
		return mistake(s, "no_step_to_finish", "value", s.CurrentStepID)
	}
	p.Status, p.EndedAt, p.Error, p.Summary = StepDone, &now, nil, summary
	s.Deaths = 0
	s.AddEvent(now, EventStepDone, p.StepID, "")
	return nil
}

// Fail ends the run for a reason: NEEDS_INPUT or FAILED as OutcomeOf says. The
// running step ends with it.
func (s *Stage) Fail(now time.Time, e *ErrorObject) error {
	to := OutcomeOf(e.ReasonCode)
	if err := s.Move(to, now); err != nil {
		return err
	}
	s.Error = e
	stepID := ""
	if p := s.Current(); p != nil && !p.Status.Settled() {
		stepID = p.StepID
		p.Status, p.EndedAt = Status(to), &now
		if p.Error == nil || !isGateRefusal(e.ReasonCode) { // what the work stopped for is still to be mended
			p.Error = e
		}
	}
	s.AddEvent(now, string(to), stepID, e.ReasonCode)
	return nil
}

// Complete ends the run as done.
func (s *Stage) Complete(now time.Time) error {
	if i := s.next(); i < len(s.Steps) {
		return mistake(s, "step_not_done", "value", s.Steps[i].StepID)
	}
	if err := s.Move(Done, now); err != nil {
		return err
	}
	s.Error = nil
	s.AddEvent(now, EventDone, "", "")
	return nil
}

// check says what would make the record contradict itself; it is asked before every
// save.
func (s *Stage) check() error {
	switch {
	case s.RequestID == "" || s.RunID == "":
		return s.broken("no_id")
	case !s.State.known():
		return s.broken("unknown_state")
	case s.State.Ended() != (s.EndedAt != nil):
		return s.broken("ended_at")
	case s.CurrentStepIndex < 0 || len(s.Steps) > 0 && s.CurrentStepIndex >= len(s.Steps):
		return s.broken("current_step_index")
	}
	return nil
}

func matchesPlan(s *Stage, p *Plan) bool {
	return slices.EqualFunc(s.Steps, p.Steps, func(a Step, b PlanStep) bool { return a.StepID == b.StepID })
}

func (s *Stage) broken(reason string) error {
	return mistake(s, reason, "cause", "record of "+s.RunID+": "+reason)
}

// mistake is one of aiflow's own.
func mistake(s *Stage, reason string, more ...any) error {
	return fault.New(fault.InternalError, append(more, "reason", reason, "run_id", s.RunID)...)
}

// WorkedFor is how long a run worked until now, as its history tells: without the time in
// which it waited for somebody. Where it died and nobody told of that, it is known to have
// lived until what was told last.
func WorkedFor(s *Stage, now time.Time) time.Duration {
	var sum time.Duration
	var since, last time.Time // since: it works; zero: it does not
	end := func(at time.Time) {
		if !since.IsZero() {
			sum += max(0, at.Sub(since))
		}
		since = time.Time{}
	}
	for _, e := range s.History {
		switch e.Event {
		case EventStarted, EventResumed:
			end(last)
			since = e.At
		case EventNeedsInput, EventFailed, EventInterrupted, EventDone:
			end(e.At)
		}
		last = e.At
	}
	end(now)
	return sum
}
