package runner

import (
	"context"
	"time"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runner/revive"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// Runner runs requests of one project.
type Runner struct{ stage.Setup }

// Options say what to run.
type Options struct {
	RequestID   string // "" is the next one, under the queue lock
	Base        string // branch; "" is the request's, the configuration's, …
	Stack       bool   // it may start on top of finished runs that are not merged
	Fresh       bool   // do not go on with an interrupted run
	TakeOverdue bool   // take the lock of a live but overdue holder
	Wait        time.Duration
	TouchWait   time.Duration                 // how long to wait for runs that may change the same files, where Wait is less
	Slot        *locks.Lease                  // the slot that the caller holds; nil takes one
	Skip        map[string]bool               // requests that are not to be chosen
	Begun       func(requestID, runID string) // told when the run has a name; nil is nobody
	// Lost is of a session: the providers that could not be asked, until a person
	// does something. A session passes over what must wait.
	Lost   map[string]*fault.Error
	budget *stage.SessionBudget // of a session; nil is no limit
	// mustWait is of a session: a request would only wait for a provider that its other
	// runs ask.
	mustWait func(req *reqmeta.Request, last *runs.Stage) bool
}

// Outcome is what came of the wish to run something.
type Outcome struct {
	stage.Outcome
	Selection *choose.Result      // when nothing was runnable: why
	Waits     *stage.ProviderWait // when something was, but has to wait
	taken     error               // when something was, but another run may change the same files
}

// Adviser tells what can be done about the runs of the project.
func (r *Runner) Adviser(ctx context.Context, of *project.Standing) *revive.Adviser {
	return revive.NewAdviser(ctx, &r.Setup, of)
}

// Advised adds to an error what can be done about the run that it names.
func (r *Runner) Advised(ctx context.Context, err error) error {
	return revive.Advised(ctx, &r.Setup, err)
}
