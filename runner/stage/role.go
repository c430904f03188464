package stage

import (
	"context"

	"aiflow/internal/config"
	"aiflow/project"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// question is one thing that a role is asked.
type question struct {
	role    string
	step    *runs.Step // nil while planning
	plan    *runs.PlanStep
	failure string // what is told besides: what must be mended; "" is nothing
	mending bool   // the work is there and goes on where it stands
	// accept judges and uses what came back. Its fault may send the question to
	// the next provider.
	accept func(ctx context.Context, r agent.Reply) error
}

// Router is the router as this run knows it: it is read once.
func (run *Run) Router() (*agent.Router, error) {
	if run.roles != nil {
		return run.roles, nil
	}
	router, _, err := config.LoadRouter(run.Project.Dir, run.Project.Config)
	asks := project.NeedsRole(run.Request) // its steps, or what is left of the plan, need more than their commands
	if run.Plan != nil {
		asks = run.Stage.NeedsRole(run.Plan)
	}
	if err != nil && asks {
		return nil, err
	}
	roles, bad := agent.NewRouter(router)
	if bad != nil {
		return nil, bad
	}
	if err != nil {
		run.noRouter = true
		roles.Router, _, _ = config.ParseRouter(nil, "", run.Project.Config) // as if there were none
	}
	run.roles = roles
	return roles, nil
}

// hasRole reports whether somebody plays the role.
func (run *Run) hasRole(role string) bool {
	c, err := run.Router()
	return err == nil && len(c.Calls(role)) > 0
}

// noteNoRouter says of a run that it does without the router.
func noteNoRouter(run *Run) {
	if !run.noRouter || run.Stage.HasEvent(runs.EventWithoutRouter) {
		return
	}
	run.Stage.AddEvent(run.Project.Now(), runs.EventWithoutRouter, "", "")
	run.Tell(Event{Kind: Warned, What: run.Words.Text("work.without_router", nil)})
}

func (q question) stepID() string {
	if q.step == nil {
		return ""
	}
	return q.step.StepID
}
