package main

import (
	"os"
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner/revive"
	"aiflow/runs"
)

// shown is a run as JSON (D45's run detail).
type shown struct {
	RequestID string       `json:"request_id"`
	RunID     string       `json:"run_id"`
	Stage     *runs.Stage  `json:"stage"`
	Planning  *runs.Plan   `json:"planning"`
	Report    shownReport  `json:"report"`
	Errors    *runs.Errors `json:"errors"`
	Logs      []shownLog   `json:"logs"`

	Interrupted  bool `json:"interrupted"`
	Merged       bool `json:"merged"`
	BranchExists bool `json:"branch_exists"`

	Warnings []runs.Warning `json:"warnings"`
	Advice   []fault.Advice `json:"advice"` // what can be done now
}

type shownReport struct {
	Path     string `json:"path"`
	Markdown string `json:"markdown"`
}

type shownLog struct {
	Path string `json:"path"`
}

func showRun(s *cli.Shell, arg string) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	st, dir, err := pick(p, arg)
	if err != nil {
		return err
	}
	standing, err := p.Standing(s.Context(), []*runs.Stage{st})
	if err != nil {
		return err
	}
	app.Unsure(s, standing.Unsure)
	sum := standing.Summary(st)
	list := advice(s, p, st, work.Runner(s, p).Adviser(s.Context(), standing))
	st = st.Reworded(work.Words(s).Fault, list)
	if s.JSON {
		v := shown{
			RequestID: st.RequestID, RunID: st.RunID, Stage: st, Logs: []shownLog{}, Warnings: sum.Warnings, Advice: list,
			Interrupted: sum.Interrupted, Merged: sum.Merged, BranchExists: sum.BranchExists,
		}
		v.Planning, _ = dir.LoadPlan()
		errs, _ := dir.LoadErrors()
		v.Errors = errs.Reworded(work.Words(s).Fault, list)
		v.Report.Path = dir.RelPath("report.md")
		v.Report.Markdown, _ = dir.LoadReport()
		for _, l := range runs.Logs(p.Dir, dir.Rel) {
			v.Logs = append(v.Logs, shownLog{l})
		}
		return s.PrintJSON(v)
	}
	printRun(s, p, st, sum, dir, list)
	return nil
}

// advice is what can be done now about a run, as the shell takes it.
func advice(s *cli.Shell, p *project.Project, st *runs.Stage, by *revive.Adviser) []fault.Advice {
	list := by.Advice(s.Context(), st)
	for i := range list {
		if list[i].Verb == fault.VerbMerge {
			list[i].Command = app.Merge(s, p, st.Git.WorkBranch)
		}
	}
	return list
}

func printRun(s *cli.Shell, p *project.Project, st *runs.Stage, sum runs.Summary, dir *runs.Dir, list []fault.Advice) {
	s.Printf("%s  %s  %s\n", st.RunID, s.Paint(stateStyle(st.State), stateText(s, sum)), term.Escape(st.Title))
	if sum.Interrupted && sum.Waits != nil {
		s.Printf("%s\n", term.Escape(s.Catalog().Text("work.show_waits", sum.Waits.Facts())))
	}
	if sum.Interrupted {
		s.Printf("%s\n", s.Text("work.show_interrupted", "step_id", st.CurrentStepID, "state", st.State))
	}
	if st.DroppedAt == nil {
		printError(s, st.Error)
	}
	printNow(s, st, list)
	for i := range st.Steps {
		step := &st.Steps[i]
		status := string(step.Status)
		if sum.Interrupted && step.Status != runs.StepPending && !step.Status.Settled() { // nobody works for it
			status = string(fault.Interrupted)
		}
		s.Printf("  %s  %s  %s\n", step.StepID, term.Pad(status, 11), term.Escape(step.Title))
		for _, note := range step.Notes {
			s.Printf("       %s\n", s.Paint(term.Yellow, term.Escape(note)))
		}
	}
	for _, w := range sum.Warnings {
		if w != runs.ChangedNothing { // which the step says
			s.Printf("  %s\n", s.Paint(term.Yellow, s.Text("work."+strings.ToLower(string(w)))))
		}
	}
	if st.HasEvent(runs.EventOldSteps) {
		s.Printf("  %s\n", s.Paint(term.Yellow, s.Text("report.summary.old_steps", "fresh", runs.Fresh(st))))
	}
	if sum.Usage != nil {
		s.Printf("  %s\n", s.Catalog().Text("work.used", sum.Usage.Facts()))
	}
	printCommits(s, st)
	s.Printf("  %s\n", s.Text("work.branch", "branch", st.Git.WorkBranch, "base", st.Git.BaseBranch))
	for _, on := range st.Git.StackedOn {
		s.Printf("  %s\n", s.Text("work.stacked", "id", on.RequestID, "run_id", on.RunID, "commit", term.ShortHash(on.Commit)))
	}
	if sum.Stale != "" {
		s.Printf("  %s\n", s.Paint(term.Yellow, staleText(s, sum)))
	}
	if sum.LandFailed != nil && sum.Stale == "" {
		s.Printf("  %s\n", s.Paint(term.Yellow, landFailedText(s, sum)))
	}
	if is := project.StaleNow(s.Context(), p, st); is.On != "" && st.State != runs.Done && st.DroppedAt == nil && !st.RestackStopped() {
		s.Printf("  %s\n", s.Paint(term.Yellow, s.Text("work.stale_below", "on", is.On, "run_id", st.RunID)))
	}
	if l := st.Landed; l != nil && l.At != nil {
		s.Printf("  %s\n", s.Text("work.landed", "into", l.Into, "commit", term.ShortHash(l.Commit), "at", l.At.Local().Format(time.DateTime)))
	}
	if hasWorkspace(p, st) {
		s.Printf("  %s\n", s.Text("work.workspace", "path", app.Here(s, p, p.Workspace(st))))
	}
	for _, l := range st.Artifacts.Left {
		s.Printf("  %s\n", s.Catalog().Text(l.Key(), l.Facts()))
	}
	s.Printf("  %s\n", s.Text("work.report", "path", app.Here(s, p, dir.RelPath("report.md"))))
	for _, a := range list {
		if a.Verb == fault.VerbMerge {
			s.Printf("  %s\n", s.Text("work.merge", "command", a.Command))
		}
	}
}

func staleText(s *cli.Shell, sum runs.Summary) string {
	restack := ""
	if sum.Restacks {
		restack = "aiflow run restack " + sum.RunID
	}
	return s.Text("work.stale", "on", sum.Stale, "command", restack, "run_id", sum.RunID)
}

func landFailedText(s *cli.Shell, sum runs.Summary) string {
	f := sum.LandFailed
	return s.Text("work.land_failed", "reason", f.ReasonCode, "into", f.Into, "branch", sum.WorkBranch, "run_id", sum.RunID,
		"run", fault.AfterLandFailed(sum.RequestID, proc.Word(f.Into))[0].Command)
}

// hasWorkspace: the folder is there, and no later run has it.
func hasWorkspace(p *project.Project, st *runs.Stage) bool {
	if st.State == runs.Done || st.DroppedAt != nil || st.ReplacedBy != "" || st.Git.Workspace == "" {
		return false
	}
	fi, err := os.Stat(p.Path(p.Workspace(st)))
	return err == nil && fi.IsDir()
}

// printNow says what can be done now where the reason of a stop does not: about a
// run that did not stop for one, and where something around it is in the way.
func printNow(s *cli.Shell, st *runs.Stage, list []fault.Advice) {
	hint := func(key string, pairs ...any) {
		s.Printf("  %s: %s\n", s.Text("cli.hint"), s.Text(key, pairs...))
	}
	for _, a := range list {
		switch {
		case st.Error == nil && a.Verb == fault.VerbSuccessor:
			hint("work.show_successor", "command", a.Command)
		case st.Error == nil && a.Recommended && a.Mode != "":
			hint("work.show_do", "command", a.Command)
		case a.Mode == runs.ModeResume && a.Lacks() && (a.WhyNot.Info().Category == fault.Environment || string(a.WhyNot) != st.ReasonCode()):
			hint("work.show_refused", "reason", a.WhyNot, "command", "aiflow doctor")
			if st.Error == nil && a.Force { // nor as the request is by now
				hint("work.show_refused", "reason", fault.ReplanRequired, "command", "aiflow next --explain "+proc.Word(st.RequestID))
			}
		case a.Mode == runs.ModeResume && a.WhyNot == fault.RequestNotFound:
			hint("work.show_refused", "reason", a.WhyNot, "command", "git status")
		}
	}
}

func stateStyle(st runs.State) term.Style {
	switch st {
	case runs.Done:
		return term.Green
	case runs.NeedsInput, runs.Failed:
		return term.Red
	}
	return term.Yellow
}
