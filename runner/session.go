package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runner/revive"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// SessionState is where a session of runs stands (D60).
type SessionState string

// The states of D60.
const (
	Idle      SessionState = "IDLE"
	Starting  SessionState = "STARTING"
	Selecting SessionState = "SELECTING"
	Running   SessionState = "RUNNING"
	Stopping  SessionState = "STOPPING"
	Stopped   SessionState = "STOPPED"
	Completed SessionState = "COMPLETED"
)

// Session is one auto-run, as `aiflow-run status` and GET /api/autorun show it.
type Session struct {
	State            SessionState  `json:"state"`
	CurrentRequestID *string       `json:"current_request_id"`
	CurrentRunID     *string       `json:"current_run_id"`
	LastResult       *Result       `json:"last_result"`
	Counters         Counters      `json:"counters"`
	StartedAt        *time.Time    `json:"started_at"`
	EndedAt          *time.Time    `json:"ended_at,omitempty"`
	StopReason       *StopReason   `json:"stop_reason"`
	Results          []Result      `json:"results"`
	Turns            []Turn        `json:"turns"` // what its slots did, in the order in which it was chosen
	Skipped          []SkipReason  `json:"skipped"`
	Limits           SessionLimits `json:"limits"`
	StopAsked        bool          `json:"stop_asked"`      // it ends after the runs that are under way
	Usage            *runs.Usage   `json:"usage,omitempty"` // of its AI commands, as they report it
	Waits            []SessionWait `json:"waits,omitempty"` // for providers
	// ProviderWait is what it waits for now.
	ProviderWait *runs.ProviderWait `json:"provider_wait,omitempty"`

	// Before is the last session before this one that did something.
	Before *Session `json:"-"`
}

// Idle reports whether the session has done nothing.
func (s *Session) Idle() bool { return s.Counters.Runs == 0 && s.Counters.Skips == 0 }

// Counters count what a session did.
type Counters struct {
	Runs       int `json:"runs"`
	Done       int `json:"done"`
	Failed     int `json:"failed"`
	NeedsInput int `json:"needs_input"`
	Skips      int `json:"skips"`
}

// Result is how one run of the session ended.
type Result struct {
	RequestID  string         `json:"request_id"`
	RunID      string         `json:"run_id"`
	Title      string         `json:"title"`
	State      runs.State     `json:"state"`
	ReasonCode fault.Code     `json:"reason_code,omitempty"`
	WorkBranch string         `json:"work_branch,omitempty"`
	Warnings   []runs.Warning `json:"warnings"` // null in records of earlier versions
	StartedAt  time.Time      `json:"started_at"`
	EndedAt    time.Time      `json:"ended_at"`
	Said       string         `json:"said,omitempty"` // by the AI command that failed
	Usage      *runs.Usage    `json:"usage,omitempty"`
	LandedInto string         `json:"landed_into,omitempty"`
	NotLanded  fault.Code     `json:"not_landed,omitempty"` // why it could not land
}

// Turn is a run that a slot of a session did, or is doing.
type Turn struct {
	Slot      int        `json:"slot"` // from 1
	RequestID string     `json:"request_id"`
	Title     string     `json:"title,omitempty"`  // of the request
	RunID     string     `json:"run_id,omitempty"` // not there: it has not begun
	From      time.Time  `json:"from"`
	Until     *time.Time `json:"until,omitempty"` // nil: under way, or cut off with the session
}

// ActiveTurns are the runs of the session that are under way.
func (s *Session) ActiveTurns() []Turn {
	if s.isOver() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Turns), func(t Turn) bool { return t.Until != nil || t.RunID == "" })
}

// SessionWait is a time in which a session waited for a provider.
type SessionWait struct {
	runs.ProviderWait
	From time.Time `json:"from"`
}

// SkipReason is a request that could not be started.
type SkipReason struct {
	RequestID  string      `json:"request_id"`
	ReasonCode fault.Code  `json:"reason_code"`
	Detail     string      `json:"detail"`
	Facts      fault.Facts `json:"facts"` // null in records of earlier versions
}

// StopReason is why a session ended, and what a person can do.
type StopReason struct {
	ReasonCode fault.Code  `json:"reason_code"`
	Message    string      `json:"message"`
	Actions    []string    `json:"actions"`
	Facts      fault.Facts `json:"facts"` // null in records of earlier versions
}

// SessionLimits are the bounds that the session was started with.
type SessionLimits struct {
	MaxRuns    int        `json:"max_runs"`
	MaxMinutes int        `json:"max_minutes"` // 0: Until alone bounds its time
	Until      *time.Time `json:"until,omitempty"`
	MaxCostUSD float64    `json:"max_cost_usd,omitempty"` // 0: any
	Jobs       int        `json:"jobs"`                   // runs at a time
	Stack      bool       `json:"stack,omitempty"`        // runs may start on top of finished ones that are not merged
}

const (
	sessionFile = "autorun.json"
	beforeFile  = "autorun.before.json"
	stopFile    = "autorun.stop"
)

// LoadSession gives the record of the last session, IDLE when there is none. A
// record of a session whose lock is gone says STOPPED, INTERRUPTED.
func (r *Runner) LoadSession(ctx context.Context) (Session, error) {
	s, err := readSession(r.Project, sessionFile)
	if err != nil {
		return Session{}, err
	}
	r.reword(ctx, &s)
	s.Before = loadPrevious(r.Project)
	if !s.isOver() {
		e, held, err := r.Project.Locks().Look(locks.Queue())
		if err != nil {
			return s, err
		}
		if !held || !e.Live {
			r.closeSession(ctx, &s)
		}
	}
	s.StopAsked = !s.isOver() && stopAsked(r.Project)
	return s, nil
}

// reword says in the reader's language why a session stopped and what it
// skipped, and what can be done about it now. Records without facts and codes that this version does not know
// stay in the words of the recording.
func (r *Runner) reword(ctx context.Context, s *Session) {
	if why := s.StopReason; why != nil && sayable(why.ReasonCode, why.Facts) {
		now := &fault.Error{Code: why.ReasonCode, Facts: why.Facts}
		if why.ReasonCode == fault.AutoCompleted {
			now = completedNow(ctx, r, now, s.Limits.Stack)
		}
		s.StopReason = r.stopReason(ctx, now)
	}
	for i, k := range s.Skipped {
		if sayable(k.ReasonCode, k.Facts) {
			s.Skipped[i] = r.skipReason(k.RequestID, &fault.Error{Code: k.ReasonCode, Facts: k.Facts})
		}
	}
}

// completedNow counts the branches that wait now: some that waited when the session
// ended may be merged.
func completedNow(ctx context.Context, r *Runner, then *fault.Error, stack bool) *fault.Error {
	if then.Facts["count"]+then.Facts["stale"]+then.Facts["anew"] == "" {
		return then
	}
	survey, err := r.Project.Look(ctx)
	if err != nil {
		return then
	}
	if stack {
		survey.Stacks(true)
	}
	sel := survey.Select()
	return completed(&sel)
}

func sayable(code fault.Code, facts fault.Facts) bool {
	return facts != nil && code.Known()
}

func readSession(p *project.Project, name string) (Session, error) {
	path := stage.CacheFile(p, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return idleSession(), nil
	}
	if err != nil {
		return Session{}, fault.Wrap(err, fault.StageUnreadable, "path", path)
	}
	s := idleSession()
	if json.Unmarshal(data, &s) != nil {
		return idleSession(), nil // losing it is harmless
	}
	return s, nil
}

// keepPrevious keeps the record of the last session that did something for when the
// one that begins does nothing.
func (r *Runner) keepPrevious(ctx context.Context) *Session {
	last, err := readSession(r.Project, sessionFile)
	switch {
	case err != nil:
		return nil
	case last.Idle():
		return loadPrevious(r.Project)
	case !last.isOver():
		r.closeSession(ctx, &last)
	}
	r.SaveCache(beforeFile, &last)
	return &last
}

func loadPrevious(p *project.Project) *Session {
	s, err := readSession(p, beforeFile)
	if err != nil || s.Idle() {
		return nil
	}
	return &s
}

func idleSession() Session {
	return Session{State: Idle, Results: []Result{}, Skipped: []SkipReason{}, Turns: []Turn{}}
}

func (s *Session) isOver() bool {
	return s.State == Stopped || s.State == Completed || s.State == Idle
}

func (r *Runner) closeSession(ctx context.Context, s *Session) {
	why := fault.New(fault.Interrupted)
	if s.CurrentRequestID != nil && s.CurrentRunID != nil {
		why.Facts["request_id"], why.Facts["run_id"] = *s.CurrentRequestID, *s.CurrentRunID
		for _, t := range s.ActiveTurns() {
			if t.RunID != *s.CurrentRunID {
				why.Facts["also"] = strings.TrimSpace(why.Facts["also"] + " " + t.RunID)
			}
		}
	}
	s.State, s.CurrentRequestID, s.CurrentRunID, s.ProviderWait = Stopped, nil, nil, nil
	s.StopReason = r.stopReason(ctx, why)
}

func (r *Runner) stopReason(ctx context.Context, why *fault.Error) *StopReason {
	facts := fault.WithAdvice(why.Facts, revive.Advice(ctx, &r.Setup, why.Facts))
	var others []string
	for id := range strings.FieldsSeq(why.Facts["also"]) { // of those that have not gone on since
		f := fault.WithAdvice(nil, revive.Advice(ctx, &r.Setup, fault.Facts{"run_id": id}))
		if f[fault.VerbSuccessor] == "" && f[string(fault.ModeResume)] != "" {
			others = append(others, f[string(fault.ModeResume)])
		}
	}
	if len(others) > 0 {
		facts["others"] = strings.Join(others, "`, `")
	}
	title, message, actions := r.Words.Fault(why.Code, facts)
	said := r.Words.Text("work.session_reason", fault.Facts{"title": title, "message": message})
	return &StopReason{ReasonCode: why.Code, Message: said, Actions: actions, Facts: why.Facts}
}

func (r *Runner) skipReason(id string, why *fault.Error) SkipReason {
	title, _, _ := r.Words.Fault(why.Code, why.Facts)
	return SkipReason{RequestID: id, ReasonCode: why.Code, Detail: title, Facts: why.Facts}
}
