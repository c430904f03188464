package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// resumeInterrupted goes on with a run whose runner is gone, from its last
// record, with nothing lost and nothing done twice.
func (j *job) resumeInterrupted(ctx context.Context, last *runs.Stage) (Outcome, error) {
	if err := j.take(ctx, last); err != nil {
		return Outcome{}, err
	}
	at, err := runs.Resume(j.stage, j.plan, runs.Ask{Mode: runs.ModeResume}, j.Project.ResumeBounds())
	if err != nil {
		return Outcome{}, err
	}
	if err := project.SamePlan(j.stage, j.plan, at, j.req); err != nil {
		return Outcome{}, err
	}
	j.tell(Event{Kind: Found, StepID: last.CurrentStepID, What: string(last.State)})
	j.noteOwnLocks()
	j.stage.Worked(j.lease.Record().BootID)
	if err := j.save(); err != nil {
		return Outcome{}, err
	}
	return j.drive(ctx, func(ctx context.Context) error {
		if err := j.comeBack(ctx); err != nil {
			return err
		}
		if err := j.markRunning(); err != nil {
			return err
		}
		if n := j.stage.Deaths; n >= runs.MaxDeaths {
			return fault.New(fault.RunnerDied, "count", n, "id", j.stage.CurrentStepID)
		}
		if at, err = runs.Resume(j.stage, j.plan, runs.Ask{Mode: runs.ModeResume}, j.Project.ResumeBounds()); err != nil {
			return err
		}
		return j.goOn(ctx, at, true)
	})
}

// take loads the record of a run.
func (j *job) take(ctx context.Context, last *runs.Stage) error {
	text, err := os.ReadFile(j.Project.Path(j.req.Path))
	if err != nil {
		return fault.Wrap(err, fault.RequestNotFound, "id", j.req.ID, "path", j.req.Path)
	}
	j.stage = last
	j.repo = j.repo.Marked(j.mark())
	j.dir = j.Project.Run(j.req.ID, last.RunID)
	j.text = j.textBefore(ctx, text)
	j.hear(j.dir)
	if len(last.Steps) > 0 {
		j.plan, err = j.dir.LoadPlan()
	}
	if project.PlanLost(err) {
		j.plan, err = nil, nil // whether the run can do without is runs.Resume's to say
	}
	if err == nil {
		_, err = j.routes()
	}
	return err
}

// bytesBefore is what the request file goes back to when the run is over: as
// it stands now, but with the status and date from before the run began, which
// the run alone changed.
func (j *job) bytesBefore(dir *runs.Dir, now []byte) []byte {
	before, err := dir.LoadRequest()
	if err != nil {
		return now
	}
	was := reqmeta.Parse(j.req.Path, before).Meta
	values := map[string]string{"status": was.Status}
	if !was.UpdatedAt.IsZero() {
		values["updated_at"] = was.UpdatedAt.Text
	}
	back, err := edit.SetValues(j.req.Path, now, values, j.Project.Now())
	if err != nil {
		return now
	}
	return back
}

// keepsPlan is project.SamePlan for a person who may insist: then the run goes on with
// its old steps, and says so in its history, its report and to whoever looks.
func (j *job) keepsPlan(at runs.Point, force bool) error {
	err := project.SamePlan(j.stage, j.plan, at, j.req)
	if err == nil || !force {
		return err
	}
	j.stage.AddEvent(j.Project.Now(), runs.EventOldSteps, at.StepID, fault.ReplanRequired)
	j.tell(Event{Kind: Warned, StepID: at.StepID, What: j.Words.Text("report.summary.old_steps", nil)})
	return nil
}

// noteOwnLocks names the run in our locks and the locks in the run.
func (j *job) noteOwnLocks() {
	j.noteLocks()
	for _, l := range []*locks.Lease{j.lease, j.slot, j.queue} {
		if l != nil {
			_ = l.SetRun(j.stage.RunID) // a lost lock shows at the next save
		}
	}
}

// comeBack makes sure that nobody else works for this run any more, opens its
// workspace, and takes over what was committed but not recorded.
func (j *job) comeBack(ctx context.Context) error {
	j.endStrays()
	j.repo.ClearBranchLock(j.stage.Git.WorkBranch)
	j.stage.AddEvent(j.Project.Now(), runs.EventResumed, j.stage.CurrentStepID, "")
	if len(j.stage.Steps) == 0 {
		j.leaveEarlier(ctx)
		return nil // begin opens the workspace
	}
	if err := j.reopen(ctx); err != nil {
		return err
	}
	j.at("reopened")
	if i := j.stage.Index(j.stage.BackTo); i >= 0 {
		return j.goBack(ctx, i) // the runner died on its way
	}
	if err := j.adopt(ctx); err != nil {
		return err
	}
	if step := j.stage.Current(); step != nil && !step.Status.Settled() {
		return j.rejoin(ctx, step)
	}
	return nil
}

// endStrays ends what the dead runner left running. It is looked for even when
// no agent is recorded: the runner may have died before it could write that
// down.
func (j *job) endStrays() {
	agent := j.stage.Agent
	if agent == nil {
		agent = &runs.Agent{}
	}
	if n := proc.EndStrays(j.mark(), agent.PID, agent.PIDStart); n > 0 {
		j.tell(Event{Kind: StraysEnded, Count: n})
	}
	j.stage.Agent = nil
}

// reopen opens the run's worktree, or makes it again from the work branch when
// somebody removed it. What is to be linked may have been added since.
func (j *job) reopen(ctx context.Context) error {
	if j.inPlace() {
		return j.checkOutInPlace(ctx)
	}
	if err := j.held(); err != nil {
		return err
	}
	if err := j.repo.RestoreBranch(ctx, j.stage.Git.WorkBranch, j.lastCommit()); err != nil {
		return err
	}
	ws, ok, err := j.repo.OpenWorktree(ctx, j.workspacePath())
	if err != nil {
		return err
	}
	if !ok {
		if err := j.checkOut(ctx); err != nil {
			return err
		}
		return j.linkPaths()
	}
	j.ws = ws
	if err := j.linkPaths(); err != nil {
		return err
	}
	if err := j.held(); err != nil {
		return err
	}
	if _, err = ws.ClearStaleLocks(ctx); err != nil {
		return err
	}
	if err := ws.MendIndex(ctx); err != nil {
		return err
	}
	return j.linkPaths()
}

// adopt records commits of this run that its runner made but did not live to
// record.
func (j *job) adopt(ctx context.Context) error {
	tip, err := j.ws.Head(ctx)
	if err != nil {
		return err
	}
	known := j.lastCommit()
	if tip == known {
		return nil
	}
	commits, err := j.repo.Commits(ctx, known, tip)
	if err != nil {
		return err
	}
	for _, c := range commits {
		if err := j.adoptCommit(c); err != nil {
			return err
		}
	}
	return j.save()
}

func (j *job) lastCommit() string { return j.stage.Tip() }

// made reports whether a commit is this run's.
func (j *job) made(c gitops.Commit) bool { return madeBy(j.stage, c) }

func madeBy(st *runs.Stage, c gitops.Commit) bool {
	return first(c.Trailers[project.RunTrailer]) == st.RunID
}

func (j *job) adoptCommit(c gitops.Commit) error {
	if !j.made(c) {
		return nil
	}
	now := j.Project.Now()
	id := first(c.Trailers[project.StepTrailer])
	if first(c.Trailers[project.ResultTrailer]) != "" {
		id = runs.RecordStep
	} else if err := j.adoptStep(id); err != nil {
		return err
	}
	if !j.stage.HasCommit(id) {
		j.stage.Git.Commits = append(j.stage.Git.Commits, runs.Commit{StepID: id, Hash: c.Hash, Subject: c.Subject})
		j.stage.AddEvent(now, runs.EventRecordCommitted, id, "")
		j.tell(Event{Kind: StepAdopted, StepID: id, What: c.Hash})
	}
	return nil
}

func (j *job) adoptStep(id string) error {
	step := j.stage.Step(id)
	if step == nil || step.Status.Settled() {
		return nil
	}
	now := j.Project.Now()
	if _, err := j.stage.Continue(now, id); err != nil {
		return err
	}
	return j.stage.Finish(now, "")
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// goOn continues at a point. interrupted says that nobody touched the
// workspace on purpose since the runner died.
func (j *job) goOn(ctx context.Context, at runs.Point, interrupted bool) error {
	switch at.State {
	case runs.Planning:
		return j.begin(ctx)
	case runs.Reporting:
		return j.finish(ctx)
	case runs.Testing:
		return j.goOnTesting(ctx, at, interrupted)
	}
	if at.Back || at.Reset && j.stage.State.Ended() {
		// The record says what the run does before its workspace is touched: after a
		// crash nobody takes what is half put back for a person's work.
		if at.Back {
			j.stage.BackTo = at.StepID
		}
		if j.stage.State.Ended() {
			if err := j.stage.Move(runs.Implementing, j.Project.Now()); err != nil {
				return err
			}
		}
		if err := j.save(); err != nil {
			return err
		}
	}
	if at.Back {
		if err := j.goBack(ctx, at.Index); err != nil {
			return err
		}
	}
	// A power cut may take the record of a step's start and leave what it did.
	if at.Reset || interrupted && !j.inPlace() {
		if err := j.putBack(ctx, at.Index); err != nil {
			return err
		}
	}
	return j.steps(ctx)
}

// goBack sets aside what the run committed from a step on, under a name that is
// told, and returns to where that step began. Who finds the record of a runner
// that died meanwhile does the rest of it.
func (j *job) goBack(ctx context.Context, i int) error {
	if c := j.stage.Current(); c != nil && !c.Status.Settled() {
		if err := j.keepAttempt(ctx, c); err != nil {
			return err
		}
	}
	if err := j.clearWorkspace(ctx); err != nil {
		return err
	}
	if j.stage.Steps[i].Status.Settled() {
		if err := j.setAside(ctx, i); err != nil {
			return err
		}
	}
	j.at("set_aside")
	if err := j.held(); err != nil {
		return err
	}
	if err := j.ws.Rejoin(ctx, j.stage.Tip()); err != nil {
		return err
	}
	changes, err := j.ws.Changes(ctx)
	if err != nil {
		return err
	}
	j.stage.Steps[i].AttemptTree, j.stage.BackTo = changes.Tree, ""
	return j.save()
}

// setAside keeps the commits of step i and later ones, and takes them out of the
// record.
func (j *job) setAside(ctx context.Context, i int) error {
	step, tip := j.stage.Steps[i], j.stage.Tip()
	start := j.stage.GoBack(j.Project.Now(), i)
	n := j.dir.NextAttempt(step.StepID)
	ref := attemptRef(j.stage.RunID, step.StepID, n)
	patch, err := j.repo.Patch(ctx, start, tip)
	if err != nil {
		return err
	}
	if err := j.held(); err != nil {
		return err
	}
	name, err := j.dir.SavePatch(step.StepID, n, patch)
	if err != nil {
		return err
	}
	j.stage.Artifacts.Patches = appendOnce(j.stage.Artifacts.Patches, name)
	if err := j.ws.KeepCommit(ctx, ref, tip); err != nil {
		return err
	}
	j.stage.NoteLeft(runs.Left{Kind: runs.LeftSetAside, Kept: ref})
	j.tell(Event{Kind: SetAside, StepID: step.StepID, What: ref})
	return j.save()
}

// goOnTesting judges what is in the workspace. After a crash that must be what
// the step's command left; a test that died half way may have changed it.
func (j *job) goOnTesting(ctx context.Context, at runs.Point, interrupted bool) error {
	step := &j.stage.Steps[at.Index]
	if interrupted {
		changes, err := j.ws.Changes(ctx)
		if err != nil {
			return err
		}
		if changes.Tree != step.Tree {
			if err := j.putBack(ctx, at.Index); err != nil {
				return err
			}
			return j.steps(ctx)
		}
	}
	now := j.Project.Now()
	if j.stage.State.Ended() {
		if err := j.stage.Move(runs.Implementing, now); err != nil {
			return err
		}
	}
	if _, err := j.stage.Continue(now, step.StepID); err != nil {
		return err
	}
	if !interrupted {
		if err := j.noteTaken(ctx, step); err != nil {
			return err
		}
	}
	if err := j.judgeStep(ctx, at.Index); err != nil {
		return err
	}
	return j.steps(ctx)
}

// noteTaken tells what a person changed since the step stopped, which counts as its
// work, and of a step whose command never ended well.
func (j *job) noteTaken(ctx context.Context, s *runs.Step) error {
	changes, err := j.ws.Changes(ctx)
	if err != nil {
		return err
	}
	var names []string
	switch {
	case changes.Tree == s.AttemptTree || changes.Empty():
	case s.AttemptTree == "":
		for _, f := range changes.Files {
			names = append(names, f.Path)
		}
	default:
		if names, err = j.repo.Between(ctx, s.AttemptTree, changes.Tree); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		facts := fault.Facts{"names": strings.Join(names[:min(len(names), namedDirty)], ", ")}
		if len(names) > namedDirty {
			facts["count"] = strconv.Itoa(len(names))
		}
		j.noteText(s, j.Words.Text("work.note_taken_files", facts))
	}
	if !s.Implemented {
		j.note(s, "work.note_taken")
	}
	return nil
}

// putBack keeps what the workspace holds as an attempt and returns it to the
// step's start.
func (j *job) putBack(ctx context.Context, i int) error {
	if err := j.keepAttempt(ctx, &j.stage.Steps[i]); err != nil {
		return err
	}
	if err := j.save(); err != nil {
		return err
	}
	j.at("before_put_back")
	if err := j.clearWorkspace(ctx); err != nil {
		return err
	}
	j.at("put_back")
	return nil
}

// leaveBehind clears the workspace of an earlier run of the same request that
// is not gone on with. What it holds is kept first. It never stops a new run:
// a workspace that cannot be cleared is reported when it is needed.
func (j *job) leaveBehind(ctx context.Context, last *runs.Stage) {
	at := j.workspacePathOf(last) // not where a new one is made, where workspace.root was changed since
	if _, err := os.Lstat(at); err != nil || last.Git.Workspace == "." || j.inPlace() || j.held() != nil {
		return // a lost lock shows at the next write
	}
	old := j.of(last)
	ws, ok, err := j.repo.OpenWorktree(ctx, at)
	if err != nil || !ok {
		return
	}
	step := old.stepAt()
	before := old.dir.NextAttempt(step.StepID)
	err = old.giveUp(ctx, ws)
	if last.State.Ended() {
		j.tellMends(last, step.StepID, before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.tell(Event{Kind: Warned, What: j.inWords(err)})
	}
}

// of is a job for another run of the request, which is not gone on with.
func (j *job) of(st *runs.Stage) *job {
	old := &job{Runner: j.Runner, repo: j.repo, req: j.req, stage: st, dir: j.Project.Run(st.RequestID, st.RunID), lease: j.lease}
	old.plan, _ = old.dir.LoadPlan()
	old.endStrays()
	return old
}

// stepAt is the step whose attempt the workspace holds.
func (j *job) stepAt() *runs.Step {
	if step := j.stage.Current(); step != nil {
		return step
	}
	return &runs.Step{StepID: runs.StepID(1), Title: j.stage.Title}
}

// giveUp keeps what the run's worktree holds and removes it.
func (j *job) giveUp(ctx context.Context, ws *gitops.Workspace) error {
	if err := j.held(); err != nil {
		return err
	}
	j.ws = ws
	_, _ = ws.ClearStaleLocks(ctx)
	_ = j.repo.RestoreBranch(ctx, j.stage.Git.WorkBranch, j.lastCommit())
	_ = ws.MendIndex(ctx)
	if err := j.keepAttempt(ctx, j.stepAt()); err != nil {
		return err
	}
	if err := j.save(); err != nil {
		return err
	}
	return j.removeWorkspace(ctx)
}
