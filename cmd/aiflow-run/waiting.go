package main

import (
	"strconv"

	"aiflow/cmd/internal/door"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
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
		s.Printf("%s\n", s.Text("work.session_resume", "id", st.RequestID, "run_id", st.RunID, "reason", st.ReasonCode()))
	}
	for _, r := range w.Broken {
		path, line := faultyLine(r)
		s.Printf("%s\n", s.Text("work.session_broken", "path", path, "line", orNone(line)))
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
	Broken []brokenFile `json:"broken"`
}

type brokenFile struct {
	RequestID string `json:"request_id"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`
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
	return s.PrintJSON(sessionAnswer{v, waitingAnswer{waitingRuns(w.Merge), waitingRuns(w.Resume), brokenFiles(w.Broken)}})
}

func brokenFiles(requests []*reqmeta.Request) []brokenFile {
	list := make([]brokenFile, len(requests))
	for i, r := range requests {
		path, line := faultyLine(r)
		list[i] = brokenFile{r.ID, path, line}
	}
	return list
}

// faultyLine is where the first error is; 0 when that has no line.
func faultyLine(r *reqmeta.Request) (path string, line int) {
	for _, p := range r.Problems {
		if p.Level == reqmeta.LevelError {
			return r.Path, p.Line
		}
	}
	return r.Path, 0
}

func orNone(line int) string {
	if line == 0 {
		return ""
	}
	return strconv.Itoa(line)
}

func waitingRuns(stages []*runs.Stage) []waitingRun {
	list := make([]waitingRun, len(stages))
	for i, st := range stages {
		list[i] = waitingRun{st.RequestID, st.RunID, st.State, fault.Code(st.ReasonCode()), st.Git.WorkBranch}
	}
	return list
}
