package queue

import "time"

// Status is the state of a task, spelt as in the table.
type Status string

// The five states of the fixed schema. Other clients may write further ones;
// they are shown as they are and neither claimed nor swept.
const (
	Queued    Status = "QUEUED"
	Running   Status = "RUNNING"
	Complete  Status = "COMPLETE"
	Errored   Status = "ERROR"
	Cancelled Status = "CANCELLED"
)

// Statuses lists the five states in the order of a task's life.
func Statuses() []Status { return []Status{Queued, Running, Complete, Errored, Cancelled} }

// Terminal says that nothing may follow s. States of other clients are not
// terminal: we do not know.
func (s Status) Terminal() bool { return s == Complete || s == Errored || s == Cancelled }

// Task is one item of the queue table. Times stay as they are in the table
// (ISO 8601, UTC, milliseconds when we wrote them).
type Task struct {
	Namespace    string `json:"namespace"`
	TaskID       string `json:"task_id"`
	TaskGroupID  string `json:"task_group_id"`
	SessionID    string `json:"session_id"`
	Status       Status `json:"status"`
	Prompt       string `json:"prompt"`
	CreatedAt    string `json:"created_at"`
	UpdatedAt    string `json:"updated_at"`
	ErrorMessage string `json:"error_message,omitempty"`
	ClaimedBy    string `json:"claimed_by,omitempty"`

	// RequestID links the task to a request file; a bare prompt has none.
	// Output is what a completed task left to say.
	RequestID string `json:"request_id,omitempty"`
	Output    string `json:"output,omitempty"`
	// Fence grows with each claim. AttemptToken names the write that last
	// changed the state, EnqueueToken the one that made the item. SignedAt is the
	// updated_at of our last sign while it runs.
	Fence        int64  `json:"-"`
	AttemptToken string `json:"-"`
	SignedAt     string `json:"-"`
	EnqueueToken string `json:"-"`
}

// claimIsOurs says that a running task was claimed by a client like us, and
// that no other client has written it since: only then claimed_by must be right.
// Other clients may give a task that we ended a new try, and leave our fields.
func (t Task) claimIsOurs() bool { return t.SignedAt != "" && t.SignedAt == t.UpdatedAt }

// RunnerStatus is the stored status of a runner.
type RunnerStatus string

// The two stored statuses. Whether a runner lives follows from its heartbeat.
const (
	RunnerRunning RunnerStatus = "running"
	RunnerStopped RunnerStatus = "stopped"
)

// AliveFor is how long a heartbeat counts (seed: 120,000 ms, strictly less).
const AliveFor = 120 * time.Second

// Runner is one record of the runners table.
type Runner struct {
	Namespace     string       `json:"namespace"`
	RunnerID      string       `json:"runner_id"`
	LastHeartbeat string       `json:"last_heartbeat"`
	StartedAt     string       `json:"started_at"`
	Status        RunnerStatus `json:"status"`
	ProjectRoot   string       `json:"project_root"`

	// Instance tells two processes apart that use one runner id.
	Instance string `json:"-"`
}

// Alive is the seed's rule: the last heartbeat is less than 120,000 ms old. An
// unreadable heartbeat is no heartbeat, and who stopped does not live.
func (r Runner) Alive(now time.Time) bool {
	beat, ok := ParseTime(r.LastHeartbeat)
	return ok && r.Status != RunnerStopped && now.Sub(beat) < AliveFor
}

// Judged is the status as the seed has it: a runner whose heartbeat is too old
// counts as stopped, whatever it wrote.
func (r Runner) Judged(now time.Time) RunnerStatus {
	if r.Alive(now) {
		return RunnerRunning
	}
	return RunnerStopped
}

const layout = "2006-01-02T15:04:05.000Z"

// FormatTime writes t as the tables hold it: ISO 8601, UTC, milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(layout) }

// ParseTime reads a time of the tables, also in the spelling of other clients.
func ParseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil
}
