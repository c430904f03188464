package runner

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// Words are the sentences that end up in what a run records. The program lends
// them in the user's language.
type Words struct {
	Text  func(key string, f fault.Facts) string
	Fault runs.Words
	Lang  string // of what roles are told: "ja", or English
}

// Runner runs requests of one project.
type Runner struct {
	Project *project.Project
	Words   Words
	Shell   string // of `run:` and test commands; "" is /bin/sh
	// Grace is how long a command that is asked to end may take; 0 is 5 s.
	// Hurry, once closed, ends all grace.
	Grace time.Duration
	Hurry <-chan struct{}
	// Doctor is asked before a run goes on or a session begins; its fault
	// (DOCTOR_FAILED, WORKTREE_DIRTY, …) refuses. nil refuses nothing.
	Doctor func(ctx context.Context) error
	// Invoked is the command line, for the record.
	Invoked []string
	// Guard is asked, beside the lock, before every write that others see; its
	// error stops the run where it stands. INTERRUPTED lets the run record that
	// and put the request back; after any other nothing is written. nil allows
	// all.
	Guard func() error
	// Observe is told what happens, as it happens; nil is nobody.
	Observe func(Event)
	// Point is told of the places between two writes where a crash matters; nil
	// but in builds for tests.
	Point func(name string)
}

// Options say what to run.
type Options struct {
	RequestID   string // "" is the next one, under the queue lock
	Base        string // branch; "" is the request's, the configuration's, …
	Fresh       bool   // do not go on with an interrupted run
	TakeOverdue bool   // take the lock of a live but overdue holder
	Wait        time.Duration
	Slot        *locks.Lease                  // the slot that the caller holds; nil takes one
	Skip        map[string]bool               // requests that are not to be chosen
	Begun       func(requestID, runID string) // told when the run has a name; nil is nobody
	// Lost is of a session: the providers that could not be asked, until a person
	// does something. A session passes over what must wait.
	Lost  map[string]*fault.Error
	purse *purse // of a session; nil is no limit
}

// Event is one thing that happened during a run.
type Event struct {
	Kind      EventKind
	At        time.Time
	RequestID string
	RunID     string
	Title     string // of the request or step
	Step      int    // from 1; 0 outside of steps
	Steps     int
	StepID    string
	What      string // the command, path, or text that it is about
	Count     int
	Note      project.Note
	Until     time.Time // of Waiting
}

// EventKind names an event. Its sentence is "work.event_<kind>".
type EventKind string

// The kinds of events.
const (
	SessionBegun EventKind = "session" // What: when it will stop, and why
	Waiting      EventKind = "waiting" // What: for whom; Until: as long as that
	Chosen       EventKind = "chosen"
	Skipped      EventKind = "skipped" // chosen, but no longer runnable once locked
	BaseTold     EventKind = "base"    // what it starts from (What), where that is not the branch checked out (Title)
	Found        EventKind = "found"   // an interrupted run that goes on
	LockTaken    EventKind = "lock_recovered"
	StraysEnded  EventKind = "strays_ended"
	AttemptKept  EventKind = "attempt_kept"
	StepAdopted  EventKind = "step_adopted" // committed before the runner died
	WorkspaceUp  EventKind = "workspace"
	StepBegun    EventKind = "step"
	RoleBegun    EventKind = "role"      // What: role and provider
	RoleFailed   EventKind = "role_fail" // a try of a role cannot be used; What: why
	SentBack     EventKind = "sent_back" // to the implementer; What: why
	SetAside     EventKind = "set_aside" // commits of earlier steps that are done again; What: their name
	Rejoined     EventKind = "rejoined"  // what a command committed by itself became the step's
	CommandBegun EventKind = "command"
	TestBegun    EventKind = "test"
	StepDone     EventKind = "step_done"
	Finishing    EventKind = "finishing"
	Noted        EventKind = "noted" // What: the sentence
	Warned       EventKind = "warning"
	Repaired     EventKind = "repaired"
)

// Facts are what the event's sentence may name. While there is no plan yet no
// step is counted.
func (e Event) Facts() fault.Facts {
	f := fault.New("", "id", e.RequestID, "run_id", e.RunID, "title", e.Title, "step_id", e.StepID, "name", e.What, "count", e.Count).Facts
	if e.Steps > 0 {
		f["step"], f["steps"] = strconv.Itoa(e.Step), strconv.Itoa(e.Steps)
	}
	return f
}

// Outcome is what a run came to.
type Outcome struct {
	RequestID string
	RunID     string
	RunPath   string // relative to the project, slashes
	Stage     *runs.Stage
	Selection *choose.Result // when nothing was runnable: why
	Waits     *ProviderWait  // when something was, but has to wait
	Err       error          // why it did not end DONE: a fault, or nil
}

// job is one run under way.
type job struct {
	*Runner
	opts   Options
	repo   *gitops.Repo
	ws     *gitops.Workspace
	survey *project.Survey
	req    *reqmeta.Request
	text   []byte // the request file as the run takes it
	dir    *runs.Dir
	stage  *runs.Stage
	plan   *runs.Plan
	lease  *locks.Lease
	queue  *locks.Lease
	slot   *locks.Lease

	recorded bool // the end of the run is on disk
	// replaces is the run that was not finished and no longer can be, now that this one
	// has its workspace.
	replaces    *runs.Stage
	replans     bool                // its plan is to be made better
	cast        *cast               // who plays which role; see routes
	guard       string              // the folder of forbidden commands; see guardDir
	stepped     int                 // steps done by this process
	callsBefore int                 // calls of roles when this process took the run over
	unbounded   bool                // a person said to go on beyond the budget
	uncounted   map[string]bool     // providers that do not say what a limit needs
	mended      int                 // autofix cycles of the step in hand
	earlier     string              // what a person wrote into the report of the run before
	diary       *os.File            // logs/runner.log while the run is driven
	outside     []gitops.Change     // of the checkout as the run began; nil: not looked at
	changed     []gitops.FileChange // of the step that was judged last
	left        []gitops.FileChange // of the workspace when it was last kept
}

func (r *Runner) tell(e Event) {
	if r.Observe != nil {
		e.At = r.Project.Now()
		r.Observe(e)
	}
}

// at passes a place where a test may stop the program.
func (r *Runner) at(name string) {
	if r.Point != nil {
		r.Point(name)
	}
}

func (j *job) tell(e Event) {
	e.RequestID = j.req.ID
	if j.stage != nil {
		e.RunID, e.Steps = j.stage.RunID, len(j.stage.Steps)
	}
	j.write(e)
	j.Runner.tell(e)
}

const defaultGrace = 5 * time.Second

func (r *Runner) grace() time.Duration {
	if r.Grace > 0 {
		return r.Grace
	}
	return defaultGrace
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
