package runner

import (
	"context"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// steps does what is left of the plan, from the recorded step on.
func (j *job) steps(ctx context.Context) error {
	for i := j.stage.CurrentStepIndex; i < len(j.stage.Steps); i++ {
		if j.stage.Steps[i].Status.Settled() {
			continue
		}
		if err := j.step(ctx, i); err != nil {
			return err
		}
	}
	return j.finish(ctx)
}

// step does one step: the command, the limits, the tests, the commit.
func (j *job) step(ctx context.Context, i int) error {
	if err := j.beginStep(i); err != nil {
		return err
	}
	if err := j.implement(ctx, i); err != nil {
		return err
	}
	return j.judgeStep(ctx, i)
}

func (j *job) beginStep(i int) error {
	now := j.Project.Now()
	if j.stage.State != runs.Implementing {
		if err := j.stage.Move(runs.Implementing, now); err != nil {
			return err
		}
	}
	s, err := j.stage.Begin(now, j.stage.Steps[i].StepID)
	if err != nil {
		return err
	}
	j.tell(Event{Kind: StepBegun, Step: i + 1, StepID: s.StepID, Title: s.Title})
	return j.save()
}

// judgeStep takes what a step left in the workspace through the limits and
// the tests into a commit.
func (j *job) judgeStep(ctx context.Context, i int) error {
	changes, err := j.ws.Changes(ctx)
	if err != nil {
		return err
	}
	if err := j.checkLimits(i, changes); err != nil {
		return err
	}
	if err := j.test(ctx, i, changes); err != nil {
		return err
	}
	return j.commitStep(ctx, i)
}

// implement runs the step's own command, or hands the step to the implementer.
func (j *job) implement(ctx context.Context, i int) error {
	s, p := &j.stage.Steps[i], j.plan.Steps[i]
	if p.Run == "" {
		if p.Test != "" && !j.routed() {
			return nil
		}
		return j.callImplementer(ctx, i)
	}
	c := shellCommand{
		text: p.Run, log: runs.LogStep, stepID: s.StepID, attempt: s.Attempt,
		timeout: j.timeout(), kind: CommandBegun,
	}
	res, err := j.shell(ctx, c)
	if err != nil {
		return err
	}
	j.at("step_command")
	s.Logs = appendOnce(s.Logs, res.log)
	return j.judgeCommand(c, res)
}

func (j *job) judgeCommand(c shellCommand, res result) error {
	switch {
	case res.TimedOut:
		return fault.New(fault.AgentTimeout, "command", c.text, "seconds", int(c.timeout.Seconds()), "path", res.log)
	case res.Status != 0:
		return fault.New(fault.StepCommandFailed, "command", c.text, "exit_status", res.Status, "output", res.tail, "path", res.log)
	}
	return nil
}

func (j *job) timeout() time.Duration {
	return time.Duration(j.Project.Config.Limits.TimeoutSec) * time.Second
}

func appendOnce(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// commitStep makes the step's commit and records it. An empty step is a commit
// too: one step, one commit.
func (j *job) commitStep(ctx context.Context, i int) error {
	s := &j.stage.Steps[i]
	if err := j.held(); err != nil {
		return err
	}
	patch, err := j.ws.Patch(ctx)
	if err != nil {
		return err
	}
	name, err := j.dir.SavePatch(s.StepID, 0, patch)
	if err != nil {
		return err
	}
	s.PatchPath = &name
	j.stage.Artifacts.Patches = appendOnce(j.stage.Artifacts.Patches, name)
	j.at("before_commit")
	hash, err := j.ws.Commit(ctx, j.stepMessage(s), j.commitOptions())
	if err != nil {
		return err
	}
	j.at("committed")
	return j.stepDone(i, hash)
}

func (j *job) commitOptions() gitops.CommitOptions {
	return gitops.CommitOptions{
		RunHooks: j.Project.Config.Git.RunHooks, AllowEmpty: true,
		Env: []string{j.mark(), "AIFLOW_REQUEST=" + j.req.ID},
	}
}

func (j *job) stepMessage(s *runs.Step) gitops.CommitMessage {
	return gitops.CommitMessage{
		Subject: "aiflow(" + j.req.ID + "): " + oneLine(s.Title) + " [" + s.StepID + "]",
		Trailers: [][2]string{
			{project.RequestTrailer, j.req.ID}, {project.RunTrailer, j.stage.RunID}, {project.StepTrailer, s.StepID},
		},
	}
}

func (j *job) stepDone(i int, hash string) error {
	s := &j.stage.Steps[i]
	if err := j.stage.Finish(j.Project.Now(), oneLine(s.Title)); err != nil {
		return err
	}
	j.stage.Git.Commits = append(j.stage.Git.Commits, runs.Commit{StepID: s.StepID, Hash: hash, Subject: j.stepMessage(s).Subject})
	if err := j.save(); err != nil {
		return err
	}
	j.tell(Event{Kind: StepDone, Step: i + 1, StepID: s.StepID, Title: s.Title, What: hash})
	return j.saveReport()
}

// checkLimits holds a step to its size and to where it may write.
func (j *job) checkLimits(i int, changes gitops.ChangeSet) error {
	s, lim := &j.stage.Steps[i], j.Project.Config.Limits
	lines := changes.Added + changes.Deleted
	s.DiffStat = runs.DiffStat{FilesChanged: len(changes.Files), LinesAdded: changes.Added, LinesDeleted: changes.Deleted}
	paths := changedPaths(changes)
	if name, glob := forbidden(lim.ForbiddenPaths, paths); name != "" {
		return fault.New(fault.ForbiddenPathTouched, "path", name, "allowed", glob)
	}
	if lines > lim.MaxDiffLines || len(changes.Files) > lim.MaxFiles {
		s.DiffStat.TooLarge = true
		return fault.New(fault.StepTooLarge, "lines", lines, "max_lines", lim.MaxDiffLines,
			"files", len(changes.Files), "max_files", lim.MaxFiles)
	}
	return nil
}

func changedPaths(changes gitops.ChangeSet) []string {
	var paths []string
	for _, f := range changes.Files {
		paths = append(paths, f.Path)
		if f.OldPath != "" {
			paths = append(paths, f.OldPath)
		}
	}
	return paths
}

// test runs the step's own test and the project's, on a workspace whose
// content is recorded: a run that dies in a test goes on with the test.
func (j *job) test(ctx context.Context, i int, changes gitops.ChangeSet) error {
	tests := j.testsOf(i)
	if len(tests) == 0 {
		return nil
	}
	if err := j.stage.Move(runs.Testing, j.Project.Now()); err != nil {
		return err
	}
	j.stage.Steps[i].Tree = changes.Tree
	if err := j.save(); err != nil {
		return err
	}
	for _, t := range tests {
		if err := j.runTest(ctx, i, t); err != nil {
			return err
		}
		j.at("tested")
	}
	return nil
}

// stepTest is one test of one step.
type stepTest struct {
	kind    string
	command string
	timeout time.Duration
	failed  fault.Code
	slot    func(*runs.Step) *runs.TestResult
}

func (j *job) testsOf(i int) []stepTest {
	unit := func(s *runs.Step) *runs.TestResult { return &s.Test.Unit }
	var tests []stepTest
	if own := j.plan.Steps[i].Test; own != "" {
		tests = append(tests, stepTest{runs.LogUnit, own, j.timeout(), fault.UnitTestFailed, unit})
	}
	t, gates := j.Project.Config.Tests, j.plan.Steps[i].Gates
	if t.Unit.Enabled {
		tests = append(tests, stepTest{runs.LogUnit, t.Unit.Command, seconds(t.Unit.TimeoutSec), fault.UnitTestFailed, unit})
	}
	if t.E2E.Enabled && gates.E2E {
		tests = append(tests, stepTest{
			runs.LogE2E, t.E2E.Command, seconds(t.E2E.TimeoutSec), fault.E2ETestFailed,
			func(s *runs.Step) *runs.TestResult { return &s.Test.E2E },
		})
	}
	if t.Static.Enabled {
		tests = append(tests, stepTest{
			runs.LogStatic, t.Static.Command, seconds(t.Static.TimeoutSec), fault.StaticCheckFailed,
			func(s *runs.Step) *runs.TestResult { return &s.Test.Static },
		})
	}
	return tests
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func (j *job) runTest(ctx context.Context, i int, t stepTest) error {
	s := &j.stage.Steps[i]
	res, err := j.shell(ctx, shellCommand{
		text: t.command, log: t.kind, stepID: s.StepID, attempt: s.Attempt, timeout: t.timeout, kind: TestBegun,
	})
	if err != nil {
		return err
	}
	slot := t.slot(s)
	took := res.took.Milliseconds()
	*slot = runs.TestResult{Status: runs.TestPass, Command: &t.command, LogPath: &res.log, DurationMS: &took}
	s.Logs = appendOnce(s.Logs, res.log)
	if res.Status == 0 && !res.TimedOut {
		return nil
	}
	summary := lastLine(res.tail)
	slot.Status, slot.FailedSummary = runs.TestFail, &summary
	return j.testFault(t, res)
}

// Exit statuses of a shell for a command that it cannot start.
const (
	shellCannotExecute = 126
	shellNotFound      = 127
)

func (j *job) testFault(t stepTest, res result) error {
	code := t.failed
	switch {
	case res.TimedOut:
		code = fault.TestTimeout
	case res.Status == shellNotFound || res.Status == shellCannotExecute:
		code = fault.TestCommandNotFound
	}
	return fault.New(code, "command", t.command, "exit_status", res.Status, "output", res.tail,
		"path", res.log, "seconds", int(t.timeout.Seconds()))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
