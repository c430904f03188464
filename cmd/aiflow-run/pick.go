package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// open opens the project for who asks for runs: one whose record is lost, and whose
// finished branch is there, is on record before anybody looks.
func open(s *cli.Shell) (*project.Project, error) {
	p, err := app.Open(s, nil)
	if err != nil {
		return nil, err
	}
	if survey, err := project.RecordLost(s.Context(), p); err == nil && survey != nil {
		app.Notes(s, survey)
	}
	return p, nil
}

// pick finds the run that a person means: a run id, a request id (its newest
// run), or nothing (the newest run of all).
func pick(p *project.Project, arg string) (*runs.Stage, *runs.Dir, error) {
	requestID, runID, err := locate(p, arg)
	if err != nil {
		return nil, nil, err
	}
	dir := p.Run(requestID, runID)
	st, err := dir.LoadStage()
	return st, dir, err
}

// locate resolves a name to a run: a whole id wins over the beginning of one.
func locate(p *project.Project, arg string) (requestID, runID string, err error) {
	if arg == "" {
		all, err := recorded(p)
		if err == nil && len(all) == 0 {
			err = fault.New(fault.RunNotFound)
		}
		if err != nil {
			return "", "", err
		}
		return all[0].RequestID, all[0].RunID, nil
	}
	if _, isRun := runs.ParseRunID(arg); isRun {
		if requestID, err = runs.FindRun(p.Dir, p.RunsDir(), arg); err == nil {
			return requestID, arg, nil
		}
	}
	id, err := named(p, arg)
	if strings.HasPrefix(arg, runs.IDPrefix) && (err != nil || id != arg) { // a request may have such an id, too
		return begunWith(p, arg)
	}
	if err != nil {
		return "", "", err
	}
	ids, err := runs.ListRuns(p.Dir, p.RunsDir(), id)
	if err == nil && len(ids) == 0 {
		err = noRun("request_id", id, "reason", "never_ran")
	}
	if err != nil {
		return "", "", err
	}
	return id, ids[0], nil
}

// begunWith finds the only run whose id begins so.
func begunWith(p *project.Project, arg string) (requestID, runID string, err error) {
	all, err := recorded(p)
	if err != nil {
		return "", "", err
	}
	all = slices.DeleteFunc(all, func(st *runs.Stage) bool { return !strings.HasPrefix(st.RunID, arg) })
	if len(all) == 1 {
		return all[0].RequestID, all[0].RunID, nil
	}
	var similar []string
	for _, st := range all[:min(len(all), mostSimilar)] {
		similar = append(similar, st.RunID)
	}
	missing := noRun("run_id", arg)
	if len(similar) > 0 {
		missing.Facts["similar"] = strings.Join(similar, ", ")
	}
	return "", "", missing
}

const mostSimilar = 5

// named is the id of the request that a person means. One whose file is gone
// is known by its runs.
func named(p *project.Project, arg string) (string, error) {
	withRuns, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	if err != nil || withRuns[arg] {
		return arg, err
	}
	s, err := p.Look(context.Background())
	if err != nil {
		return "", err
	}
	req, err := app.Find(p, s.Folder, arg)
	if err == nil {
		return req.ID, nil
	}
	if f, ok := fault.As(err); !ok || f.Code != fault.RequestNotFound || f.Facts["similar"] != "" {
		return "", err
	}
	left := slices.DeleteFunc(slices.Sorted(maps.Keys(withRuns)), func(id string) bool { return !strings.HasPrefix(id, arg) })
	if len(left) == 1 {
		return left[0], nil
	}
	return "", err
}

// pickStopped is pick, but nothing named means the newest run that can go on.
func pickStopped(p *project.Project, arg string) (*runs.Stage, *runs.Dir, error) {
	if arg != "" {
		return pick(p, arg)
	}
	all, err := recorded(p)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, r := range all {
		if r.DroppedAt != nil {
			continue
		}
		if !seen[r.RequestID] && r.State != runs.Done && r.ReplacedBy == "" {
			return pick(p, r.RunID)
		}
		seen[r.RequestID] = true
	}
	return nil, nil, nothingToDo("nothing_stopped")
}

func nothingToDo(reason string) error { return fault.New(fault.NothingToDo, "reason", reason) }

func noRun(which, value string, more ...any) *fault.Error {
	return fault.New(fault.RunNotFound, append(more, which, value)...)
}
