package runner

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runner/agent"
)

// hookTimeout bounds a notification: the session waits for it.
const hookTimeout = 30 * time.Second

// hookTail is how much is kept of what a notification says of its failure.
const hookTail = 4096

// notify runs the command that a key of auto_run names for an event, in the
// checkout, and shows a desktop notification where one can be shown. What goes
// wrong with it is a warning.
func (a *auto) notify(key, reason string, res Result) {
	ctx, end := a.r.Afterwards(a.queue.Context())
	defer end()
	event := "stop"
	if res.RunID != "" {
		event = string(res.State)
	}
	limit := a.r.Project.Config.AtMost(hookTimeout)
	needs := ""
	if event == "stop" {
		needs = a.needsYou(ctx)
	}
	cfg := a.r.Project.Config.AutoRun
	if command := map[string]string{"on_done": cfg.OnDone, "on_needs_input": cfg.OnNeedsInput, "on_stop": cfg.OnStop}[key]; command != "" {
		said := &agent.Tail{Max: hookTail}
		exit, err := proc.Run(ctx, proc.Command{
			Argv: []string{agent.Shell, "-c", command}, Dir: a.r.Project.Dir, Timeout: limit, Stderr: said,
			Env: append(agent.CleanEnvironment(a.r.Project.Env.Environ), "AIFLOW_EVENT="+event, "AIFLOW_REASON="+reason,
				"AIFLOW_REQUEST="+res.RequestID, "AIFLOW_RUN_ID="+res.RunID, "AIFLOW_BRANCH="+res.WorkBranch, "AIFLOW_NEEDS_YOU="+needs),
		})
		a.warnHookFailed(key, command, limit, exit, said.String(), err)
	}
	a.desktop(ctx, event, strings.TrimSpace(reason+" "+needs), res, limit)
}

// needsYou names the ready requests that something keeps from being run.
func (a *auto) needsYou(ctx context.Context) string {
	s, err := a.r.Project.Look(ctx)
	if err != nil {
		return "" // what a session ends with says so
	}
	if a.o.Stack {
		s.Stacks(true)
	}
	var names []string
	for i, e := range s.KeptBack() {
		if i == maxNamed {
			names = append(names, "…")
			break
		}
		names = append(names, e.RequestID+" ("+string(e.ReasonCode)+")")
	}
	return strings.Join(names, ", ")
}

// maxNamed is how many requests a notification names.
const maxNamed = 10

// warnHookFailed tells of a notification that failed, if it did.
func (a *auto) warnHookFailed(key, command string, limit time.Duration, exit proc.Exit, said string, err error) {
	if err == nil && exit.Status == 0 && !exit.TimedOut {
		return
	}
	facts := fault.Facts{"name": "auto_run." + key, "command": command}
	switch {
	case err != nil:
		said = err.Error()
	case exit.TimedOut:
		facts["limit"] = limit.String()
	default:
		facts["exit_status"] = strconv.Itoa(exit.Status)
	}
	if line := agent.LastLine(said); line != "" {
		facts["output"] = line
	}
	a.r.Warn("work.hook_failed", nil, facts)
}

// desktop uses notify-send where it is installed and somebody may see it.
func (a *auto) desktop(ctx context.Context, event, reason string, res Result, limit time.Duration) {
	env := a.r.Project.Env
	if event == "DONE" || env.Getenv("DISPLAY") == "" && env.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	bin, err := exec.LookPath("notify-send")
	if err != nil {
		return
	}
	text := res.RequestID + " " + reason
	_, _ = proc.Run(ctx, proc.Command{Argv: []string{bin, "--", "aiflow: " + event, text}, Dir: a.r.Project.Dir, Env: env.Environ, Timeout: limit})
}
