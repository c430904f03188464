package main

import (
	"io"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/runner"
)

// resume goes on with a run that stopped.
func resume(s *cli.Shell, o runner.ResumeOptions, arg string) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	st, _, err := pickStopped(p, arg)
	if err != nil {
		return err
	}
	ctx, hurry := s.Patience()
	show := newShow(s, p)
	o.RequestID, o.RunID = st.RequestID, st.RunID
	out, err := newRunner(s, p, show, hurry).Resume(ctx, o)
	show.end()
	if f, ok := fault.As(err); ok && f.Code == fault.UsageError && f.Facts["key"] == "mode" {
		return cli.Usage("bad_value", "name", "--mode", "value", f.Facts["value"], "allowed", f.Facts["allowed"])
	}
	if err != nil {
		return err
	}
	return report(s, p, out)
}

func answerCommand(s *cli.Shell) *urfave.Command {
	return &urfave.Command{
		Name: "answer", Usage: "work.answer_usage", Description: "work.answer_description", ArgsUsage: "[RUN] TEXT|-",
		UsageText: "aiflow-run answer \"Blue.\"\naiflow-run answer RQ-20251214-001 \"Blue, and by Friday.\"\naiflow-run answer RQ-20251214-001 - <answer.txt",
		Action: func(c *urfave.Context) error {
			run, text := "", c.Args().First()
			if c.NArg() > 1 {
				run, text = text, c.Args().Get(1)
			}
			if text == "-" {
				data, err := io.ReadAll(io.LimitReader(s.Stdin, mostAnswered))
				if err != nil {
					return fault.Wrap(err, fault.UsageError)
				}
				text = string(data)
			}
			if strings.TrimSpace(text) == "" {
				return cli.Usage("bad_value", "name", "TEXT", "value", text, "allowed", "…")
			}
			return resume(s, runner.ResumeOptions{Answer: strings.TrimSpace(text)}, run)
		},
	}
}

// mostAnswered is more than a role should have to read.
const mostAnswered = 64 << 10
