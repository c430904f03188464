package main

import (
	"slices"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta/choose"
	"aiflow/runner"
	"aiflow/runs"
)

// printWaiting names everything that waits for a person now: branches to be
// merged, runs to be resumed, files to be mended.
func printWaiting(s *cli.Shell, p *project.Project, v runner.Session) error {
	w, err := waiting(s, p, v)
	if err != nil {
		return err
	}
	commands := commandsFor(s, p, w.Resume, w.Standing)
	for _, r := range w.Merge {
		if r.Stale != "" {
			s.Printf("%s: %s\n", r.RequestID, staleText(s, r))
			continue
		}
		if r.LandFailed != nil {
			s.Printf("%s: %s\n", r.RequestID, landFailedText(s, r)+warned(s, r.Warnings))
			continue
		}
		s.Printf("%s\n", s.Text("work.session_merge", "id", r.RequestID, "command", app.Merge(s, p, r.WorkBranch))+warned(s, r.Warnings))
	}
	for _, r := range w.Gone {
		s.Printf("%s\n", term.Escape(s.Text("work.session_gone", "id", r.RequestID, "run_id", r.RunID, "branch", r.WorkBranch)))
	}
	for i, r := range w.Resume {
		if st, err := p.Run(r.RequestID, r.RunID).LoadStage(); err == nil && st.Error != nil && st.Error.Meta[fault.QuestionsFact] != "" {
			for q := range strings.SplitSeq(strings.TrimSpace(st.Error.Meta[fault.QuestionsFact]), "\n") {
				s.Printf("%s: %s\n", r.RequestID, q)
			}
		}
		s.Printf("%s\n", s.Text("work.session_resume", "id", r.RequestID, "run_id", r.RunID, "command", commands[i], "reason", r.ReasonCode))
	}
	for _, b := range brokenFiles(w) {
		pairs := []any{"path", b.Path}
		if b.Line > 0 {
			pairs = append(pairs, "line", b.Line)
		}
		s.Printf("%s\n", s.Text("work.session_broken", pairs...))
	}
	kept := make([]*choose.Exclusion, len(w.Kept))
	for i := range w.Kept {
		kept[i] = &w.Kept[i]
	}
	reasons := app.Reasons(kept, false)
	for i, r := range reasons {
		if i == mostKept {
			s.Printf("%s\n", s.Text("work.session_kept_more", "count", len(reasons)-i))
			break
		}
		s.Printf("%s\n", s.Text("work.session_kept", "detail", r.Text(s), "at", r.At(), "reason", r.ReasonCode))
	}
	return nil
}

// mostKept is how many of those that are kept from being run are told one by one.
const mostKept = 10

// keptRequest is a request that is kept from being run until somebody mends
// something; path and line are where it stands, where it stands in its file.
type keptRequest struct {
	RequestID  string     `json:"request_id"`
	ReasonCode fault.Code `json:"reason_code"`
	Detail     string     `json:"detail"`
	Path       string     `json:"path"`
	Line       int        `json:"line,omitempty"`
}

func keptBack(s *cli.Shell, w project.Waiting) []keptRequest {
	list := make([]keptRequest, len(w.Kept))
	for i := range w.Kept {
		e := &w.Kept[i]
		e.Describe(s.Catalog().Text)
		list[i] = keptRequest{e.RequestID, e.ReasonCode, e.Detail, e.Path, e.Line}
	}
	return list
}

// commandsFor are the commands for runs that stopped: what helps most, and where
// nothing does by itself, show, which says why.
func commandsFor(s *cli.Shell, p *project.Project, list []runs.Summary, of *project.Standing) []string {
	commands, stages := make([]string, len(list)), make([]*runs.Stage, 0, len(list))
	for i, r := range list {
		commands[i] = "aiflow run show " + r.RunID
		if st, err := p.Run(r.RequestID, r.RunID).LoadStage(); err == nil {
			stages = append(stages, st)
		}
	}
	by := work.Runner(s, p).Adviser(s.Context(), of)
	for _, st := range stages {
		if st.Error != nil && st.Error.Meta[fault.QuestionsFact] != "" { // without an answer it asks again
			commands[slices.IndexFunc(list, func(r runs.Summary) bool { return r.RunID == st.RunID })] = s.Text("work.answer_command", "run_id", st.RunID)
			continue
		}
		best, ok := fault.Best(advice(s, p, st, by))
		if st.RestackStopped() && best.Verb == fault.VerbRestack {
			continue // show says how the conflict is resolved: until then it is the same again
		}
		if ok {
			commands[slices.IndexFunc(list, func(r runs.Summary) bool { return r.RunID == st.RunID })] = best.Command
		}
	}
	return commands
}

func waiting(s *cli.Shell, p *project.Project, v runner.Session) (project.Waiting, error) {
	all, err := recorded(p)
	if err != nil {
		return project.Waiting{}, err
	}
	w, err := p.Waiting(s.Context(), all, v.Limits.Stack)
	app.Unsure(s, w.Unsure)
	return w, err
}

// sessionAnswer is what status prints as JSON.
type sessionAnswer struct {
	runner.Session
	Now     runner.Counters `json:"counters_now"` // of the same runs, whatever became of them since
	Waiting waitingAnswer   `json:"waiting"`
}

type waitingAnswer struct {
	Merge  []runs.Summary `json:"merge"`
	Resume []runs.Summary `json:"resume"`
	Gone   []runs.Summary `json:"without_request"`
	Broken []brokenFile   `json:"broken"`
	Kept   []keptRequest  `json:"kept"`
}

// brokenFile is where the first error of a request is; no line is the file as
// a whole.
type brokenFile struct {
	RequestID string `json:"request_id"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`
}

func printStatus(s *cli.Shell, p *project.Project, v runner.Session) error {
	w, err := waiting(s, p, v)
	if err != nil {
		return err
	}
	now, err := summaries(s, p, resultsOf(p, v))
	if err != nil {
		return err
	}
	return s.PrintJSON(sessionAnswer{v, countersNow(v, now), waitingAnswer{w.Merge, w.Resume, w.Gone, brokenFiles(w), keptBack(s, w)}})
}

func brokenFiles(w project.Waiting) []brokenFile {
	list := make([]brokenFile, len(w.Broken))
	for i, r := range w.Broken {
		list[i] = brokenFile{r.ID, r.Path, r.FirstError().Line}
	}
	return list
}
