package main

import (
	"context"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/doctor"
	"aiflow/internal/term"
	"aiflow/project"
)

type options struct{ fix, strict bool }

func examine(s *cli.Shell, o options, mode doctor.Mode) error {
	env, err := app.Env(s, nil)
	if err != nil {
		return err
	}
	app.AdoptLanguage(s, env)
	r := doctor.Run(s.Context(), doctor.Options{
		Env: env, Mode: mode, Fix: o.fix, HookBin: app.Lasting(app.Beside("aiflow-hook")),
		Advised: func(ctx context.Context, p *project.Project, err error) error {
			return work.Runner(s, p).Advised(ctx, err)
		},
	})
	if err := s.Context().Err(); err != nil {
		return err
	}
	r.Describe(doctor.Words{
		Has: s.Catalog().Has, Text: s.Catalog().Text,
		Fault: func(err error) (string, []string) {
			body := s.Body(err)
			return body.Message, body.Actions
		},
	})
	if s.JSON {
		err = s.PrintJSON(r)
	} else {
		show(s, r)
	}
	switch {
	case err != nil:
		return err
	case r.Summary.Status == doctor.Fail:
		return cli.Exit(3)
	case r.Summary.Status == doctor.Warn && o.strict:
		return cli.Exit(1)
	}
	return nil
}

func show(s *cli.Shell, r *doctor.Report) {
	for _, f := range r.Repairs {
		word := s.Paint(term.Green, s.Text("doctor.repaired"))
		if !f.OK {
			word = s.Paint(term.Yellow, s.Text("doctor.not_repaired"))
		}
		s.Printf("%s  %s\n", word, term.Escape(f.Message))
	}
	wide := 0
	for _, c := range r.Checks {
		wide = max(wide, term.Width(c.Name))
	}
	for _, c := range r.Checks {
		s.Printf("%s  %s  %s\n", s.Paint(colour(c.Status), string(c.Status)), term.Pad(c.Name, wide), term.Escape(c.Message))
		for _, hint := range c.Hints {
			s.Printf("%s  %s  → %s\n", "    ", term.Pad("", wide), term.Escape(hint))
		}
	}
	s.Printf("%s  %s\n", s.Paint(colour(r.Summary.Status), string(r.Summary.Status)),
		s.Text("doctor.summary", "failed", r.Summary.FailCount, "warned", r.Summary.WarnCount, "count", len(r.Checks)))
}

func colour(st doctor.Status) term.Style {
	switch st {
	case doctor.Fail:
		return term.Red
	case doctor.Warn:
		return term.Yellow
	}
	return term.Green
}
