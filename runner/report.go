package runner

import (
	"aiflow/internal/config"
	"aiflow/runs"
)

func (j *job) reportFacts() runs.ReportFacts {
	return runs.ReportFacts{MergeCommand: "git merge " + j.stage.Git.WorkBranch}
}

// routed reports whether somebody plays the implementer.
func (j *job) routed() bool {
	router, _, err := config.LoadRouter(j.Project.Dir, j.Project.Config)
	return err == nil && len(router.Calls(config.RoleImplementer)) > 0
}
