package main

import (
	"context"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/project"
	"aiflow/runner"
)

type runOptions struct {
	next, dryRun, fresh, takeOverdue, stack bool
	base                                    string
	wait                                    time.Duration
}

// run does one run: of the request with this id, or of the next one.
func run(s *cli.Shell, o runOptions, id string) error {
	if o.next == (id != "") {
		return cli.Usage("run_what", "command", s.Name)
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	ask := runner.Options{RequestID: id, Base: o.base, Stack: o.stack, Fresh: o.fresh, TakeOverdue: o.takeOverdue, Wait: o.wait}
	if o.dryRun {
		return dryRun(s, p, ask)
	}
	ctx, hurry := s.Patience()
	show := newShow(s, p)
	r := newRunner(s, p, show, hurry)
	out, err := r.Run(ctx, ask)
	show.end()
	if err != nil {
		return err
	}
	return report(s, p, out)
}

func newRunner(s *cli.Shell, p *project.Project, show *show, hurry <-chan struct{}) *runner.Runner {
	r := work.Runner(s, p)
	r.Hurry, r.Observe, r.Point = hurry, show.event, app.Point(p)
	return r
}

func dryRun(s *cli.Shell, p *project.Project, ask runner.Options) error {
	r := work.Runner(s, p)
	plan, err := r.DryRun(context.Background(), ask)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(plan)
	}
	return printDryRun(s, p, plan)
}
