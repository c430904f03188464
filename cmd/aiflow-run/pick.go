package main

import (
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

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

func locate(p *project.Project, arg string) (requestID, runID string, err error) {
	switch _, isRun := runs.ParseRunID(arg); {
	case arg == "":
		return newest(p)
	case isRun:
		requestID, err = runs.FindRun(p.Dir, p.RunsDir(), arg)
		return requestID, arg, err
	}
	ids, err := runs.ListRuns(p.Dir, p.RunsDir(), arg)
	if err != nil {
		return "", "", err
	}
	if len(ids) == 0 {
		return "", "", fault.New(fault.RunNotFound, "request_id", arg)
	}
	return arg, ids[0], nil
}

func newest(p *project.Project) (requestID, runID string, err error) {
	all, err := recorded(p)
	if err != nil {
		return "", "", err
	}
	if len(all) == 0 {
		return "", "", fault.New(fault.RunNotFound)
	}
	return all[0].RequestID, all[0].RunID, nil
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
		if !seen[r.RequestID] && r.State != runs.Done && r.ReplacedBy == "" {
			return pick(p, r.RunID)
		}
		seen[r.RequestID] = true
	}
	return nil, nil, fault.New(fault.NothingToDo, "reason", "nothing_stopped")
}
