package runner

import (
	"context"
	"slices"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runs"
)

// steps does what is left of the plan, from the recorded step on.
func (j *job) steps(ctx context.Context) error {
	for i := j.stage.CurrentStepIndex; i < len(j.stage.Steps); i++ {
		if j.stage.Steps[i].Status.Settled() {
			continue
		}
		if most := j.Project.Config.Limits.MaxStepsPerRun; most > 0 && j.stepped >= most {
			return fault.New(fault.StepLimitReached, "allowed", most)
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
	j.stage.Steps[i].Implemented = true
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
	j.mended = 0
	j.tell(Event{Kind: StepBegun, Step: i + 1, StepID: s.StepID, Title: s.Title})
	return j.save()
}

// judgeStep takes what a step left in the workspace through the limits, the
// tests and the review into a commit. What the implementer can mend goes back
// to it first.
func (j *job) judgeStep(ctx context.Context, i int) error {
	for {
		cause := j.judge(ctx, i)
		if cause == nil {
			return j.commitStep(ctx, i)
		}
		again, err := j.sendBack(ctx, i, cause)
		if err != nil {
			return err
		}
		if !again {
			return cause
		}
	}
}

func (j *job) judge(ctx context.Context, i int) error {
	changes, err := j.ws.Judged(ctx, len(j.testsOf(i)) > 0 || j.plays(config.RoleQA))
	if err != nil {
		return err
	}
	j.changed = changes.Files
	if err := j.checkLimits(i, changes); err != nil {
		return err
	}
	if err := j.test(ctx, i, changes); err != nil {
		return err
	}
	if err := j.proved(i); err != nil {
		return err
	}
	return j.review(ctx, i, changes)
}

// implement runs the step's own command, or hands the step to the implementer.
func (j *job) implement(ctx context.Context, i int) error {
	s, p := &j.stage.Steps[i], j.plan.Steps[i]
	if p.Run == "" {
		if p.Test != "" && !j.plays(config.RoleImplementer) {
			return nil
		}
		return j.callImplementer(ctx, i, "")
	}
	c := shellCommand{
		text: p.Run, log: runs.LogStep, stepID: s.StepID, attempt: s.Attempt,
		limit: j.Project.Config.StepTimeout(), kind: CommandBegun,
	}
	a := j.stage.Attempts.Steps[s.StepID]
	a.Implementer = s.Attempt
	j.stage.Attempts.Steps[s.StepID] = a
	res, err := j.shell(ctx, c)
	if err != nil {
		return err
	}
	j.at("step_command")
	if err := j.rejoin(ctx, s); err != nil {
		return err
	}
	return j.judgeCommand(c, res)
}

func (j *job) judgeCommand(c shellCommand, res result) error {
	switch {
	case res.TimedOut:
		return fault.New(fault.AgentTimeout, append(append(named(c.text), "path", res.log), c.limit.Facts()...)...)
	case res.Status != 0:
		return fault.New(fault.StepCommandFailed, append(named(c.text), "exit_status", res.Status, "output", res.tail, "path", res.log)...)
	}
	return nil
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
	patch, err := j.ws.Patch(ctx)
	if err != nil {
		return err
	}
	if err := j.forbiddenInPatch(s, patch); err != nil {
		return err
	}
	if err := j.held(); err != nil {
		return err
	}
	j.noteEmpty(i, patch)
	j.noteRepositories(s)
	name, err := j.dir.SavePatch(s.StepID, 0, patch)
	if err != nil {
		return err
	}
	s.PatchPath = &name
	j.stage.Artifacts.Patches = appendOnce(j.stage.Artifacts.Patches, name)
	j.at("before_commit")
	hash, err := j.commit(ctx, j.stepMessage(s))
	if err != nil {
		return err
	}
	j.at("committed")
	return j.stepDone(i, hash)
}

// noteEmpty tells of a step that was to change something and did not. A step
// that only tests is none of them.
func (j *job) noteEmpty(i int, patch []byte) {
	s := &j.stage.Steps[i]
	if len(patch) > 0 || j.plan.Steps[i].Run == "" && !j.plays(config.RoleImplementer) {
		return
	}
	s.ChangedNothing = true
	j.note(s, "work.note_empty")
}

// noteRepositories tells of repositories inside the workspace, of which a branch
// holds no file.
func (j *job) noteRepositories(s *runs.Step) {
	for _, name := range j.ws.Unborn() {
		j.noteText(s, j.Words.Text("work.note_unborn", fault.Facts{"name": name}))
	}
	for _, f := range j.changed {
		if f.Submodule && f.Status == gitops.Added {
			j.noteText(s, j.Words.Text("work.note_nested", fault.Facts{"name": f.Path}))
		}
	}
}

// noteSettings tells of git's configuration that a command changed: it is the
// checkout's too, and no branch holds it.
func (j *job) noteSettings(ctx context.Context, stepID string, before []byte) {
	changed, put, err := j.repo.ChangedSettings(ctx, before)
	if err != nil {
		j.tell(Event{Kind: Warned, StepID: stepID, What: j.inWords(err)})
	}
	for _, told := range []struct {
		key   string
		names []string
	}{{"work.note_settings", changed}, {"work.note_settings_back", put}} {
		if len(told.names) == 0 {
			continue
		}
		text := j.Words.Text(told.key, fault.Facts{"names": strings.Join(told.names, ", ")})
		if i := slices.IndexFunc(j.stage.Steps, func(s runs.Step) bool { return s.StepID == stepID }); i >= 0 {
			j.noteText(&j.stage.Steps[i], text)
		} else {
			j.tell(Event{Kind: Warned, What: text})
		}
	}
}

// note tells something about a step, now and in the report.
func (j *job) note(s *runs.Step, key string) {
	j.noteText(s, j.Words.Text(key, nil))
}

func (j *job) noteText(s *runs.Step, text string) {
	s.Notes = appendOnce(s.Notes, text)
	j.tell(Event{Kind: Warned, StepID: s.StepID, What: s.StepID + ": " + text})
}

func (j *job) commitOptions() gitops.CommitOptions {
	return gitops.CommitOptions{
		RunHooks: j.Project.Config.Git.RunHooks, AllowEmpty: true,
		Env: []string{j.mark(), "AIFLOW_REQUEST=" + j.req.ID},
	}
}

// trailers name the request and the run in a commit.
func (j *job) trailers() [][2]string {
	return [][2]string{{project.RequestTrailer, j.stage.RequestID}, {project.RunTrailer, j.stage.RunID}}
}

func (j *job) stepMessage(s *runs.Step) gitops.CommitMessage {
	return gitops.CommitMessage{
		Subject:  j.subject(s.StepID, s.Title),
		Trailers: append(j.trailers(), [2]string{project.StepTrailer, s.StepID}),
	}
}

// maxSubject is how many columns the subject of a commit has.
const maxSubject = 72

// subject fills git.commit_subject. What is too long is shortened in the title,
// so that what stands around it stays. No program reads it: that is what the
// trailers are for.
func (j *job) subject(stepID, title string) string {
	form := j.Project.Config.Git.CommitSubject
	fill := func(title string) string {
		filled := strings.ReplaceAll(strings.ReplaceAll(form, "{id}", j.stage.RequestID), "{step}", stepID)
		return oneLine(strings.ReplaceAll(filled, "{title}", title))
	}
	title = oneLine(title)
	if over := term.Width(fill(title)) - maxSubject; over > 0 {
		title = term.Truncate(title, max(1, term.Width(title)-over))
	}
	return term.Truncate(fill(title), maxSubject)
}

func (j *job) stepDone(i int, made gitops.Commit) error {
	s := &j.stage.Steps[i]
	if err := j.stage.Finish(j.Project.Now(), oneLine(s.Title)); err != nil {
		return err
	}
	j.stage.Git.Commits = append(j.stage.Git.Commits, runs.Commit{StepID: s.StepID, Hash: made.Hash, Subject: made.Subject})
	if err := j.save(); err != nil {
		return err
	}
	j.stepped++
	j.tell(Event{Kind: StepDone, Step: i + 1, StepID: s.StepID, Title: s.Title, What: made.Hash})
	return j.saveReport()
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
	j.countTests(i)
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
