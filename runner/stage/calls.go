package stage

import (
	"cmp"
	"fmt"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// countTry numbers the calls of a role over the whole run.
func countTry(run *Run, q question) int {
	if q.role == config.RolePlanner {
		run.Stage.Attempts.Planning++
		run.Stage.Counters.PlannerCalls++
		return run.Stage.Attempts.Planning
	}
	a := run.Stage.Attempts.Steps[q.stepID()]
	n := &a.Implementer
	calls := &run.Stage.Counters.ImplementerCalls
	if q.role == config.RoleQA {
		n, calls = &a.QA, &run.Stage.Counters.QACalls
	}
	*n++
	*calls++
	run.Stage.Attempts.Steps[q.stepID()] = a
	return *n
}

// noteCall records who was asked and what it took.
func noteCall(run *Run, q question, r agent.Reply, at time.Time, took time.Duration, err error) {
	c := runs.RoleCall{Role: q.role, StepID: q.stepID(), Attempt: r.Try, Provider: r.Call.Provider, StartedAt: at, ReasonCode: fault.CodeOf(err)}
	if r.Usage != nil {
		u := runs.Usage(*r.Usage)
		u.Model = cmp.Or(u.Model, r.Call.Model)
		u.DurationMS = cmp.Or(u.DurationMS, took.Milliseconds())
		c.Usage = &u
	}
	if err == nil {
		warnUncounted(run, c.Provider, c.Usage)
	}
	run.Stage.Attempts.Calls = append(run.Stage.Attempts.Calls, c)
}

// logTry writes a line about who was asked, how long it took and what came of
// it (D43). A line that cannot be written stops nobody.
func logTry(run *Run, q question, r agent.Reply, took time.Duration, err error) {
	line := fmt.Sprintf("%s role=%s step=%s try=%d provider=%s model=%s mode=%s took_ms=%d outcome=%s log=%s\n",
		run.Project.Now().UTC().Format(time.RFC3339), q.role, cmp.Or(q.stepID(), "-"), r.Try, r.Call.Provider, cmp.Or(r.Call.Model, "-"),
		r.Call.Command.Mode, took.Milliseconds(), cmp.Or(fault.CodeOf(err), "OK"), cmp.Or(r.Log, "-"))
	_ = run.Dir.AppendLog(runs.RouterLog(q.role), "", 0, []byte(line))
}
