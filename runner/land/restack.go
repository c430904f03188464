package land

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
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
	s.place = "restack"
	m, err := l.Project.Locks()
	if err != nil {
		return Restacked{}, err
	}
	if s.lease, err = m.AcquireNamed(ctx, s.place, locks.Ask{}); err != nil {
		return Restacked{}, err
	}
	defer func() { _ = s.lease.Release() }()
	ctx = s.lease.Context()
	proc.EndStrays(s.mark(), 0, 0)
	if s.survey, err = l.Project.Survey(ctx); err != nil {
		return Restacked{}, err
	}
	if err := s.read(); err != nil {
		return Restacked{}, err
	}
	if err := s.settle(ctx); err != nil {
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
		case !ofOne(err):
			return out, err
		default:
			out.LeftOut = append(out.LeftOut, s.leftOut(item, err))
		}
	}
	return out, s.repo.DropScratch(context.WithoutCancel(ctx), s.path("land"))
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
	var todo []*runs.Stage
	for _, st := range s.finished {
		switch {
		case len(named) > 0 && !named[st.RunID]:
		case len(st.Git.StackedOn) > 0 && of.AwaitsMerge(st):
			todo = append(todo, st)
		case named[st.RunID]:
			return nil, fault.New(fault.NothingToDo, "request_id", st.RequestID, "run_id", st.RunID, "reason", "not_stacked")
		}
	}
	return todo, nil
}

// below is where a run should stand: on the latest runs, as they are now, of what its
// request depends on and that wait to be merged; and the commit that has them all.
func (s *restacking) below(ctx context.Context, st *runs.Stage) (on []runs.StackedOn, commit string, err error) {
	deps := s.dependsOn(st)
	for _, id := range deps {
		last, r := s.survey.Latest(id), s.survey.Folder.Unique(id)
		if last != nil { // it may have been moved a moment ago
			if now, err := s.Project.Run(id, last.RunID).LoadStage(); err == nil {
				last = now
			}
		}
		switch {
		case r != nil && r.SaysOver() || last != nil && s.standing.Merged(last):
			continue
		case last == nil || !s.standing.AwaitsMerge(last) || stale(ctx, s.landing, last).On != "":
			return nil, "", fault.New(fault.DependsNotDone, "request_id", st.RequestID, "run_id", st.RunID, "value", id)
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

// stale is what became of that on which a run stands.
func stale(ctx context.Context, s *landing, st *runs.Stage) project.Stale {
	return s.Project.StaleOn(st, func(branch string) bool {
		_, ok, err := s.repo.BranchTip(ctx, branch)
		return ok || err != nil
	})
}

// restack moves one run; nil: it stands where it should.
func (s *restacking) restack(ctx context.Context, st *runs.Stage) (*Moved, error) {
	m, err := s.Project.Locks()
	if err != nil {
		return nil, err
	}
	lease, err := m.AcquireRequest(ctx, st.RequestID, locks.Ask{RunID: st.RunID})
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
	if stale(ctx, s.landing, st).On == "" && slices.EqualFunc(on, st.Git.StackedOn, func(a, b runs.StackedOn) bool { return a.RunID == b.RunID }) {
		return nil, nil
	}
	item := Item{RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch}
	if at := s.repo.CheckedOut(ctx, item.Branch); at != "" {
		return nil, fault.New(fault.LandRefused, "request_id", st.RequestID, "path", at, "branch", item.Branch, "cause_key", "land.restack_there", "elsewhere", at)
	}
	tip, ok, err := s.repo.BranchTip(ctx, item.Branch)
	if err != nil || !ok {
		return nil, errors.Join(err, fault.New(fault.NothingToDo, "request_id", st.RequestID, "run_id", st.RunID, "reason", "no_branch"))
	}
	s.result.Into = st.Git.BaseBranch // what the tests are told to be on top of
	if len(on) > 0 {
		s.result.Into = on[len(on)-1].Branch
	}
	if item.Commit, err = s.carried(ctx, st, item, base, tip, on); err != nil {
		return nil, err
	}
	return s.swapped(ctx, st, item, tip, runs.Restack{BaseCommit: base, StackedOn: on, Commit: item.Commit}, lease)
}

// carried are the own commits of a run on another base, tested.
func (s *restacking) carried(ctx context.Context, st *runs.Stage, item Item, base, tip string, on []runs.StackedOn) (string, error) {
	if err := s.stand(ctx, base); err != nil {
		return "", err
	}
	s.tell(Event{Kind: "restacking", Item: item})
	commit, conflicts, err := s.ws.Take(ctx, gitops.Take{
		Method: gitops.Rebase, Commit: tip, Base: st.Git.BaseCommit, Hooks: s.Project.Config.Git.RunHooks, Env: []string{"AIFLOW_REQUEST=" + st.RequestID},
	})
	s.stands = ""
	if len(conflicts) > 0 {
		f := project.StackConflict([]runs.StackedOn{{RequestID: st.RequestID, Branch: item.Branch}}, 0, conflicts)
		f.Facts["with"], f.Facts["request_id"], f.Facts["run_id"], f.Facts["again"] = s.result.Into, st.RequestID, st.RunID, st.RequestID
		return "", f
	}
	if err != nil {
		return "", err
	}
	s.At("restack_taken")
	if kind, _ := s.Project.Config.LandTest(); kind != "" {
		s.tell(Event{Kind: "testing", Item: item})
		err = s.test(ctx, st)
	}
	return commit, err
}

// swapped notes what is about to happen, moves the branch from where it is, with the
// old tip kept, and records it. Whoever dies between finds out from git.
func (s *restacking) swapped(ctx context.Context, st *runs.Stage, item Item, tip string, to runs.Restack, lease *locks.Lease) (*Moved, error) {
	dir := s.Project.Run(st.RequestID, st.RunID)
	kept := runs.AttemptsOf(st.RunID) + "/restack/" + strconv.Itoa(restacks(st)+1)
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
	if err := s.repo.MoveBranch(ctx, item.Branch, tip, to.Commit, kept); err != nil {
		st.Git.Restack = nil
		return nil, errors.Join(err, dir.SaveStage(st))
	}
	s.At("restack_moved")
	if err := recordMove(context.WithoutCancel(ctx), s.landing, st); err != nil {
		return nil, err
	}
	s.At("restack_recorded")
	return &Moved{Item: item, StackedOn: to.StackedOn, Kept: kept}, nil
}

// restacks is how often a run was moved.
func restacks(st *runs.Stage) int {
	n := 0
	for _, e := range st.History {
		if e.Event == runs.EventRestacked {
			n++
		}
	}
	return n
}

// recordMove writes where a run stands whose branch has moved.
func recordMove(ctx context.Context, s *landing, st *runs.Stage) error {
	to, g := st.Git.Restack, &st.Git
	before, err := s.repo.Own(ctx, g.BaseCommit, st.Tip())
	if err != nil {
		return err
	}
	after, err := s.repo.Own(ctx, to.BaseCommit, to.Commit)
	if err != nil {
		return err
	}
	for i := range g.Commits {
		if n := slices.Index(before, g.Commits[i].Hash); n >= 0 && n < len(after) {
			g.Commits[i].Hash = after[n]
		}
	}
	g.BaseCommit, g.StackedOn, g.Restack = to.BaseCommit, to.StackedOn, nil
	st.AddEvent(s.Project.Now(), runs.EventRestacked, "", "")
	st.History[len(st.History)-1].Detail = map[string]string{"commit": to.Commit, "base": to.BaseCommit}
	dir := s.Project.Run(st.RequestID, st.RunID)
	report, err := dir.LoadReport()
	if err == nil && report != "" {
		err = dir.SaveReport(runs.WithHead(report, st, s.Text))
	}
	return errors.Join(err, dir.SaveStage(st))
}

// settleMove records what a restack that died had moved.
func settleMove(ctx context.Context, s *landing, st *runs.Stage) (*runs.Stage, error) {
	if st.Git.Restack == nil {
		return st, nil
	}
	return s.changing(ctx, st, func(_ *runs.Dir, now *runs.Stage) error {
		if now.Git.Restack == nil {
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
