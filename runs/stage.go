package runs

import (
	"slices"
	"time"

	"aiflow/internal/fault"
)

// Stage is stage.json: where a run stands (D34, D56). Fields that we do not
// know are kept when it is written again.
type Stage struct {
	Version          string       `json:"version"`
	RequestID        string       `json:"request_id"`
	RunID            string       `json:"run_id"`
	Title            string       `json:"title"`
	State            State        `json:"state"`
	CurrentStepIndex int          `json:"current_step_index"`
	CurrentStepID    string       `json:"current_step_id"`
	StartedAt        time.Time    `json:"started_at"`
	UpdatedAt        time.Time    `json:"updated_at"`
	EndedAt          *time.Time   `json:"ended_at,omitempty"`
	Attempts         Attempts     `json:"attempts"`
	Error            *ErrorObject `json:"error"`
	History          []Event      `json:"history"`
	Progress         Progress     `json:"progress"`
	Steps            []Step       `json:"steps"`
	Locks            Locks        `json:"locks"`
	Git              Git          `json:"git"`
	Artifacts        Artifacts    `json:"artifacts"`
	Counters         Counters     `json:"counters"`
	Signals          Signals      `json:"signals"`
	Agent            *Agent       `json:"agent,omitempty"`
	Boot             string       `json:"boot_id,omitempty"` // of the machine whose process works for the run; "" once it left the run in order
	Deaths           int          `json:"deaths,omitempty"`  // how often in a row that process died, with no step done in between
	Replaces         string       `json:"replaces,omitempty"`
	ReplacedBy       string       `json:"replaced_by,omitempty"`
	DroppedAt        *time.Time   `json:"dropped_at,omitempty"`  // a person wants nothing of it
	Landing          *Landed      `json:"landing,omitempty"`     // is about to be recorded
	Landed           *Landed      `json:"landed,omitempty"`      // the last time
	LandFailed       *LandFailed  `json:"land_failed,omitempty"` // the last try, where the tests failed; gone once it lands
	BackTo           string       `json:"back_to,omitempty"`     // the step that the workspace is being put back to
	Seq              int          `json:"seq"`

	// FellBack says that stage.json was missing or torn and that this is the
	// record before it.
	FellBack bool `json:"-"`

	raw []byte // as read, for what it has that we do not know
}

// Landed says onto which branch a finished run was landed. Landing is written
// before the branch advances: whether it did is asked of git.
type Landed struct {
	Into   string     `json:"into"`
	Commit string     `json:"commit"`
	At     *time.Time `json:"at,omitempty"` // of Landed
}

// LandFailed says on top of which branch the tests of a landing failed, and for which
// commit of the run's branch: a person may have mended that since.
type LandFailed struct {
	Into       string     `json:"into"`
	Tip        string     `json:"tip"`
	ReasonCode fault.Code `json:"reason_code"`
	At         time.Time  `json:"at"`
}

// Attempts counts how often each role was asked (D34).
type Attempts struct {
	Planning int                     `json:"planning"`
	Steps    map[string]StepAttempts `json:"steps"`
	Calls    []RoleCall              `json:"calls,omitempty"`
}

// StepAttempts counts the tries of one step: Implementer those of whoever does
// the work, which is the role, or else the step's own command.
type StepAttempts struct {
	Implementer int `json:"implementer"`
	QA          int `json:"qa"`
	Tests       int `json:"tests"`
}

// Event is one line of the history.
type Event struct {
	At         time.Time         `json:"at"`
	Event      string            `json:"event"`
	StepID     string            `json:"step_id,omitempty"`
	ReasonCode string            `json:"reason_code,omitempty"`
	Detail     map[string]string `json:"detail,omitempty"`
}

// Progress is for people: how far, and what now.
type Progress struct {
	Percent int    `json:"percent"`
	Message string `json:"message"`
}

// Step is one step of the run (D56).
type Step struct {
	StepID    string     `json:"step_id"`
	Title     string     `json:"title"`
	Role      string     `json:"role"`
	Status    Status     `json:"status"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Attempt   int        `json:"attempt"`
	// Implemented: its command or implementer has ended well; what is left is to
	// check, test and commit.
	Implemented bool `json:"implemented,omitempty"`
	// ChangedNothing: its commit is empty, and it was not only to test.
	ChangedNothing bool     `json:"changed_nothing,omitempty"`
	Summary        string   `json:"summary"`
	Logs           []string `json:"logs"`
	PatchPath      *string  `json:"patch_path"`
	DiffStat       DiffStat `json:"diff_stat"`
	// Tree is the workspace's content when its tests began, AttemptTree that of
	// the last attempt that was kept (git tree ids).
	Tree        string       `json:"tree,omitempty"`
	AttemptTree string       `json:"attempt_tree,omitempty"`
	Test        StepTests    `json:"test"`
	QA          *QA          `json:"qa,omitempty"`
	Notes       []string     `json:"notes,omitempty"` // what the report should tell about the step
	Error       *ErrorObject `json:"error"`
}

// DiffStat is the size of a step's change.
type DiffStat struct {
	FilesChanged int  `json:"files_changed"`
	LinesAdded   int  `json:"lines_added"`
	LinesDeleted int  `json:"lines_deleted"`
	TooLarge     bool `json:"too_large"`
}

// StepTests are the three kinds of tests of a step.
type StepTests struct {
	Unit   TestResult `json:"unit"`
	E2E    TestResult `json:"e2e"`
	Static TestResult `json:"static"`
}

// QA is what the qa role said about a step.
type QA struct {
	Status  TestStatus `json:"status"` // FAIL: it must be mended
	Summary string     `json:"summary"`
	Issues  []Issue    `json:"issues"`
	Tests   []string   `json:"recommended_tests,omitempty"`
}

// Issue is one thing that qa found.
type Issue struct {
	Severity    string `json:"severity"`
	Description string `json:"description"`
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
}

// TestResult is how one test command went.
type TestResult struct {
	Status        TestStatus `json:"status"`
	Warning       bool       `json:"warning,omitempty"` // a failure that does not stop the run
	Command       *string    `json:"command"`
	LogPath       *string    `json:"log_path"`
	DurationMS    *int64     `json:"duration_ms"`
	FailedSummary *string    `json:"failed_summary"`
}

// Locks are the locks that the run holds, for those who look into the record.
type Locks struct {
	Request *Lock `json:"request_lock"`
	Queue   *Lock `json:"queue_lock"`
}

// Lock is one lock as the run saw it.
type Lock struct {
	Path       string     `json:"path"`
	Held       bool       `json:"held"`
	AcquiredAt *time.Time `json:"acquired_at"`
	TTLSec     int        `json:"ttl_sec"`
	Holder     *Holder    `json:"holder,omitempty"`
}

// Holder is the process that holds a lock.
type Holder struct {
	PID      int    `json:"pid"`
	Host     string `json:"host,omitempty"`
	Hostname string `json:"hostname,omitempty"`
}

// Git is what the run did in the repository.
type Git struct {
	BaseBranch string `json:"base_branch"`
	BaseCommit string `json:"base_commit"`
	WorkBranch string `json:"work_branch"`
	Workspace  string `json:"workspace"`
	// StackedOn are the finished runs, not merged by then, on top of which this one
	// began: BaseCommit has them all.
	StackedOn []StackedOn `json:"stacked_on,omitempty"`
	Restack   *Restack    `json:"restack,omitempty"`   // only while it is under way, or waits for a person
	ReturnTo  string      `json:"return_to,omitempty"` // in place: where the checkout goes back to
	Made      []string    `json:"made,omitempty"`      // ignored paths in the workspace after workspace.setup
	Commits   []Commit    `json:"commits"`
}

// StackedOn is a run on which another one stands, and the commit of its branch.
type StackedOn struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id"`
	Branch    string `json:"branch"`
	Commit    string `json:"commit"`
}

// Restack says where a run that stands on others is about to be moved. Whether it was
// is asked of git. Without a commit a person is to move it there.
type Restack struct {
	BaseCommit string      `json:"base_commit"`
	StackedOn  []StackedOn `json:"stacked_on,omitempty"`
	Commit     string      `json:"commit,omitempty"` // of the branch
}

// AttemptsOf is where the attempts of a run are kept.
func AttemptsOf(runID string) string { return "refs/aiflow/attempts/" + runID }

// LostBy is where names of the person are kept that went while the run worked.
func LostBy(runID string) string { return AttemptsOf(runID) + "/lost" }

// Compared is the branch with which the work is compared: the base, or the branch of
// the one run on which it stands.
func (g *Git) Compared() string {
	if len(g.StackedOn) == 1 {
		return g.StackedOn[0].Branch
	}
	return g.BaseBranch
}

// Below are the requests on whose runs one stands.
func (g *Git) Below() []string {
	var ids []string
	for _, on := range g.StackedOn {
		ids = append(ids, on.RequestID)
	}
	return ids
}

// Commits are those of the branches, in order.
func Commits(list []StackedOn) []string {
	var all []string
	for _, on := range list {
		all = append(all, on.Commit)
	}
	return all
}

// Commit is one commit of the run; the last one of a finished run has the
// step id "record".
type Commit struct {
	StepID  string `json:"step_id"`
	Hash    string `json:"hash"`
	Subject string `json:"subject"`
}

// RecordStep is the step id of the commit that records the outcome.
const RecordStep = "record"

// Artifacts are the files of the run, relative to the repository.
type Artifacts struct {
	RequestPath string `json:"request_path,omitempty"`
	// RequestRunning is the SHA-256 of the request file as the run left it in
	// the checkout (status running); while it still is that, the earlier bytes
	// can come back whole.
	RequestRunning string   `json:"request_running_sha256,omitempty"`
	PlanningJSON   string   `json:"planning_json,omitempty"`
	ReportMD       string   `json:"report_md,omitempty"`
	ErrorsJSON     *string  `json:"errors_json"`
	Patches        []string `json:"patches"`
	LogsDir        string   `json:"logs_dir,omitempty"`
	CompareURL     *string  `json:"compare_url"`
	CompareProblem string   `json:"compare_problem,omitempty"` // why there is none
	Left           []Left   `json:"left,omitempty"`            // in the workspace and in no commit of a branch
}

// Counters are D56's counts over the whole run.
type Counters struct {
	PlannerCalls     int `json:"planner_calls"`
	ImplementerCalls int `json:"implementer_calls"`
	QACalls          int `json:"qa_calls"`
	UnitRuns         int `json:"unit_runs"`
	E2ERuns          int `json:"e2e_runs"`
	StaticRuns       int `json:"static_runs"`
	AutofixCycles    int `json:"autofix_cycles"`
	Retries          int `json:"retries"`
}

// Signals are what others ask of the run.
type Signals struct {
	StopRequested   bool    `json:"stop_requested"`
	ResumeRequested bool    `json:"resume_requested"`
	Notes           *string `json:"notes"`
}

// Agent is the process group that works for the run right now. Whoever resumes
// the run ends it first if it still lives.
type Agent struct {
	PID      int    `json:"pid"`
	PIDStart uint64 `json:"pid_start"`
	BootID   string `json:"boot_id"`
}

// NewStage begins a record.
func NewStage(requestID, runID, title string, now time.Time) *Stage {
	s := &Stage{
		Version:   Version,
		RequestID: requestID,
		RunID:     runID,
		Title:     title,
		State:     Init,
		StartedAt: now,
		UpdatedAt: now,
	}
	s.fillIn()
	s.AddEvent(now, EventStarted, "", "")
	return s
}

// LeaveLocks records that nobody holds the run's locks for it any longer.
func (s *Stage) LeaveLocks() {
	for _, l := range []*Lock{s.Locks.Request, s.Locks.Queue} {
		if l != nil {
			l.Held = false
		}
	}
}

// fillIn makes empty lists out of missing ones, so that the JSON says [] and
// {} and nobody has to ask.
func (s *Stage) fillIn() {
	if s.Attempts.Steps == nil {
		s.Attempts.Steps = map[string]StepAttempts{}
	}
	s.History = orEmpty(s.History)
	s.Steps = orEmpty(s.Steps)
	s.Git.Commits = orEmpty(s.Git.Commits)
	s.Artifacts.Patches = orEmpty(s.Artifacts.Patches)
	for i := range s.Steps {
		s.Steps[i].fillIn()
	}
}

func (p *Step) fillIn() {
	p.Logs = orEmpty(p.Logs)
	for _, t := range []*TestResult{&p.Test.Unit, &p.Test.E2E, &p.Test.Static} {
		if t.Status == "" {
			t.Status = TestNotRun
		}
	}
	if p.Status == "" {
		p.Status = StepPending
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Step finds a step by its id; nil when there is none.
func (s *Stage) Step(id string) *Step {
	if i := s.Index(id); i >= 0 {
		return &s.Steps[i]
	}
	return nil
}

// Current is the step that the run is at; nil before there is one.
func (s *Stage) Current() *Step { return s.Step(s.CurrentStepID) }

// Index is the place of a step; -1 when there is none of that name.
func (s *Stage) Index(id string) int {
	for i := range s.Steps {
		if s.Steps[i].StepID == id {
			return i
		}
	}
	return -1
}

// ReasonCode is why the run stands still, or "".
func (s *Stage) ReasonCode() string {
	if s.Error == nil {
		return ""
	}
	return string(s.Error.ReasonCode)
}

// HasEvent reports whether the history has such a line.
func (s *Stage) HasEvent(event string) bool {
	return slices.ContainsFunc(s.History, func(e Event) bool { return e.Event == event })
}

// LastEvent is when such a line was last added to the history.
func (s *Stage) LastEvent(event string) (time.Time, bool) {
	for _, e := range slices.Backward(s.History) {
		if e.Event == event {
			return e.At, true
		}
	}
	return time.Time{}, false
}

// Unmerged reports whether the run is finished and its work was not yet seen
// to be merged.
func (s *Stage) Unmerged() bool {
	return s.State == Done && !s.HasEvent(EventMerged) && s.DroppedAt == nil
}

// HasCommit reports whether the record names a commit of this step.
func (s *Stage) HasCommit(stepID string) bool {
	return slices.ContainsFunc(s.Git.Commits, func(c Commit) bool { return c.StepID == stepID })
}
