package main

import (
	"context"
	"time"

	"aiflow/cmd/internal/desk"
	"aiflow/cmd/internal/door"
	"aiflow/doctor"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner"
)

type runOptions struct {
	next, dryRun, fresh, takeOverdue bool
	base                             string
	wait                             time.Duration
}

// run does one run: of the request with this id, or of the next one.
func run(s *door.Shell, o runOptions, id string) error {
	if o.next == (id != "") {
		return door.Usage("run_what", "command", s.Name)
	}
	p, err := desk.Open(s, nil)
	if err != nil {
		return err
	}
	ask := runner.Options{RequestID: id, Base: o.base, Fresh: o.fresh, TakeOverdue: o.takeOverdue, Wait: o.wait}
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

func newRunner(s *door.Shell, p *project.Project, show *show, hurry <-chan struct{}) *runner.Runner {
	return &runner.Runner{
		Project: p, Words: words(s), Hurry: hurry, Observe: show.event, Point: desk.Point(p),
		Doctor:    func(ctx context.Context) error { return doctor.Gate(ctx, p) },
		Diagnosis: func(ctx context.Context) any { return diagnosis(ctx, s, p) },
		Invoked:   s.Args,
	}
}

// diagnosis is what doctor finds now, in words.
func diagnosis(ctx context.Context, s *door.Shell, p *project.Project) *doctor.Report {
	r := doctor.Run(ctx, doctor.Options{Env: p.Env, Mode: doctor.Quick})
	c := s.Catalog()
	r.Describe(doctor.Words{
		Has: c.Has, Text: c.Text,
		Fault: func(err error) (string, []string) {
			body := s.Body(err)
			return body.Message, body.Actions
		},
	})
	return r
}

// words lends the runner the sentences for what it records.
func words(s *door.Shell) runner.Words {
	c := s.Catalog()
	return runner.Words{
		Lang: s.Lang(),
		Text: c.Text,
		Fault: func(code fault.Code, facts fault.Facts) (string, string, []string) {
			r := c.Code(code, facts)
			return r.Title, r.Message, r.Actions
		},
	}
}

func dryRun(s *door.Shell, p *project.Project, ask runner.Options) error {
	r := &runner.Runner{Project: p, Words: words(s)}
	plan, err := r.DryRun(context.Background(), ask)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(plan)
	}
	return printDryRun(s, p, plan)
}
