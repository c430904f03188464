package runner

import (
	"aiflow/internal/fault"
	"aiflow/runs"
)

// reportFacts are the particulars that neither record nor plan has.
func (j *job) reportFacts() runs.ReportFacts {
	g := j.stage.Git
	f := runs.ReportFacts{Gates: append(j.gates(), j.publishGates()...)}
	if g.WorkBranch != "" {
		f.MergeCommand = "git merge " + g.WorkBranch
		f.PushCommand = "git push -u origin " + g.WorkBranch
	}
	if u := j.stage.Artifacts.CompareURL; u != nil {
		f.CompareURL = *u
	}
	if j.plan != nil {
		for _, finding := range j.plan.Check() {
			if !finding.Fail {
				f.Findings = append(f.Findings, finding)
			}
		}
	}
	return f
}

// publishGates tell what became of the push and of the compare URL.
func (j *job) publishGates() []runs.Gate {
	var rows []runs.Gate
	switch {
	case j.stage.HasEvent(runs.EventPushed):
		rows = append(rows, runs.Gate{Name: j.Words.Text("work.gate_push", nil), Status: runs.TestPass, Note: "origin " + j.stage.Git.WorkBranch})
	case j.stage.ReasonCode() == string(fault.GitPushFailed):
		rows = append(rows, runs.Gate{Name: j.Words.Text("work.gate_push", nil), Status: runs.TestFail, Note: j.stage.Error.Message})
	}
	if why := j.stage.Artifacts.CompareProblem; why != "" {
		rows = append(rows, runs.Gate{Name: j.Words.Text("work.gate_compare", nil), Status: "WARN", Note: why})
	}
	return rows
}
