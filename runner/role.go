package runner

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// callImplementer hands a step to the implementer role: the primary provider,
// then the fallback, as often as the limits allow.
func (j *job) callImplementer(ctx context.Context, i int) error {
	router, _, err := config.LoadRouter(j.Project.Dir, j.Project.Config)
	if err != nil {
		return err
	}
	calls := router.Calls(config.RoleImplementer)
	if len(calls) == 0 {
		return j.noImplementer(j.stage.Steps[i].StepID)
	}
	for try := range max(1, j.Project.Config.Limits.MaxRoleTries) {
		err = j.callRole(ctx, i, router, calls[min(try, len(calls)-1)])
		if err == nil || !slices.Contains(router.Defaults.FallbackOn, string(fault.CodeOf(err))) {
			return err
		}
	}
	return err
}

// callRole starts one provider once, in the workspace, with the prompt on its
// command line where the router wants it and on its standard input.
func (j *job) callRole(ctx context.Context, i int, router config.Router, call config.Call) error {
	s := &j.stage.Steps[i]
	n := j.countTry(s.StepID)
	prompt := j.implementerPrompt(i)
	argv, err := j.argv(call, prompt)
	if err != nil {
		return err
	}
	c := shellCommand{
		text: call.Provider, log: runs.LogImplementer, stepID: s.StepID, attempt: n,
		timeout: j.roleTimeout(router), kind: CommandBegun,
	}
	res, err := j.command(ctx, c, argv, strings.NewReader(prompt))
	if err != nil {
		return err
	}
	s.Logs = appendOnce(s.Logs, res.log)
	switch {
	case res.TimedOut:
		return fault.New(fault.AgentTimeout, "command", call.Command.Bin, "seconds", int(c.timeout.Seconds()), "path", res.log)
	case res.Status != 0:
		return fault.New(fault.ProcessCrashed, "command", call.Command.Bin, "exit_status", res.Status, "output", res.tail, "path", res.log)
	}
	return nil
}

func (j *job) countTry(stepID string) int {
	a := j.stage.Attempts.Steps[stepID]
	a.Implementer++
	j.stage.Attempts.Steps[stepID] = a
	j.stage.Counters.ImplementerCalls++
	return a.Implementer
}

func (j *job) roleTimeout(router config.Router) time.Duration {
	if router.Defaults.TimeoutSec > 0 {
		return seconds(router.Defaults.TimeoutSec)
	}
	return j.timeout()
}

// maxArgument is below what Linux takes as one argument (128 KiB). A longer
// prompt is on standard input only.
const maxArgument = 120 << 10

func (j *job) argv(call config.Call, prompt string) ([]string, error) {
	bin, err := exec.LookPath(call.Command.Bin)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, fault.Wrap(err, fault.CLINotAvailable, "command", call.Command.Bin, "name", call.Provider)
	}
	if len(prompt) > maxArgument {
		prompt = j.Words.Text("work.prompt_on_stdin", fault.Facts{"path": j.dir.RequestPath()})
	}
	places := strings.NewReplacer("{{prompt}}", prompt, "{{model}}", call.Model, "{{workdir}}", j.workspacePath())
	argv := []string{bin}
	for _, a := range call.Command.Args {
		argv = append(argv, places.Replace(a))
	}
	return argv, nil
}

// implementerPrompt is what the implementer is told: the step, the rules, the
// request as it is written.
func (j *job) implementerPrompt(i int) string {
	s := j.stage.Steps[i]
	return j.Words.Text("work.prompt_implementer", fault.Facts{
		"step_id": s.StepID, "title": s.Title, "request_id": j.req.ID, "request": string(j.text),
		"max_lines": fault.New("", "n", j.Project.Config.Limits.MaxDiffLines).Facts["n"],
		"max_files": fault.New("", "n", j.Project.Config.Limits.MaxFiles).Facts["n"],
		"forbidden": strings.Join(j.Project.Config.Limits.ForbiddenPaths, " "),
	})
}
