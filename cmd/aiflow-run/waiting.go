package main

import (
	"context"

	"aiflow/cmd/internal/door"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// printWaiting names everything that waits for a person now: branches to be
// merged, runs to be resumed.
func printWaiting(s *door.Shell, p *project.Project) error {
	status, err := statuses(s.Context(), p)
	if err != nil {
		return err
	}
	all, err := recorded(p)
	if err != nil {
		return err
	}
	standing, err := p.Standing(s.Context(), all)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var merge, resume []*runs.Stage
	for _, st := range all {
		newest := !seen[st.RequestID]
		seen[st.RequestID] = true
		switch sum := summary(standing, st); {
		case !newest || status[st.RequestID] == "" || status[st.RequestID] == reqmeta.Archived:
		case sum.State == runs.Done && !sum.Merged && sum.BranchExists:
			merge = append(merge, st)
		case status[st.RequestID] == reqmeta.Done:
		case sum.State == runs.NeedsInput || sum.State == runs.Failed:
			resume = append(resume, st)
		}
	}
	for _, st := range merge {
		s.Printf("%s\n", s.Text("work.session_merge", "id", st.RequestID, "command", gitAt(s, p)+" merge "+st.Git.WorkBranch))
	}
	for _, st := range resume {
		s.Printf("%s\n", s.Text("work.session_resume", "id", st.RequestID, "run_id", st.RunID))
	}
	return nil
}

// statuses are those of the requests that are there.
func statuses(ctx context.Context, p *project.Project) (map[string]string, error) {
	s, err := p.Look(ctx)
	if err != nil {
		return nil, err
	}
	status := map[string]string{}
	for _, r := range s.Folder.Requests {
		status[r.ID] = r.Meta.Status
	}
	return status, nil
}
