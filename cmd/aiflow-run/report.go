package main

import (
	"os"
	"path"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta/choose"
	"aiflow/runner"
	"aiflow/runs"
)

// answer is what a run prints as JSON (D53).
type answer struct {
	OK        bool            `json:"ok"`
	RequestID string          `json:"request_id"`
	RunID     string          `json:"run_id"`
	RunPath   string          `json:"run_path"`
	Stage     answerStage     `json:"stage"`
	Git       answerGit       `json:"git"`
	Artifacts answerArtifacts `json:"artifacts"`
	Error     *cli.ErrorBody  `json:"error,omitempty"`
}

type answerStage struct {
	State      runs.State `json:"state"`
	ReasonCode *string    `json:"reason_code"`
}

type answerGit struct {
	BaseBranch string         `json:"base_branch"`
	BaseCommit string         `json:"base_commit"`
	WorkBranch string         `json:"work_branch"`
	Commits    []answerCommit `json:"commits"`
}

type answerCommit struct {
	StepID string `json:"step_id"`
	Hash   string `json:"hash"`
}

type answerArtifacts struct {
	PlanningJSON string   `json:"planning_json"`
	ReportMD     string   `json:"report_md"`
	Patches      []string `json:"patches"`
	Logs         []string `json:"logs"`
}

// nothing is the answer of --next when no request is runnable.
type nothing struct {
	OK        bool           `json:"ok"`
	RequestID *string        `json:"request_id"`
	RunID     *string        `json:"run_id"`
	Selection *choose.Result `json:"selection"`
}

// report prints how a run ended, and gives its error for the exit status.
func report(s *cli.Shell, p *project.Project, out runner.Outcome) error {
	if out.Selection != nil {
		return reportNothing(s, out.Selection)
	}
	if s.JSON {
		return s.Answer(answerOf(s, p, out), out.Err)
	}
	if out.Err == nil {
		printDone(s, p, out.Stage, out.RunPath)
		return nil
	}
	printStopped(s, p, out)
	return out.Err
}

func reportNothing(s *cli.Shell, sel *choose.Result) error {
	sel.Describe(s.Catalog().Text)
	if s.JSON {
		return s.PrintJSON(nothing{OK: true, Selection: sel})
	}
	s.Printf("%s\n", s.Text("work.nothing", "count", sel.Stats.Total))
	var kept []*choose.Exclusion
	for i := range sel.Excluded {
		if e := &sel.Excluded[i]; e.NeedsMending() {
			kept = append(kept, e)
		}
	}
	reasons := app.Reasons(kept, false)
	for _, r := range reasons[:min(len(reasons), mostKept)] {
		s.Printf("  %s: %s\n", r.ReasonCode, term.Escape(r.Text(s)))
	}
	over := 0
	for i := range sel.Excluded {
		if k := sel.Excluded[i].Kind; k == "not_ready_done" || k == "not_ready_archived" {
			over++
		}
	}
	if len(reasons) == 0 || len(reasons) > mostKept || len(kept)+over < len(sel.Excluded) {
		s.Printf("%s\n", s.Text("work.nothing_hint"))
	}
	return nil
}

func answerOf(s *cli.Shell, p *project.Project, out runner.Outcome) answer {
	st := out.Stage
	a := answer{
		OK: out.Err == nil, RequestID: out.RequestID, RunID: out.RunID, RunPath: out.RunPath,
		Stage: answerStage{State: st.State},
		Git:   answerGit{BaseBranch: st.Git.BaseBranch, BaseCommit: st.Git.BaseCommit, WorkBranch: st.Git.WorkBranch, Commits: []answerCommit{}},
		Artifacts: answerArtifacts{
			ReportMD: path.Join(out.RunPath, "report.md"), Patches: st.Artifacts.Patches,
			Logs: runs.Logs(p.Dir, out.RunPath),
		},
	}
	if len(st.Steps) > 0 {
		a.Artifacts.PlanningJSON = path.Join(out.RunPath, "planning.json")
	}
	for _, c := range st.Git.Commits {
		a.Git.Commits = append(a.Git.Commits, answerCommit{c.StepID, c.Hash})
	}
	if out.Err != nil {
		body := s.Body(out.Err)
		code := string(body.ReasonCode)
		a.Stage.ReasonCode, a.Error = &code, &body
	}
	return a
}

// printDone ends with what a person needs next: branch, commits, report, merge.
func printDone(s *cli.Shell, p *project.Project, st *runs.Stage, runPath string) {
	s.Printf("%s\n", s.Paint(term.Green, s.Text("work.done", "id", st.RequestID, "title", term.Escape(st.Title))))
	printCommits(s, st)
	s.Printf("  %s\n", s.Text("work.branch", "branch", st.Git.WorkBranch, "base", st.Git.BaseBranch))
	s.Printf("  %s\n", s.Text("work.report", "path", app.Here(s, p, path.Join(runPath, "report.md"))))
	s.Printf("  %s\n", s.Text("work.look", "run_id", st.RunID))
	if is := project.StaleNow(s.Context(), p, st); is.On != "" {
		s.Printf("  %s\n", s.Paint(term.Yellow, staleText(s, runs.Summary{RunID: st.RunID, Stale: is.On, Restacks: is.Again})))
		return
	}
	s.Printf("  %s\n", s.Text("work.merge", "command", app.Merge(s, p, st.Git.WorkBranch)))
}

func printCommits(s *cli.Shell, st *runs.Stage) {
	for _, c := range st.Git.Commits {
		s.Printf("  %s %s\n", s.Paint(term.Yellow, term.ShortHash(c.Hash)), term.Escape(c.Subject))
	}
}

func printStopped(s *cli.Shell, p *project.Project, out runner.Outcome) {
	st := out.Stage
	printCommits(s, st)
	key := "work.stopped"
	if !st.State.Ended() {
		key = "work.interrupted"
	}
	s.Printf("%s\n", s.Text(key, "id", st.RequestID, "run_id", st.RunID, "state", st.State, "step_id", st.CurrentStepID))
	printOutput(s, p, out.Err)
	if hasWorkspace(p, st) {
		s.Printf("  %s\n", s.Text("work.workspace", "path", app.Here(s, p, p.Workspace(st))))
	}
	s.Printf("  %s\n", s.Text("work.report", "path", app.Here(s, p, path.Join(out.RunPath, "report.md"))))
	_ = s.Flush()
}

// outputLines is how much of a command's last words is shown at once.
const outputLines = 10

// printOutput shows the end of what the failed command said, and where the
// rest is.
func printOutput(s *cli.Shell, p *project.Project, err error) {
	e, ok := fault.As(err)
	if !ok || e.Facts["output"] == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(e.Facts["output"], "\r\n"), "\n")
	for _, line := range lines[max(0, len(lines)-outputLines):] {
		s.Printf("  %s %s\n", s.Paint(term.Dim, "|"), term.Escape(strings.TrimRight(line, "\r")))
	}
	path := e.Facts["path"]
	if fi, err := os.Stat(p.Path(path)); path != "" && err == nil && fi.Mode().IsRegular() { // of a full disk it is where git wrote
		s.Printf("  %s\n", s.Text("work.log", "path", app.Here(s, p, path)))
	}
}

// printError is for a record's own error, which needs no exit status.
func printError(s *cli.Shell, e *runs.ErrorObject) {
	if e == nil {
		return
	}
	s.Printf("%s: %s\n", s.Paint(term.Red, string(e.ReasonCode)), term.Escape(e.Title))
	if e.Message != "" {
		s.Printf("  %s\n", term.Escape(e.Message))
	}
	for _, a := range e.Actions {
		s.Printf("  %s: %s\n", s.Text("cli.hint"), term.Escape(a))
	}
}
