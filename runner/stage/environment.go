package stage

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"aiflow/runner/agent"
)

// environment is the caller's without git's variables and ours, plus what a
// command may want to know. PATH begins with the commands that are forbidden.
// See docs/commands.md.
func environment(run *Run, c shellCommand) ([]string, error) {
	guard, err := guardDir(run)
	if err != nil {
		return nil, err
	}
	env := append(agent.CleanEnvironment(run.Project.Env.Environ), "GIT_EDITOR=true") // nobody is there to write: git goes on with what it proposes
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		env = append(env, name+"="+c.env[name])
	}
	env = agent.Guarded(env, guard)
	return append(env,
		"GIT_CONFIG_COUNT=2", // git tidies up before it ends, not behind our back
		"GIT_CONFIG_KEY_0=gc.autoDetach", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=maintenance.autoDetach", "GIT_CONFIG_VALUE_1=false",
		run.Mark(),
		"AIFLOW_REQUEST="+run.Request.ID,
		"AIFLOW_STEP="+c.stepID,
		"AIFLOW_ATTEMPT="+strconv.Itoa(c.attempt),
		"AIFLOW_ROOT="+run.Project.Dir,
		"AIFLOW_WORKSPACE="+run.workDir(),
		"AIFLOW_REQUEST_FILE="+run.Dir.RequestPath(),
		"AIFLOW_ROLE="+c.role,
		"AIFLOW_RESULT="+run.resultPath(c),
	), nil
}

// Mark is in the environment of everything that this run starts and of
// nothing else.
func (run *Run) Mark() string { return "AIFLOW_RUN=" + run.Stage.RunID }

// resultPath is the file in which c may leave its answer. It is removed before
// c starts.
func (run *Run) resultPath(c shellCommand) string {
	who := c.stepID
	if c.role != "" {
		who = strings.TrimSuffix(c.role+"."+c.stepID, ".")
	}
	return run.Dir.ResultPath(who, c.attempt)
}
