package runner

import (
	"context"
	"os/exec"
	"time"

	"aiflow/internal/proc"
)

// hookTimeout bounds a notification: the session waits for it.
const hookTimeout = 30 * time.Second

// hook runs the command that the configuration names for an event, in the
// checkout, and shows a desktop notification where one can be shown. What goes
// wrong with it is a warning.
func (a *auto) hook(ctx context.Context, command, reason string, res Result) {
	event := "stop"
	if res.RunID != "" {
		event = string(res.State)
	}
	if command != "" {
		exit, err := proc.Run(ctx, proc.Command{
			Argv: []string{a.r.shellPath(), "-c", command}, Dir: a.r.Project.Dir, Timeout: hookTimeout,
			Env: append(cleanEnvironment(a.r.Project.Env.Environ), "AIFLOW_EVENT="+event, "AIFLOW_REASON="+reason,
				"AIFLOW_REQUEST="+res.RequestID, "AIFLOW_RUN_ID="+res.RunID, "AIFLOW_BRANCH="+res.WorkBranch),
		})
		if err != nil || exit.Status != 0 {
			a.r.tell(Event{Kind: Warned, What: command})
		}
	}
	a.desktop(ctx, event, reason, res)
}

// desktop uses notify-send where it is installed and somebody may see it.
func (a *auto) desktop(ctx context.Context, event, reason string, res Result) {
	env := a.r.Project.Env
	if event == "DONE" || env.Getenv("DISPLAY") == "" && env.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	bin, err := exec.LookPath("notify-send")
	if err != nil {
		return
	}
	text := res.RequestID + " " + reason
	_, _ = proc.Run(ctx, proc.Command{Argv: []string{bin, "--", "aiflow: " + event, text}, Dir: a.r.Project.Dir, Env: env.Environ, Timeout: hookTimeout})
}

func (r *Runner) shellPath() string {
	if r.Shell != "" {
		return r.Shell
	}
	return "/bin/sh"
}
