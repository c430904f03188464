package main

import (
	"aiflow/cmd/internal/door"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner"
	"aiflow/runs"
)

// printWaiting names everything that waits for a person now: branches to be
// merged, runs to be resumed.
func printWaiting(s *door.Shell, p *project.Project) error {
	w, err := waiting(s, p)
	if err != nil {
		return err
	}
	for _, st := range w.Merge {
		s.Printf("%s\n", s.Text("work.session_merge", "id", st.RequestID, "command", gitAt(s, p)+" merge "+st.Git.WorkBranch))
	}
	for _, st := range w.Resume {
		s.Printf("%s\n", s.Text("work.session_resume", "id", st.RequestID, "run_id", st.RunID))
	}
	return nil
}

func waiting(s *door.Shell, p *project.Project) (project.Waiting, error) {
	all, err := recorded(p)
	if err != nil {
		return project.Waiting{}, err
	}
	return p.Waiting(s.Context(), all)
}

// sessionAnswer is what status prints as JSON.
type sessionAnswer struct {
	runner.Session
	Waiting waitingAnswer `json:"waiting"`
}

type waitingAnswer struct {
	Merge  []waitingRun `json:"merge"`
	Resume []waitingRun `json:"resume"`
}

type waitingRun struct {
	RequestID  string     `json:"request_id"`
	RunID      string     `json:"run_id"`
	State      runs.State `json:"state"`
	ReasonCode fault.Code `json:"reason_code,omitempty"`
	WorkBranch string     `json:"work_branch"`
}

func printStatus(s *door.Shell, p *project.Project, v runner.Session) error {
	w, err := waiting(s, p)
	if err != nil {
		return err
	}
	return s.PrintJSON(sessionAnswer{v, waitingAnswer{waitingRuns(w.Merge), waitingRuns(w.Resume)}})
}

func waitingRuns(stages []*runs.Stage) []waitingRun {
	list := make([]waitingRun, len(stages))
	for i, st := range stages {
		list[i] = waitingRun{st.RequestID, st.RunID, st.State, fault.Code(st.ReasonCode()), st.Git.WorkBranch}
	}
	return list
}
