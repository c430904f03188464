package runner

import (
	"context"
	"slices"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
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

func (j *job) testsOf(i int) []stepTest {
	unit := stepTest{
		kind: runs.LogUnit, failed: fault.UnitTestFailed,
		slot:  func(s *runs.Step) *runs.TestResult { return &s.Test.Unit },
		count: func(c *runs.Counters) *int { return &c.UnitRuns },
	}
	cfg := j.Project.Config
	var tests []stepTest
	if own := j.plan.Steps[i].Test; own != "" {
		tests = append(tests, unit.with(own, cfg.StepTimeout()))
	}
	t, gates := cfg.Tests, j.plan.Steps[i].Gates
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

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// countTests numbers the times that a step is tested; its logs have that
// number.
func (j *job) countTests(i int) {
	a := j.stage.Attempts.Steps[j.stage.Steps[i].StepID]
	a.Tests++
	j.stage.Attempts.Steps[j.stage.Steps[i].StepID] = a
}

func (j *job) runTest(ctx context.Context, i int, t stepTest) error {
	if strings.TrimSpace(t.command) == "" {
		return j.orWarn(i, t, fault.New(fault.TestCommandNotFound, "key", "tests."+t.kind+".command"))
	}
	s := &j.stage.Steps[i]
	n := max(1, j.stage.Attempts.Steps[s.StepID].Tests)
	shown := firstLine(t.command)
	*t.slot(s) = runs.TestResult{Status: runs.TestRunning, Command: &t.command}
	*t.count(&j.stage.Counters)++
	res, err := j.shell(ctx, shellCommand{
		text: t.command, log: t.kind, stepID: s.StepID, attempt: n, limit: t.limit, kind: TestBegun,
	})
	took := res.took.Milliseconds()
	*t.slot(s) = runs.TestResult{Status: runs.TestPass, Command: &shown, LogPath: &res.log, DurationMS: &took}
	if err != nil {
		t.slot(s).Status = runs.TestFail
		return err
	}
	if t.kind == runs.LogE2E {
		j.keepArtifacts(s, n)
	}
	if res.Status == 0 && !res.TimedOut {
		return nil
	}
	cause := testFault(t, res)
	if lacks := j.lacks(ctx, res.tail); lacks != "" {
		cause.Facts["lacks"] = lacks
	}
	return j.orWarn(i, t, cause)
}

// lacks names what a failing test may have wanted and only the checkout has:
// what its output speaks of, and what languages install beside a project.
func (j *job) lacks(ctx context.Context, output string) string {
	if j.ws == nil {
		return ""
	}
	installed := []string{"node_modules", ".venv", "venv", "vendor", ".env"}
	names, err := j.ws.Lacks(ctx, func(name string) bool {
		return name != ".git" && (slices.Contains(installed, name) || strings.Contains(output, name))
	})
	if err != nil {
		return ""
	}
	names = slices.DeleteFunc(names, func(name string) bool { // ours
		cfg := j.Project.Config.Paths
		return name == cfg.AiflowDir || name == cfg.RunsDir || name == cfg.RequestsDir
	})
	return strings.Join(names, ", ")
}

// orWarn records a failure, and passes it on unless it is only a warning.
func (j *job) orWarn(i int, t stepTest, cause *fault.Error) error {
	s := &j.stage.Steps[i]
	slot := t.slot(s)
	summary := lastLine(cause.Facts["output"])
	if summary == "" {
		summary = string(cause.Code)
	}
	slot.Status, slot.FailedSummary, slot.Warning = runs.TestFail, &summary, t.warn
	if !t.warn {
		return cause
	}
	j.tell(Event{Kind: Warned, Step: i + 1, StepID: s.StepID, What: j.inWords(cause)})
	return nil
}

// Exit statuses of a shell for a command that it cannot start.
const (
	shellCannotExecute = 126
	shellNotFound      = 127
)

func testFault(t stepTest, res result) *fault.Error {
	code := t.failed
	switch {
	case res.TimedOut:
		code = fault.TestTimeout
	case res.Status == shellNotFound || res.Status == shellCannotExecute:
		code = fault.TestCommandNotFound
	}
	facts := append(named(t.command), "exit_status", res.Status, "output", res.tail, "path", res.log)
	return fault.New(code, append(facts, t.limit.Facts()...)...)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
