package stage

import (
	"context"
	"slices"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// stepTest is one test of one step.
type stepTest struct {
	kind    string
	command string
	limit   config.Timeout
	failed  fault.Code
	warn    bool // a failure is told and stops nothing
	slot    func(*runs.Step) *runs.TestResult
	count   func(*runs.Counters) *int
}

func testsOf(run *Run, i int) []stepTest {
	unit := stepTest{
		kind: runs.LogUnit, failed: fault.UnitTestFailed,
		slot:  func(s *runs.Step) *runs.TestResult { return &s.Test.Unit },
		count: func(c *runs.Counters) *int { return &c.UnitRuns },
	}
	cfg := run.Project.Config
	var tests []stepTest
	if own := run.Plan.Steps[i].Test; own != "" {
		tests = append(tests, unit.with(own, cfg.StepTimeout()))
	}
	t, gates := cfg.Tests, run.Plan.Steps[i].Gates
	if t.Unit.Enabled {
		tests = append(tests, unit.with(t.Unit.Command, cfg.TestTimeout(unit.kind)))
	}
	if t.E2E.Enabled && gates.E2E {
		tests = append(tests, stepTest{
			kind: runs.LogE2E, failed: fault.E2ETestFailed,
			slot:  func(s *runs.Step) *runs.TestResult { return &s.Test.E2E },
			count: func(c *runs.Counters) *int { return &c.E2ERuns },
		}.with(t.E2E.Command, cfg.TestTimeout(runs.LogE2E)))
	}
	if t.Static.Enabled {
		tests = append(tests, stepTest{
			kind: runs.LogStatic, failed: fault.StaticCheckFailed, warn: !t.Static.FailOnError,
			slot:  func(s *runs.Step) *runs.TestResult { return &s.Test.Static },
			count: func(c *runs.Counters) *int { return &c.StaticRuns },
		}.with(t.Static.Command, cfg.TestTimeout(runs.LogStatic)))
	}
	return tests
}

func (t stepTest) with(command string, limit config.Timeout) stepTest {
	t.command, t.limit = command, limit
	return t
}

// test runs the step's own test and the project's, on a workspace whose
// content is recorded: a run that dies in a test goes on with the test.
func test(ctx context.Context, run *Run, i int, changes gitops.ChangeSet) error {
	tests := testsOf(run, i)
	if len(tests) == 0 {
		return nil
	}
	if err := run.Stage.Move(runs.Testing, run.Project.Now()); err != nil {
		return err
	}
	s := &run.Stage.Steps[i]
	s.Tree = changes.Tree
	a := run.Stage.Attempts.Steps[s.StepID]
	a.Tests++ // the logs have that number
	run.Stage.Attempts.Steps[s.StepID] = a
	if err := run.Save(); err != nil {
		return err
	}
	for _, t := range tests {
		if err := runTest(ctx, run, i, t); err != nil {
			return err
		}
		run.At("tested")
	}
	return nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func runTest(ctx context.Context, run *Run, i int, t stepTest) error {
	if strings.TrimSpace(t.command) == "" {
		return orWarn(run, i, t, fault.New(fault.TestCommandNotFound, "key", "tests."+t.kind+".command"))
	}
	s := &run.Stage.Steps[i]
	n := max(1, run.Stage.Attempts.Steps[s.StepID].Tests)
	shown := agent.FirstLine(t.command)
	*t.slot(s) = runs.TestResult{Status: runs.TestRunning, Command: &t.command}
	*t.count(&run.Stage.Counters)++
	res, err := runShell(ctx, run, shellCommand{
		text: t.command, log: t.kind, stepID: s.StepID, attempt: n, limit: t.limit, kind: TestBegun,
	})
	took := res.took.Milliseconds()
	*t.slot(s) = runs.TestResult{Status: runs.TestPass, Command: &shown, LogPath: &res.log, DurationMS: &took}
	if err != nil {
		t.slot(s).Status = runs.TestFail
		return err
	}
	if t.kind == runs.LogE2E {
		keepArtifacts(run, s, n)
	}
	if res.Status == 0 && !res.TimedOut {
		return nil
	}
	cause := testFault(t, res)
	if lacks := missingInWorkspace(ctx, run, res.tail); lacks != "" {
		cause.Facts["lacks"] = lacks
	}
	return orWarn(run, i, t, cause)
}

// missingInWorkspace names what a failing test may have wanted and only the checkout has:
// what its output speaks of, and what languages install beside a project.
func missingInWorkspace(ctx context.Context, run *Run, output string) string {
	if run.Workspace == nil {
		return ""
	}
	installed := []string{"node_modules", ".venv", "venv", "vendor", ".env"}
	names, err := run.Workspace.Lacks(ctx, func(name string) bool {
		return name != ".git" && (slices.Contains(installed, name) || strings.Contains(output, name))
	})
	if err != nil {
		return ""
	}
	names = slices.DeleteFunc(names, func(name string) bool { // ours
		cfg := run.Project.Config.Paths
		return name == cfg.AiflowDir || name == cfg.RunsDir || name == cfg.RequestsDir
	})
	return strings.Join(names, ", ")
}

// orWarn records a failure, and passes it on unless it is only a warning.
func orWarn(run *Run, i int, t stepTest, cause *fault.Error) error {
	s := &run.Stage.Steps[i]
	slot := t.slot(s)
	summary := agent.LastLine(cause.Facts["output"])
	if summary == "" {
		summary = string(cause.Code)
	}
	slot.Status, slot.FailedSummary, slot.Warning = runs.TestFail, &summary, t.warn
	if !t.warn {
		return cause
	}
	run.Tell(Event{Kind: Warned, Step: i + 1, StepID: s.StepID, What: run.InWords(cause)})
	return nil
}

func testFault(t stepTest, res result) *fault.Error {
	code := t.failed
	switch {
	case res.TimedOut:
		code = fault.TestTimeout
	case res.NotStarted():
		code = fault.TestCommandNotFound
	}
	facts := append(agent.NamedCommand(t.command), "exit_status", res.Status, "output", res.tail, "path", res.log)
	return fault.New(code, append(facts, t.limit.Facts()...)...)
}
