package stage

import (
	"os"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// Run is one run under way; see New.
type Run struct {
	*Setup
	Begun         func(requestID, runID string) // told when the run has a name; nil is nobody
	Lost          map[string]*fault.Error       // of a session: the providers that cannot be asked until a person does something
	SessionBudget *SessionBudget                // of a session; nil is no limit

	Repo               *gitops.Repo
	Workspace          *gitops.Workspace // nil until it is open
	Survey             *project.Survey
	Request            *reqmeta.Request
	Text               []byte // the request file as the run takes it
	Dir                *runs.Dir
	Stage              *runs.Stage
	Plan               *runs.Plan // nil until it is made
	Lease, Queue, Slot *locks.Lease

	// Replaces is the run that was not finished and no longer can be, now that this
	// one has its workspace.
	Replaces  *runs.Stage
	Replans   bool // its plan is to be made better
	Unbounded bool // a person said to go on beyond the budget

	writeGuard  *writeGuard
	recorded    bool                // the end of the run is on disk
	roles       *agent.Router       // who plays which role; see Router
	noRouter    bool                // the router cannot be used: nobody plays anything
	guard       string              // the folder of forbidden commands; see guardDir
	stepsDone   int                 // steps done by this process
	uncounted   map[string]bool     // providers that do not say what a limit needs
	autofixes   int                 // autofix cycles of the current step
	findings    string              // what a person wrote into the report of the run before
	log         *os.File            // logs/runner.log while the run is driven
	uncommitted []gitops.Change     // of the checkout as the run began; nil: not looked at
	changed     []gitops.FileChange // of the step that was judged last
	left        []gitops.FileChange // of the workspace when it was last kept
}

// Outcome is what a run came to.
type Outcome struct {
	RequestID string
	RunID     string
	RunPath   string // relative to the project, slashes
	Stage     *runs.Stage
	Err       error // why it did not end DONE: a fault, or nil
}

// RequestText is the request's file in the checkout as it is now.
func (run *Run) RequestText() ([]byte, error) {
	text, err := os.ReadFile(run.Project.Path(run.Request.Path))
	if err != nil {
		return nil, fault.Wrap(err, fault.RequestNotFound, "id", run.Request.ID, "path", run.Request.Path)
	}
	return text, nil
}

// NameRun puts the run's name into the fault, so that what to type next names
// it too, and is not refused.
func (run *Run) NameRun(cause error) {
	if f, ok := fault.As(cause); ok {
		for k, v := range map[string]string{"request_id": run.Request.ID, "run_id": run.Stage.RunID} {
			if f.Facts[k] == "" {
				f.Facts[k] = v
			}
		}
	}
}
