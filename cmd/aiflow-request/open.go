package main

import (
	"context"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// view is a project looked over, and what selection says about each file.
type view struct {
	*cli.Shell
	all      bool // tell every problem by itself
	p        *project.Project
	survey   *project.Survey
	done     map[string]bool              // ids that count as done
	runnable map[string]bool              // by path
	on       map[string][]string          // by path: the requests, not merged, on top of which a run would start
	excluded map[string]*choose.Exclusion // by path
}

func open(s *cli.Shell) (*view, error) {
	p, err := app.Open(s, nil)
	if err != nil {
		return nil, err
	}
	v := &view{Shell: s, p: p}
	return v, v.look()
}

// look surveys the project, for the first time or again.
func (v *view) look() error {
	survey, err := v.p.Survey(context.Background())
	if err != nil {
		return err
	}
	app.Notes(v.Shell, survey)
	v.survey = survey
	r := survey.Select()
	v.done = choose.Done(v.survey.Folder, v.survey.Facts)
	v.runnable, v.on, v.excluded = map[string]bool{}, map[string][]string{}, map[string]*choose.Exclusion{}
	for _, c := range r.Runnable {
		v.runnable[c.Path] = true
		for _, on := range c.StackedOn {
			v.on[c.Path] = append(v.on[c.Path], on.RequestID)
		}
	}
	for i := range r.Excluded {
		v.excluded[r.Excluded[i].Path] = &r.Excluded[i]
	}
	return nil
}

// item is a request as scripts see it.
type item struct {
	ID       string            `json:"id"`
	Path     string            `json:"path"`
	Title    string            `json:"title"`
	Meta     reqmeta.Meta      `json:"meta"`
	Derived  derived           `json:"derived"`
	Problems []reqmeta.Problem `json:"problems"`
}

// derived is what follows from all files, the locks and the runs.
type derived struct {
	QueueEligible bool       `json:"queue_eligible"`
	BlockedBy     []string   `json:"blocked_by"`
	StackedOn     []string   `json:"stacked_on,omitempty"` // not merged: a run would start on top of these
	LatestRun     *latestRun `json:"latest_run"`
}

type latestRun struct {
	RunID      string      `json:"run_id"`
	State      string      `json:"state"`
	ReasonCode *fault.Code `json:"reason_code"`
	StartedAt  time.Time   `json:"started_at"`
	FinishedAt *time.Time  `json:"finished_at"`

	Interrupted bool `json:"interrupted"` // not ended, and nobody works for it
}

func (v *view) item(r *reqmeta.Request) item {
	problems := append([]reqmeta.Problem{}, r.Problems...)
	reqmeta.DescribeProblems(problems, v.Catalog().Text)
	return item{
		ID: r.ID, Path: r.Path, Title: r.Title(), Meta: r.Meta, Problems: problems,
		Derived: derived{QueueEligible: v.runnable[r.Path], BlockedBy: choose.BlockedBy(v.survey.Folder, r, v.done), StackedOn: v.on[r.Path], LatestRun: v.latest(r.ID)},
	}
}

// latest is the newest run. One that neither ended nor holds its lock any more
// was interrupted.
func (v *view) latest(id string) *latestRun {
	st := v.survey.Latest(id)
	if st == nil {
		return nil
	}
	run := &latestRun{RunID: st.RunID, State: string(st.State), StartedAt: st.StartedAt, FinishedAt: st.EndedAt}
	interrupted := fault.Interrupted
	switch {
	case st.Error != nil:
		run.ReasonCode = &st.Error.ReasonCode
	case !st.State.Ended() && v.survey.Facts.Holder(id) == nil:
		run.ReasonCode, run.Interrupted = &interrupted, true
	}
	return run
}

// line prints one line; on a terminal it does not run over the edge.
func (v *view) line(text string) {
	if v.Terminal() {
		text = term.Truncate(text, term.Columns(v.Stdout))
	}
	v.Printf("%s\n", text)
}

// readable makes the fault of a refused edit say what is wrong: the sentence
// of the problem that caused it. A value that is not allowed is a mistake on
// the command line.
func readable(err error) error {
	p, ok := reqmeta.ProblemOf(err)
	f, isFault := fault.As(err)
	if !ok || !isFault {
		return err
	}
	pairs := []any{"cause_key", "problem." + p.Kind}
	for k, v := range f.Facts {
		pairs = append(pairs, k, v)
	}
	code := f.Code
	if code == fault.InvalidRequest {
		code = fault.UsageError
	}
	return fault.New(code, pairs...)
}
