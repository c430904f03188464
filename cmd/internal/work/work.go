// Package work equips the runner of a program: the sentences that it records, the
// doctor that it asks before it goes on, the command line that it notes. So a
// run is the same whether a person, the auto-run or the queue began it.
//
// It does not run anything.
package work

import (
	"context"

	"aiflow/cmd/internal/cli"
	"aiflow/doctor"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner"
	"aiflow/runner/stage"
)

// Runner is a runner for s in p; who is told of its steps and when it stops is
// the caller's to say.
func Runner(s *cli.Shell, p *project.Project) *runner.Runner {
	return &runner.Runner{Setup: stage.Setup{
		Project: p, Words: Words(s), Invoked: s.Args,
		Doctor: func(ctx context.Context) error { return doctor.Gate(ctx, p) },
	}}
}

// Words lends the runner the sentences for what it records.
func Words(s *cli.Shell) stage.Words {
	c := s.Catalog()
	return stage.Words{
		Lang: s.Lang(),
		Text: c.Text,
		Fault: func(code fault.Code, facts fault.Facts) (string, string, []string) {
			r := c.Code(code, facts)
			return r.Title, r.Message, r.Actions
		},
	}
}
