package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/project"
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
	Skipped          []SkipReason  `json:"skipped"`
	Limits           SessionLimits `json:"limits"`
}

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
	RequestID  string     `json:"request_id"`
	RunID      string     `json:"run_id"`
	Title      string     `json:"title"`
	State      runs.State `json:"state"`
	ReasonCode fault.Code `json:"reason_code,omitempty"`
	WorkBranch string     `json:"work_branch,omitempty"`
	StartedAt  time.Time  `json:"started_at"`
	EndedAt    time.Time  `json:"ended_at"`
}

// SkipReason is a request that could not be started.
type SkipReason struct {
	RequestID  string     `json:"request_id"`
	ReasonCode fault.Code `json:"reason_code"`
	Detail     string     `json:"detail"`
}

// StopReason is why a session ended, and what a person can do.
type StopReason struct {
	ReasonCode fault.Code `json:"reason_code"`
	Message    string     `json:"message"`
	Actions    []string   `json:"actions"`
}

// SessionLimits are the bounds that the session was started with.
type SessionLimits struct {
	MaxRuns    int        `json:"max_runs"`
	MaxMinutes int        `json:"max_minutes"`
	Until      *time.Time `json:"until,omitempty"`
}

const (
	sessionFile = "autorun.json"
	stopFile    = "autorun.stop"
)

func sessionPath(p *project.Project, name string) string {
	return filepath.Join(p.Path(p.Config.Paths.CacheDir), name)
}

// LoadSession gives the record of the last session, IDLE when there is none. A
// record of a session whose lock is gone says STOPPED, INTERRUPTED.
func (r *Runner) LoadSession() (Session, error) {
	data, err := os.ReadFile(sessionPath(r.Project, sessionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return idle(), nil
	}
	if err != nil {
		return Session{}, fault.Wrap(err, fault.StageUnreadable, "path", sessionPath(r.Project, sessionFile))
	}
	s := idle()
	if json.Unmarshal(data, &s) != nil {
		return idle(), nil // losing it is harmless
	}
	if s.over() {
		return s, nil
	}
	return s, r.judgeSession(&s)
}

func idle() Session { return Session{State: Idle, Results: []Result{}, Skipped: []SkipReason{}} }

func (s *Session) over() bool {
	return s.State == Stopped || s.State == Completed || s.State == Idle
}

func (r *Runner) judgeSession(s *Session) error {
	m, err := r.Project.Locks()
	if err != nil {
		return err
	}
	if e, held, err := m.LookQueue(); err != nil || held && e.Live {
		return err
	}
	s.State, s.CurrentRequestID, s.CurrentRunID = Stopped, nil, nil
	s.StopReason = r.stopReason(fault.New(fault.Interrupted))
	return nil
}

func (r *Runner) stopReason(why *fault.Error) *StopReason {
	title, message, actions := r.Words.Fault(why.Code, why.Facts)
	if message != "" {
		title += ". " + message
	}
	return &StopReason{ReasonCode: why.Code, Message: title, Actions: actions}
}

// saveSession replaces the record. A session goes on without one: it is for
// those who look.
func (r *Runner) saveSession(s *Session) {
	path := sessionPath(r.Project, sessionFile)
	data, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		o := atomicfile.Options{TempSuffix: r.Project.Suffix(), Volatile: true}
		err = atomicfile.Write(r.Project.Env.Disk, path, append(data, '\n'), o)
	}
	if err != nil {
		r.tell(Event{Kind: Warned, What: err.Error()})
	}
}
