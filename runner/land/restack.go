package land

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runs"
)

// Moved is a run whose commits were moved to where what it depends on is now.
type Moved struct {
	Item
	StackedOn []runs.StackedOn `json:"stacked_on"` // now; none: it stands on its base
	Kept      string           `json:"kept"`       // the ref that has the branch as it was
}

// Restacked is what moving stacked runs came to.
type Restacked struct {
	Moved   []Moved
	Already []Item // stand where they should
	LeftOut []Left
}

// Err is the first reason why something was left out.
func (r Restacked) Err() error { return Result{LeftOut: r.LeftOut}.Err() }

// restacking is one command at work.
type restacking struct {
	*landing
	standing *project.Standing
}

// Restack moves the own commits of finished runs that stand on others to where those
// are now: on their new branches, or on the base once they are merged. Each is tested
// again before its branch moves. Without names it is about all that wait to be merged.
// Faults: LOCK_HELD, NOTHING_TO_DO and those of git.
func (l *Lander) Restack(ctx context.Context, names []string) (Restacked, error) {
	own, err := l.open(ctx, Options{Names: names})
	if err != nil {
		return Restacked{}, err
	}
	s := &restacking{landing: own}
	s.lockName = project.RestackLock
	if s.lease, err = l.Project.Locks().Acquire(ctx, locks.Named(s.lockName), locks.Ask{}); err != nil {
		return Restacked{}, err
	}
	defer func() { _ = s.lease.Release() }()
	ctx = s.lease.Context()
	proc.EndStrays(s.mark(), 0, 0)
	if s.survey, err = l.Project.Survey(ctx); err != nil {
		return Restacked{}, err
	}
	if err := s.readFinished(true); err != nil {
		return Restacked{}, err
	}
	if _, err := s.settleInterrupted(ctx); err != nil {
		return Restacked{}, err
	}
	todo, err := s.stacked(ctx)
	if err != nil {
		return Restacked{}, err
	}
	var out Restacked
	for _, st := range s.sorted(todo) {
		item := Item{RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch}
		moved, err := s.restack(ctx, st)
		switch {
		case err == nil && moved == nil:
			out.Already = append(out.Already, item)
		case err == nil:
			out.Moved = append(out.Moved, *moved)
		case ctx.Err() != nil:
			return out, context.Cause(ctx)
		case !concernsOneRun(err):
			return out, err
		default:
			out.LeftOut = append(out.LeftOut, s.leftOut(item, err))
		}
	}
	return out, s.repo.DropScratch(context.WithoutCancel(ctx), s.path(project.LandScratch))
}

// stacked are the runs to look at: those named, else all that wait to be merged.
func (s *restacking) stacked(ctx context.Context) ([]*runs.Stage, error) {
	named, err := s.named()
	if err != nil {
		return nil, err
	}
	of, err := s.Project.Standing(ctx, s.finished)
	if err != nil {
		return nil, err
	}
	s.standing = of
	for _, st := range slices.Backward(s.sorted(s.finished)) { // below one that is named first what it stands on is moved
		for _, below := range s.finished {
			if named[st.RunID] && slices.Contains(s.dependencies(st), below.RequestID) && (below.RestackStopped() || of.StaleOn(below).On != "") {
				named[below.RunID] = true
			}
		}
	}
	var todo []*runs.Stage
	for _, st := range s.finished {
		switch {
		case len(named) > 0 && !named[st.RunID]:
		case len(st.Git.StackedOn) > 0 && of.AwaitsMerge(st), st.RestackStopped():
			todo = append(todo, st)
		case named[st.RunID]:
			return nil, nothing(st, "not_stacked")
		}
	}
	return todo, nil
}

// below is where a run should stand: on the latest runs, as they are now, of what its
// request depends on and that wait to be merged; and the commit that has them all.
func (s *restacking) below(ctx context.Context, st *runs.Stage) (on []runs.StackedOn, commit string, err error) {
	deps := s.dependencies(st)
	for _, id := range deps {
		last, r := s.survey.Latest(id), s.survey.Folder.Unique(id)
		if last != nil { // it may have been moved a moment ago
			if now, err := s.Project.Run(id, last.RunID).LoadStage(); err == nil {
				last = now
			}
		}
		switch {
		case r != nil && r.SaysOver() && s.standing.MergeTarget() == "HEAD" || last != nil && (s.standing.MergedHere(last) || s.inBase(ctx, st, last)):
			continue
		case last == nil || !last.Unmerged() || !s.standing.BranchExists(last) || project.StaleNow(ctx, s.Project, last).On != "" || project.Emptied(ctx, s.Project, last):
			return nil, "", waitsFor(st, id)
		}
		tip, _, err := s.repo.BranchTip(ctx, last.Git.WorkBranch)
		if err != nil {
			return nil, "", err
		}
		on = append(on, runs.StackedOn{RequestID: id, RunID: last.RunID, Branch: last.Git.WorkBranch, Commit: tip})
	}
	slices.SortFunc(on, func(a, b runs.StackedOn) int { return strings.Compare(a.RequestID, b.RequestID) })
	if len(on) == 1 && len(deps) == 1 {
		return on, on[0].Commit, nil
	}
	_, base, err := s.repo.ResolveBase(ctx, st.Git.BaseBranch)
	if err != nil {
		return nil, "", err
	}
	commit, stuck, files, err := s.repo.Together(ctx, base, runs.Commits(on), s.scratch())
	if err == nil && len(files) > 0 {
		err = project.StackConflict(on, stuck, files)
	}
	return on, commit, err
}

// inBase: the base of a run has all of another one. One that was landed elsewhere alone
// is still what it stands on.
func (s *restacking) inBase(ctx context.Context, st, below *runs.Stage) bool {
	in, err := s.Project.LandedIn(ctx, "refs/heads/"+st.Git.BaseBranch, []*runs.Stage{below})
	return err == nil && in[below.RunID]
}

// restack moves one run; nil: it stands where it should.
func (s *restacking) restack(ctx context.Context, st *runs.Stage) (*Moved, error) {
	lease, err := s.Project.Locks().Acquire(ctx, locks.Request(st.RequestID), locks.Ask{RunID: st.RunID})
	if err != nil {
		return nil, err
	}
	defer func() { _ = lease.Release() }()
	ctx = lease.Context()
	if st, err = s.Project.Run(st.RequestID, st.RunID).LoadStage(); err != nil {
		return nil, err
	}
	on, base, err := s.below(ctx, st)
	if err != nil {
		return nil, err
	}
	stopped := st.RestackStopped()
	if !stopped && project.StaleNow(ctx, s.Project, st).On == "" && slices.EqualFunc(on, st.Git.StackedOn, func(a, b runs.StackedOn) bool { return a.RunID == b.RunID }) {
		return nil, nil
	}
	item := Item{RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch}
	tip, ok, err := s.repo.BranchTip(ctx, item.Branch)
	if err == nil && !ok && stopped {
		f := &fault.Error{Code: fault.StackConflict, Facts: fault.Facts{fault.VerbRestore: project.RestoreBranch(st)}}
		maps.Copy(f.Facts, st.Error.Meta)
		return nil, f
	}
	if err != nil || !ok {
		return nil, errors.Join(err, nothing(st, "no_branch"))
	}
	s.result.Into = st.Git.BaseBranch // what the tests are told to be on top of
	if len(on) > 0 {
		s.result.Into = on[len(on)-1].Branch
	}
	from, mended := st.Git.BaseCommit, false
	if to := st.Git.Restack; stopped && to != nil {
		if there, err := s.repo.IsAncestor(ctx, to.BaseCommit, tip); err == nil && there { // a person moved it
			from, mended = to.BaseCommit, slices.Equal(on, to.StackedOn)
		}
	}
	if mended {
		base, item.Commit = from, tip
		if err = s.refuseLostSteps(ctx, st, item, base, tip); err == nil {
			err = s.checkOut(ctx, tip)
		}
		if err == nil {
			err = s.testMoved(ctx, st, item)
		}
	} else if at := s.repo.CheckedOut(ctx, item.Branch); at != "" {
		err = fault.New(fault.LandRefused, append(gitops.Unfinished(at), "request_id", st.RequestID, "path", at, "branch", item.Branch, "cause_key", "land.restack_there", "elsewhere", at)...)
	} else {
		item.Commit, err = s.rebaseOnto(ctx, st, item, base, from, tip, on, lease)
	}
	if err != nil {
		return nil, err
	}
	return s.moveBranch(ctx, st, item, tip, runs.Restack{BaseCommit: base, StackedOn: on, Commit: item.Commit}, lease)
}

// rebaseOnto are the own commits of a run, those since from, on another base, tested. Where
// they collide the run stops for a person.
func (s *restacking) rebaseOnto(ctx context.Context, st *runs.Stage, item Item, base, from, tip string, on []runs.StackedOn, lease *locks.Lease) (string, error) {
	if err := s.checkOut(ctx, base); err != nil {
		return "", err
	}
	s.tell(Event{Kind: "restacking", Item: item})
	commit, conflicts, err := takeOverLogged(ctx, s.landing, st, gitops.Take{
		Method: gitops.Rebase, Commit: tip, Base: from, Hooks: s.Project.Config.Git.RunHooks, Env: []string{"AIFLOW_REQUEST=" + st.RequestID},
	})
	s.cleanAt = ""
	if len(conflicts) > 0 {
		f := project.StackConflict([]runs.StackedOn{{RequestID: st.RequestID, Branch: item.Branch}}, 0, conflicts)
		f.Facts["with"], f.Facts["request_id"], f.Facts["run_id"], f.Facts["again"] = s.result.Into, st.RequestID, st.RunID, st.RequestID
		f.Facts["onto"], f.Facts["since"], f.Facts["name"] = term.ShortHash(base), term.ShortHash(from), st.RunID
		if err := s.stopAt(ctx, st, f, tip, runs.Restack{BaseCommit: base, StackedOn: on}, lease); err != nil {
			return "", err
		}
		return "", f
	}
	if err != nil {
		return "", err
	}
	s.At("restack_taken")
	return commit, s.testMoved(ctx, st, item)
}

// refuseLostSteps refuses what a person made of a run in which a step is told by no commit any
// more: nobody would know that it is done.
func (s *restacking) refuseLostSteps(ctx context.Context, st *runs.Stage, item Item, base, tip string) error {
	own, err := s.repo.Commits(ctx, base, tip)
	if err != nil {
		return err
	}
	for _, was := range st.Git.Commits {
		if was.StepID != "" && !slices.ContainsFunc(own, func(c gitops.Commit) bool { return stepOf(c, st.RunID) == was.StepID }) {
			return fault.New(fault.StackConflict, "request_id", st.RequestID, "run_id", st.RunID, "branch", item.Branch, "lacks", was.Subject, "commit", term.ShortHash(was.Hash), "again", st.RequestID)
		}
	}
	return nil
}

// testMoved tests what is in the workspace, where something tests.
func (s *restacking) testMoved(ctx context.Context, st *runs.Stage, item Item) error {
	if s.result.Test == "" {
		return nil
	}
	s.tell(Event{Kind: "testing", Item: item})
	return s.test(ctx, st)
}

// stopAt records that a person has to move a run, and where to. Its branch as it is by
// now is kept before they do.
func (s *restacking) stopAt(ctx context.Context, st *runs.Stage, f *fault.Error, tip string, to runs.Restack, lease *locks.Lease) error {
	dir := s.Project.Run(st.RequestID, st.RunID)
	if err := lease.Check(); err != nil {
		return err
	}
	advise := func() []fault.Advice {
		return runs.Advise(st, nil, runs.Now{Branch: true, Retries: s.Project.Config.Limits.MaxStepRetries})
	}
	if !st.RestackStopped() || st.Git.Restack == nil || st.Git.Restack.BaseCommit != to.BaseCommit {
		if err := s.repo.KeepCommit(ctx, runs.RestackRef(st, runs.RestackTries(st)+1), tip); err != nil {
			return err
		}
		if err := st.Fail(s.Project.Now(), runs.NewError(f)); err != nil {
			return err
		}
		st.Git.Restack = &to
		*st = *st.Reworded(s.Words, advise())
		if err := dir.SaveStage(st); err != nil {
			return err
		}
		s.At("restack_stopped")
	} // else it is recorded, but whoever did so may not have come further
	if err := saveHead(dir, st, s.Text); err != nil {
		return err
	}
	return dir.SaveErrors(runs.NewErrors(st, runs.Done, runs.Evidence{}, advise()))
}

// moveBranch notes what is about to happen, moves the branch from where it is, with the
// old tip kept, and records it. Whoever dies between finds out from git.
func (s *restacking) moveBranch(ctx context.Context, st *runs.Stage, item Item, tip string, to runs.Restack, lease *locks.Lease) (*Moved, error) {
	dir := s.Project.Run(st.RequestID, st.RunID)
	before := st.Git.Restack
	st.Git.Restack = &to
	if err := lease.Check(); err != nil {
		return nil, err
	}
	if err := dir.SaveStage(st); err != nil {
		return nil, err
	}
	s.At("restack_noted")
	if err := lease.Check(); err != nil {
		return nil, err
	}
	ref := runs.RestackRef(st, runs.RestackTries(st)+1)
	var err error
	if to.Commit == tip { // a person moved it, and it was kept before
		ref = runs.RestackRef(st, runs.RestackTries(st))
		var now string
		if now, _, err = s.repo.BranchTip(ctx, item.Branch); err == nil && now != tip {
			err = gitops.ErrMoved
		}
	} else {
		err = s.repo.MoveBranch(ctx, item.Branch, tip, to.Commit, ref)
	}
	if errors.Is(err, gitops.ErrMoved) { // since it was tested
		err = baseMoved(st, "once", item.Branch, "again", st.RunID)
	}
	if err != nil {
		st.Git.Restack = before
		return nil, errors.Join(err, dir.SaveStage(st))
	}
	s.At("restack_moved")
	if err := recordMove(context.WithoutCancel(ctx), s.landing, st); err != nil {
		return nil, err
	}
	s.At("restack_recorded")
	return &Moved{Item: item, StackedOn: to.StackedOn, Kept: ref}, nil
}

// recordMove writes where a run stands whose branch has moved.
func recordMove(ctx context.Context, s *landing, st *runs.Stage) error {
	to, g := st.Git.Restack, &st.Git
	own, err := s.repo.Commits(ctx, to.BaseCommit, to.Commit)
	if err != nil {
		return err
	}
	g.Commits = nil
	for _, c := range own {
		g.Commits = append(g.Commits, runs.Commit{StepID: stepOf(c, st.RunID), Hash: c.Hash, Subject: c.Subject})
	}
	if st.State == runs.NeedsInput {
		if err := st.Move(runs.Done, s.Project.Now()); err != nil {
			return err
		}
	}
	g.BaseCommit, g.StackedOn, g.Restack = to.BaseCommit, to.StackedOn, nil
	st.AddEvent(s.Project.Now(), runs.EventRestacked, "", "")
	st.History[len(st.History)-1].Detail = map[string]string{"commit": to.Commit, "base": to.BaseCommit}
	dir := s.Project.Run(st.RequestID, st.RunID)
	return errors.Join(saveHead(dir, st, s.Text), dir.SaveStage(st))
}

// stepOf is the step of a run whose commit it is, told by its trailers.
func stepOf(c gitops.Commit, runID string) string {
	switch {
	case !slices.Contains(c.Trailers[project.RunTrailer], runID):
		return ""
	case len(c.Trailers[project.ResultTrailer]) > 0:
		return runs.RecordStep
	case len(c.Trailers[project.StepTrailer]) > 0:
		return c.Trailers[project.StepTrailer][0]
	}
	return ""
}

// saveHead writes how a run stands above its report, where it has one.
func saveHead(dir *runs.Dir, st *runs.Stage, text runs.Text) error {
	report, err := dir.LoadReport()
	if err != nil || report == "" {
		return err
	}
	return dir.SaveReport(runs.WithHead(report, st, text))
}

// settleMove records what a restack that died had moved.
func settleMove(ctx context.Context, s *landing, st *runs.Stage) (*runs.Stage, error) {
	if st.Git.Restack == nil || st.Git.Restack.Commit == "" {
		return st, nil
	}
	return s.changeRecord(ctx, st, func(_ *runs.Dir, now *runs.Stage) error {
		if now.Git.Restack == nil || now.Git.Restack.Commit == "" {
			return nil
		}
		tip, _, err := s.repo.BranchTip(ctx, now.Git.WorkBranch)
		if err != nil {
			return err
		}
		there := tip == now.Git.Restack.Commit
		if !there && tip != "" {
			there, _ = s.repo.IsAncestor(ctx, now.Git.Restack.Commit, tip)
		}
		if !there {
			now.Git.Restack = nil
			return nil
		}
		return recordMove(ctx, s, now)
	})
}
