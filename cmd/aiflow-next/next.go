package main

import (
	"context"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/project"
	"aiflow/reqmeta/choose"
)

type options struct {
	all, exitCode bool
	explain       string
	plan          int
}

// question is one call of aiflow-next: the project as it is, and how to answer.
type question struct {
	*cli.Shell
	o      options
	p      *project.Project
	survey *project.Survey
}

func next(s *cli.Shell, o options, planned, explained bool) error {
	switch {
	case planned && explained:
		return cli.Usage("exclusive", "name", "--explain", "other", "--plan")
	case planned && o.plan < 1:
		return cli.Usage("bad_value", "name", "--plan", "value", o.plan, "allowed", "1, 2, 3 …")
	case explained && o.explain == "":
		return cli.Usage("missing_value", "name", "--explain")
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	survey, err := p.Survey(context.Background())
	if err != nil {
		return err
	}
	app.Notes(s, survey)
	if merge := survey.Facts.Merge; merge != nil {
		survey.Facts.Merge = func(branch string) string { return app.FromHere(s, p, merge(branch)) }
	}
	q := &question{Shell: s, o: o, p: p, survey: survey}
	show := q.showNext
	switch {
	case planned:
		show = q.showPlan
	case explained:
		show = q.showExplained
	}
	err = show()
	if s.Flush() == nil {
		survey.Folder.Keep()
	}
	return err
}

func (q *question) showNext() error {
	r := q.survey.Select()
	if r.Next != nil {
		if req := q.survey.Folder.Unique(r.Next.RequestID); req != nil {
			if st := project.RunBeforeRename(q.Context(), q.survey, req); st != nil {
				q.Warn("work.old_name", project.RenameFacts(req, st))
			}
		}
	}
	if q.JSON {
		r.Describe(q.Catalog().Text)
		if err := q.PrintJSON(r); err != nil {
			return err
		}
	} else {
		q.printNext(r)
	}
	return q.end(r.Next != nil)
}

// end is the exit status that --exit-code asks for.
func (q *question) end(found bool) error {
	if q.o.exitCode && !found {
		return cli.Exit(1)
	}
	return nil
}

func (q *question) showPlan() error {
	plan := choose.Plan(q.survey.Folder, q.survey.Facts, q.o.plan)
	if q.JSON {
		if err := q.PrintJSON(struct {
			Plan []choose.Choice `json:"plan"`
		}{plan}); err != nil {
			return err
		}
		return q.end(len(plan) > 0)
	}
	for i, c := range plan {
		q.line("%d. %s", i+1, headline(c.RequestID, c.Priority, c.Title))
	}
	if len(plan) == 0 {
		q.line("%s", q.nothing(q.survey.Select()))
	}
	return q.end(len(plan) > 0)
}
