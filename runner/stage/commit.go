package stage

import (
	"context"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// commitStep makes the step's commit and records it. An empty step is a commit
// too: one step, one commit.
func commitStep(ctx context.Context, run *Run, i int) error {
	s := &run.Stage.Steps[i]
	patch, err := run.Workspace.Patch(ctx)
	if err != nil {
		return err
	}
	if err := forbiddenText(run, addedLines(patch), runs.PatchName(s.StepID, 0)); err != nil {
		return err
	}
	noteEmpty(run, i, patch)
	noteRepositories(run, s)
	name, err := run.SavePatch(s.StepID, 0, patch)
	if err != nil {
		return err
	}
	s.PatchPath = &name
	run.At("before_commit")
	hash, err := commit(ctx, run, stepMessage(run, s))
	if err != nil {
		return err
	}
	run.At("committed")
	if !MadeBy(run.Stage, hash) { // a commit-msg hook wrote another message
		run.Note(s, "work.note_trailers")
	}
	return stepDone(run, i, hash)
}

// noteEmpty tells of a step that was to change something and did not. A step
// that only tests is none of them.
func noteEmpty(run *Run, i int, patch []byte) {
	s := &run.Stage.Steps[i]
	if len(patch) > 0 || run.Plan.Steps[i].Run == "" && !run.hasRole(config.RoleImplementer) {
		return
	}
	s.ChangedNothing = true
	run.Note(s, "work.note_empty")
}

// noteRepositories tells of repositories inside the workspace, of which a branch
// holds no file.
func noteRepositories(run *Run, s *runs.Step) {
	for _, name := range run.Workspace.Unborn() {
		run.NoteText(s, run.Words.Text("work.note_unborn", fault.Facts{"name": name}))
	}
	for _, f := range run.changed {
		if f.Submodule && f.Status == gitops.Added {
			run.NoteText(s, run.Words.Text("work.note_nested", fault.Facts{"name": f.Path}))
		}
	}
}

// commit commits what the workspace holds. WORK_BRANCH_REQUIRED is for a step that
// went over to the base branch, where a checkout is worked in.
func commit(ctx context.Context, run *Run, msg gitops.CommitMessage) (gitops.Commit, error) {
	made, err := run.Workspace.Commit(ctx, msg, commitOptions(run))
	if f, ok := fault.As(err); ok && f.Facts["reason"] == "branch_switched" && f.Facts["name"] == run.Stage.Git.BaseBranch && run.Project.Config.Git.EnforceWorkBranch {
		err = fault.Wrap(err, fault.WorkBranchRequired, "branch", f.Facts["name"], "work_branch", f.Facts["branch"])
	}
	return made, err
}

func commitOptions(run *Run) gitops.CommitOptions {
	return gitops.CommitOptions{
		RunHooks: run.Project.Config.Git.RunHooks, AllowEmpty: true,
		Env: []string{run.Mark(), "AIFLOW_REQUEST=" + run.Request.ID},
	}
}

// trailers name the request and the run in a commit.
func (run *Run) trailers() [][2]string {
	return [][2]string{{project.RequestTrailer, run.Stage.RequestID}, {project.RunTrailer, run.Stage.RunID}}
}

func stepMessage(run *Run, s *runs.Step) gitops.CommitMessage {
	return gitops.CommitMessage{
		Subject:  subject(run, s.StepID, s.Title),
		Trailers: append(run.trailers(), [2]string{project.StepTrailer, s.StepID}),
	}
}

// maxSubject is how many columns the subject of a commit has.
const maxSubject = 72

// subject fills git.commit_subject. What is too long is shortened in the title,
// so that what stands around it stays. No program reads it: that is what the
// trailers are for.
func subject(run *Run, stepID, title string) string {
	form := run.Project.Config.Git.CommitSubject
	fill := func(title string) string {
		filled := strings.ReplaceAll(strings.ReplaceAll(form, "{id}", run.Stage.RequestID), "{step}", stepID)
		return agent.OneLine(strings.ReplaceAll(filled, "{title}", title))
	}
	title = agent.OneLine(title)
	if over := term.Width(fill(title)) - maxSubject; over > 0 {
		title = term.Truncate(title, max(1, term.Width(title)-over))
	}
	return term.Truncate(fill(title), maxSubject)
}

func stepDone(run *Run, i int, made gitops.Commit) error {
	s := &run.Stage.Steps[i]
	if err := run.Stage.Finish(run.Project.Now(), agent.OneLine(s.Title)); err != nil {
		return err
	}
	run.Stage.Git.Commits = append(run.Stage.Git.Commits, runs.Commit{StepID: s.StepID, Hash: made.Hash, Subject: made.Subject})
	if err := run.Save(); err != nil {
		return err
	}
	run.stepsDone++
	run.Tell(Event{Kind: StepDone, Step: i + 1, StepID: s.StepID, Title: s.Title, What: made.Hash})
	return run.saveReport()
}

// commitRecord is the run's last commit: it sets `status: done` on the work
// branch, so that merging the branch is what makes the request done. It is
// recorded with what comes next, the push or the end; a run that dies before
// that finds the commit on its branch.
func commitRecord(ctx context.Context, run *Run) error {
	if run.Stage.HasCommit(runs.RecordStep) {
		return nil
	}
	msg := gitops.CommitMessage{
		Subject:  subject(run, runs.RecordStep, "done"),
		Trailers: append(run.trailers(), [2]string{project.ResultTrailer, string(runs.Done)}),
	}
	run.At("before_record_commit")
	done, err := doneText(ctx, run)
	if err != nil {
		return err
	}
	var made gitops.Commit
	if done == nil {
		made, err = commit(ctx, run, msg)
	} else {
		made, err = run.Workspace.CommitFile(ctx, run.Request.Path, done, msg, commitOptions(run))
	}
	if err != nil {
		return err
	}
	run.At("record_committed")
	run.Stage.Git.Commits = append(run.Stage.Git.Commits, runs.Commit{StepID: runs.RecordStep, Hash: made.Hash, Subject: made.Subject})
	run.Stage.AddEvent(run.Project.Now(), runs.EventRecordCommitted, "", "")
	return nil
}
