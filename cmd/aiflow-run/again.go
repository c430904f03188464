package main

import (
	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/runner"
	"aiflow/runs"
)

type resumeOptions struct {
	mode, step string
	force      bool
}

func resumeCommand(s *cli.Shell) *urfave.Command {
	var o resumeOptions
	return &urfave.Command{
		Name: "resume", Usage: "work.resume_usage", Description: "work.resume_description", ArgsUsage: "[RUN]",
		UsageText: "aiflow-run resume RQ-20251214-001\naiflow-run resume --mode retry_step\naiflow-run resume --mode replan RUN-20251214-010203-0a1b2c",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "mode", Usage: "work.resume_mode", Destination: &o.mode},
			&urfave.StringFlag{Name: "step", Usage: "work.resume_step", Destination: &o.step},
			&urfave.BoolFlag{Name: "force", Usage: "work.resume_force", Destination: &o.force},
		},
		Action: func(c *urfave.Context) error { return resume(s, o, c.Args().First()) },
	}
}

// resume goes on with a run that stopped.
func resume(s *cli.Shell, o resumeOptions, arg string) error {
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	st, _, err := pickStopped(p, arg)
	if err != nil {
		return err
	}
	ctx, hurry := s.Patience()
	show := newShow(s, p)
	r := newRunner(s, p, show, hurry)
	out, err := r.Resume(ctx, runner.ResumeOptions{
		RequestID: st.RequestID, RunID: st.RunID, Mode: runs.Mode(o.mode), Step: o.step, Force: o.force,
	})
	show.end()
	if err != nil {
		return inFlags(err)
	}
	return report(s, p, out)
}

// inFlags says which flag was wrong, and what it may be.
func inFlags(err error) error {
	f, ok := fault.As(err)
	if !ok || f.Code != fault.UsageError {
		return err
	}
	flag, value, allowed := "--"+f.Facts["key"], f.Facts["value"], f.Facts["allowed"]
	if f.Facts["key"] == "mode" {
		return cli.Usage("bad_value", "name", flag, "value", value, "allowed", allowed)
	}
	return err
}
