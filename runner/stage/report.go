package stage

import (
	"context"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// reportFacts are the particulars that neither record nor plan has.
func reportFacts(run *Run) runs.ReportFacts {
	g := run.Stage.Git
	var f runs.ReportFacts
	for i := range run.Stage.Steps { // about limits and rules; tests and the review are in the record itself
		if run.Plan != nil && i < len(run.Plan.Steps) {
			f.Gates = append(f.Gates, stepGates(run, &run.Stage.Steps[i], &run.Plan.Steps[i])...)
		}
	}
	f.Gates = append(f.Gates, publishGates(run)...)
	if g.WorkBranch != "" {
		f.MergeCommand = "git merge " + g.WorkBranch
		if run.Stage.State == runs.Done { // a report is written after each step
			f.MergeCommand = project.MergeCommand(context.Background(), run.Project, g.WorkBranch)
			f.Stale = project.StaleNow(context.Background(), run.Project, run.Stage).On
		}
		f.PushCommand = "git push -u origin " + g.WorkBranch
	}
	if u := run.Stage.Artifacts.CompareURL; u != nil {
		f.CompareURL = *u
	}
	if run.Plan != nil {
		for _, finding := range run.Plan.Check() {
			if !finding.Fail {
				f.Findings = append(f.Findings, finding)
			}
		}
	}
	return f
}

func stepGates(run *Run, s *runs.Step, p *runs.PlanStep) []runs.Gate {
	maxLines, maxFiles := run.sizeLimits(p)
	size := fault.NewFacts("lines", s.DiffStat.LinesAdded+s.DiffStat.LinesDeleted, "max_lines", maxLines,
		"files", s.DiffStat.FilesChanged, "max_files", maxFiles)
	var rows []runs.Gate
	for _, g := range []struct {
		name string
		code fault.Code
		note string
	}{
		{run.Words.Text("work.gate_size", nil), fault.StepTooLarge, run.Words.Text("work.gate_size_note", size)},
		{run.Words.Text("work.gate_paths", nil), fault.ForbiddenPathTouched, ""},
		{run.Words.Text("work.gate_commands", nil), fault.GHDependencyDetected, ""},
	} {
		row := runs.Gate{Name: s.StepID + " " + g.name, Status: runs.TestPass, Note: g.note}
		switch {
		case s.Error != nil && s.Error.ReasonCode == g.code:
			row.Status, row.Note = runs.TestFail, s.Error.Message
		case !s.Status.Settled():
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// publishGates tell what became of the push and of the compare URL.
func publishGates(run *Run) []runs.Gate {
	var rows []runs.Gate
	switch {
	case run.Stage.HasEvent(runs.EventPushed):
		rows = append(rows, runs.Gate{Name: run.Words.Text("work.gate_push", nil), Status: runs.TestPass, Note: "origin " + run.Stage.Git.WorkBranch})
	case run.Stage.ReasonCode() == string(fault.GitPushFailed):
		rows = append(rows, runs.Gate{Name: run.Words.Text("work.gate_push", nil), Status: runs.TestFail, Note: run.Stage.Error.Message})
	}
	if why := run.Stage.Artifacts.CompareProblem; why != "" {
		rows = append(rows, runs.Gate{Name: run.Words.Text("work.gate_compare", nil), Status: "WARN", Note: why})
	}
	return rows
}
