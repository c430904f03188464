package runner

import (
	"context"
	"slices"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// ResumeOptions say how a stopped run goes on (seed 001 section 4).
type ResumeOptions struct {
	RequestID string
	RunID     string // "" is the newest run of the request
	Mode      runs.Mode
	Step      string // target_step_id; "" is where the run stopped
	Answer    string // to what a role asked; it is told so the next time
	Force     bool   // go on beyond the retry limits, and with a workspace that somebody changed
}

// Resume goes on with a run that stopped. A refusal changes
// nothing.
func (r *Runner) Resume(ctx context.Context, o ResumeOptions) (Outcome, error) {
	out, err := r.resume(ctx, o)
	if f, ok := fault.As(err); ok && o.Step != "" && f.Code != fault.StepNotAvailable && out.RunID == "" {
		f.Facts["target_step_id"] = o.Step
	}
	return out, r.Advised(ctx, err)
}

func (r *Runner) resume(ctx context.Context, o ResumeOptions) (Outcome, error) {
	s, err := r.survey(ctx, Options{})
	if err != nil {
		return Outcome{}, err
	}
	req, err := s.Folder.Get(o.RequestID)
	if err == nil && req.ID != o.RequestID { // its file is gone, and another id begins with its own
		err = fault.New(fault.RequestNotFound, "id", o.RequestID)
	}
	if err != nil {
		return Outcome{}, err
	}
	lease, err := r.lockRequest(ctx, req.ID, Options{})
	if err != nil {
		return Outcome{}, err
	}
	defer release(lease)
	slot, err := r.Project.TakeSlot(lease.Context(), 0)
	if err != nil {
		return Outcome{}, err
	}
	defer release(slot)
	last, err := r.newest(req.ID, o.RunID)
	if err != nil {
		return Outcome{}, err
	}
	repo, err := r.openRepo(ctx)
	if err != nil {
		return Outcome{}, err
	}
	j := &job{Runner: r, repo: repo, survey: s, req: req, lease: lease, slot: slot}
	return j.again(slot.Context(), last, o)
}

// newest loads the run to go on with. An older one cannot: its workspace has
// gone to the newest.
func (r *Runner) newest(requestID, runID string) (*runs.Stage, error) {
	last, err := runs.Latest(r.Project.Dir, r.Project.RunsDir(), requestID)
	if err != nil {
		return nil, err
	}
	if st, err := r.Project.Run(requestID, runID).LoadStage(); runID != "" && err == nil && st.DroppedAt != nil {
		return nil, fault.New(fault.NothingToDo, "request_id", requestID, "run_id", runID, "reason", "dropped")
	}
	if last == nil {
		return nil, fault.New(fault.RunNotFound, "request_id", requestID)
	}
	if runID != "" && runID != last.RunID {
		return nil, fault.New(fault.NothingToDo, "request_id", requestID, "run_id", last.RunID, "reason", "replaced")
	}
	return last, nil
}

func (j *job) again(ctx context.Context, last *runs.Stage, o ResumeOptions) (Outcome, error) {
	if err := j.take(ctx, last); err != nil {
		return Outcome{}, err
	}
	j.unbounded = o.Force
	ask := runs.Ask{Mode: o.Mode, Step: o.Step, Force: o.Force}
	at, err := runs.Resume(j.stage, j.plan, ask, j.Project.ResumeBounds())
	if err != nil {
		return Outcome{}, err
	}
	if j.Doctor != nil {
		if err := j.Doctor(ctx); err != nil {
			j.nameRun(err)
			return Outcome{}, err
		}
	}
	if f := j.survey.Lacks(j.req, j.stage, j.plan); f != nil && !at.NewRun {
		j.nameRun(f)
		return Outcome{}, f
	}
	if err := j.keepsPlan(at, o.Force); err != nil {
		return Outcome{}, err
	}
	if err := j.answered(o.Answer); err != nil {
		return Outcome{}, err
	}
	j.tell(Event{Kind: Chosen, Title: j.req.Title()})
	if at.NewRun {
		return j.replan(ctx, last)
	}
	if err := j.resolved(ctx, last, at); err != nil {
		return Outcome{}, err
	}
	return j.proceed(ctx, ask)
}

// answered writes a person's answer into the report, where roles are told from, with
// the questions that it is to.
func (j *job) answered(text string) error {
	if text == "" {
		return nil
	}
	if err := j.held(); err != nil {
		return err
	}
	report, err := j.dir.LoadReport()
	if err != nil {
		return err
	}
	if e := j.stage.Error; e != nil && e.Meta[runs.QuestionsFact] != "" {
		text = e.Meta[runs.QuestionsFact] + "\n" + text
	}
	if err := j.dir.SaveReport(runs.WithFinding(report, text)); err != nil {
		return err
	}
	j.hear(j.dir)
	return nil
}

// resolved refuses, before anything is touched, what a person has to decide
// about in the workspace: conflicts that were left open, and commits where the
// point does not take what was changed. What is put aside may have both.
func (j *job) resolved(ctx context.Context, last *runs.Stage, at runs.Point) error {
	if !last.State.Ended() || at.Changed == runs.ChangedDiscard {
		return nil
	}
	ws, ok := j.leftWorkspace(ctx, last)
	if !ok {
		return nil // it is made again
	}
	if err := j.refuseUnmerged(ctx, ws, last); err != nil {
		return err
	}
	if len(last.Steps) == 0 || at.Takes(runs.Found{Commits: true}) {
		return nil
	}
	return j.refuseCommitted(ctx, ws, last)
}

func (j *job) leftWorkspace(ctx context.Context, last *runs.Stage) (ws *gitops.Workspace, ok bool) {
	var err error
	if j.inPlace() {
		ws, err = j.repo.InPlace(ctx)
		return ws, err == nil
	}
	ws, ok, err = j.repo.OpenWorktree(ctx, j.workspacePathOf(last))
	return ws, ok && err == nil
}

// refuseCommitted refuses what a person committed in the workspace: resuming
// takes it off the branch.
func (j *job) refuseCommitted(ctx context.Context, ws *gitops.Workspace, last *runs.Stage) error {
	tip := foreignTip(ctx, j.repo, ws, last)
	if tip == "" {
		return nil
	}
	return j.changedThere(last, "commit", tip[:min(10, len(tip))])
}

// foreignTip is the commit that the workspace stands at where none since the
// run's last is the run's; "" is none.
func foreignTip(ctx context.Context, repo *gitops.Repo, ws *gitops.Workspace, st *runs.Stage) string {
	tip, err := ws.Head(ctx)
	if err != nil || tip == st.Tip() {
		return ""
	}
	commits, err := repo.Commits(ctx, st.Tip(), tip)
	if err != nil || slices.ContainsFunc(commits, func(c gitops.Commit) bool { return madeBy(st, c) }) { // made but not recorded
		return ""
	}
	return tip
}

// replan closes the old run and makes a new one; each names the other. The new
// one starts from the branch of the old one, whatever is checked out now.
func (j *job) replan(ctx context.Context, old *runs.Stage) (Outcome, error) {
	j.replans, j.survey.Fresh = true, true
	if old.Git.BaseBranch != old.Git.BaseCommit { // else no branch was checked out
		if err := j.survey.StartFrom(ctx, old.Git.BaseBranch); err != nil {
			return Outcome{}, err
		}
	}
	if o := j.survey.Obstacle(j.req); o != nil {
		return Outcome{}, o.Refusal(j.req.ID, j.req.Path)
	}
	return j.fresh(ctx, old)
}

func (j *job) proceed(ctx context.Context, ask runs.Ask) (Outcome, error) {
	if err := j.comeBack(ctx); err != nil {
		return Outcome{}, err
	}
	at, err := runs.Resume(j.stage, j.plan, ask, j.Project.ResumeBounds())
	if err != nil {
		return Outcome{}, err
	}
	if at, err = j.workspaceAllows(ctx, at, ask); err != nil {
		return Outcome{}, err
	}
	j.noteOwnLocks()
	j.stage.Worked(j.lease.Record().BootID)
	return j.drive(ctx, func(ctx context.Context) error {
		if err := j.markRunning(); err != nil {
			return err
		}
		return j.goOn(ctx, at, false)
	})
}

// workspaceAllows looks at what is in the workspace. Clean is what equals its
// HEAD or the kept attempt; anything else is a person's, and is refused, taken
// or kept aside as the point says.
func (j *job) workspaceAllows(ctx context.Context, at runs.Point, ask runs.Ask) (runs.Point, error) {
	if j.ws == nil || at.State != runs.Implementing || len(j.stage.Steps) == 0 {
		return at, nil
	}
	changes, err := j.ws.Changes(ctx)
	if err != nil {
		return at, err
	}
	step := &j.stage.Steps[at.Index]
	if at.Back && j.stage.Current() != nil {
		step = j.stage.Current()
	}
	if changes.Empty() || changes.Tree == step.AttemptTree {
		return at, nil
	}
	switch at.Changed {
	case runs.ChangedTake: // never with Back, which is a retry
		at.State, at.Reset = runs.Testing, false
	case runs.ChangedDiscard:
		at.Reset = true
	default:
		if !j.stage.State.Ended() {
			at.Reset = true // left by a command that was killed
			return at, nil
		}
		return at, j.changedThere(j.stage, "count", len(changes.Files))
	}
	return at, nil
}
