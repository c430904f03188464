package project

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// Standing is what records of runs do not say themselves: whether somebody
// works for them, whether their branch is there, whether it was merged.
type Standing struct {
	Unsure error // why git could not say what has been merged

	working      map[locks.Key]locks.Entry // the live locks
	branches     Branches
	landed       map[string]bool // runs that are in the home branch, in their base or where they were landed
	here         map[string]bool // runs that are in the home branch
	doneByStatus map[string]bool // finished runs whose request says done

	p           *Project
	mergeTarget string
	base        string // from which requests start that name none; "" is what is checked out
}

// Standing looks at the locks once and at git once or twice, for all of these
// runs together. It changes nothing.
func (p *Project) Standing(ctx context.Context, stages []*runs.Stage) (*Standing, error) {
	return standing(ctx, p, stages, WorkBranches(ctx, p))
}

// standing is Project.Standing for those who know the work branches already.
func standing(ctx context.Context, p *Project, stages []*runs.Stage, branches Branches) (*Standing, error) {
	s := &Standing{p: p, branches: branches}
	var err error
	if _, s.working, err = liveLocks(p); err != nil {
		return nil, err
	}
	var waiting []*runs.Stage
	for _, st := range stages {
		if st.Unmerged() {
			waiting = append(waiting, st)
		}
	}
	if len(waiting) == 0 {
		return s, nil
	}
	if p.Root.Git {
		s.Unsure = whyUnsure(ctx, p, branches, s.readHistories(ctx, p, waiting))
	}
	s.doneByStatus, err = saidDone(ctx, p, s.mergeTarget, waiting)
	return s, err
}

// mergeTarget is where a merge counts: "HEAD" where a person's own branch is checked out. Who
// looks at a result has its base for that; "" is nowhere.
func mergeTarget(st baseChoice) string {
	switch {
	case st.checkedOut != "":
		return "HEAD"
	case st.defaultBase != "":
		return "refs/heads/" + st.defaultBase
	}
	return ""
}

// MergeTarget is the branch, or HEAD, in which a merge counts; "" is none.
func (s *Standing) MergeTarget() string { return s.mergeTarget }

// readHistories looks for finished runs in the home branch, in the base of each, and
// where it was landed. Its error is why git could not say all of that.
func (s *Standing) readHistories(ctx context.Context, p *Project, waiting []*runs.Stage) (unsure error) {
	tips := map[string][]*runs.Stage{}
	here := checkedOut(ctx, p)
	start := findBaseChoice(ctx, p, "")
	if s.mergeTarget, s.base = mergeTarget(start), start.defaultBase; s.mergeTarget != "" {
		tips[s.mergeTarget] = waiting
	}
	for _, st := range waiting {
		bases := []string{st.Git.BaseBranch}
		if l := st.Landed; l != nil && l.Into != st.Git.BaseBranch {
			bases = append(bases, l.Into)
		}
		for _, base := range bases {
			if base != here && "refs/heads/"+base != s.mergeTarget {
				tips["refs/heads/"+base] = append(tips["refs/heads/"+base], st)
			}
		}
	}
	s.landed, s.here = map[string]bool{}, map[string]bool{}
	for tip, about := range tips {
		found, landed, err := landedIn(ctx, p, tip, about)
		unsure = cmp.Or(unsure, err)
		if tip != s.mergeTarget { // there it counts until somebody reverts it
			dropTakenBack(ctx, p, tip, about, found, landed)
		}
		for id := range found {
			s.landed[id] = true
			s.here[id] = s.here[id] || tip == s.mergeTarget
		}
	}
	return unsure
}

// dropTakenBack leaves of the runs that were found in a branch those that were not reverted there.
func dropTakenBack(ctx context.Context, p *Project, tip string, about []*runs.Stage, found map[string]bool, landed Landed) {
	ids := map[string]bool{}
	for _, st := range about {
		if found[st.RunID] {
			ids[st.RequestID] = true
		}
	}
	if len(ids) == 0 {
		return
	}
	there, done := statusesAt(ctx, p, tip, ids)
	for _, st := range about {
		if id := st.RequestID; found[st.RunID] && there[id] && !done[id] && sawDoneIn(ctx, p, landed, st) {
			delete(found, st.RunID)
		}
	}
}

// saidDone tells which finished runs their requests call done: in their files, or as
// they are in the home branch where something else is checked out, or git is not done
// with it.
func saidDone(ctx context.Context, p *Project, home string, waiting []*runs.Stage) (map[string]bool, error) {
	told := map[string]bool{}
	if p.Root.Git && (home != "HEAD" || p.Root.unfinished()) {
		ids := map[string]bool{}
		for _, st := range waiting {
			ids[st.RequestID] = true
		}
		for _, r := range requestsAt(ctx, p, home, ids) {
			if r.Meta.Status == reqmeta.Done && r.Valid() {
				told[MadeDone(p, r)] = true
			}
		}
		return told, nil
	}
	folder, err := p.Requests()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, st := range waiting {
		r, err := folder.Get(st.RequestID)
		if err == nil && r.ID == st.RequestID && r.Meta.Status == reqmeta.Done {
			told[MadeDone(p, r)] = true
		}
	}
	return told, nil
}

// unmergedDone are the requests that say done in a checkout which git or a landing is not
// done with, and whose finished runs are not merged. Mostly nothing is under way.
func unmergedDone(ctx context.Context, s *Survey) (map[string]bool, error) {
	if !s.p.Root.Git || !s.p.Root.unfinished() && !s.p.Root.has("index.lock") && !slices.ContainsFunc(s.Locks, ofLanding) {
		return nil, nil
	}
	var waiting []*runs.Stage
	for _, r := range s.tried() {
		if r.Meta.Status != reqmeta.Done {
			continue
		}
		if st := s.Latest(r.ID); st != nil && st.Unmerged() {
			waiting = append(waiting, st)
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	of, err := standing(ctx, s.p, waiting, s.Branches())
	if err != nil {
		return nil, err
	}
	undone := map[string]bool{}
	for _, st := range waiting {
		if !of.Merged(st) {
			undone[st.RequestID] = true
		}
	}
	return undone, nil
}

// ofLanding: somebody lands, or died while they did.
func ofLanding(e locks.Entry) bool {
	key, ok := locks.KeyOf(e.Path)
	return ok && key.Type == locks.TypeName && strings.HasPrefix(key.ID, LandLock+"-")
}

// LandLock is the kind of a landing's lock: locks.NameFor. RestackLock is the name of the
// one of a restack, and LandScratch what the names of the worktrees of both begin with.
const (
	LandLock    = "land"
	RestackLock = "restack"
	LandScratch = "_land-"
)

// MadeDone is the run that made a request done: the newest finished one that
// began before it was, and that nobody rejected.
func MadeDone(p *Project, r *reqmeta.Request) string {
	for st := range p.RunsOf(r.ID) {
		if st.State != runs.Done || st.DroppedAt != nil {
			continue
		}
		before, err := p.Run(st.RequestID, st.RunID).LoadRequest()
		if err != nil || r.Parse(before).Meta.Status != reqmeta.Done {
			return st.RunID
		}
	}
	return ""
}

// Working: somebody holds the lock of the run's request, for it or for what is
// still being made.
func (s *Standing) Working(st *runs.Stage) bool {
	_, held := s.working[locks.Request(st.RequestID)]
	return held
}

// Interrupted: the run has not ended, and nobody works for it.
func (s *Standing) Interrupted(st *runs.Stage) bool {
	if st.State.Ended() || st.DroppedAt != nil {
		return false
	}
	lock, held := s.working[locks.Request(st.RequestID)]
	return !held || lock.RunID != "" && lock.RunID != st.RunID
}

// BranchExists: the run's branch is there, or git cannot say.
func (s *Standing) BranchExists(st *runs.Stage) bool {
	return st.Git.WorkBranch != "" && s.branches.Has(st.Git.WorkBranch)
}

// Merged: all of a finished run is in the home branch, in its base or where
// it was landed, or was once, or its request says that it is done.
func (s *Standing) Merged(st *runs.Stage) bool {
	return st.State == runs.Done && (s.mergedInGit(st) || s.saysDone(st))
}

// saysDone: its request says that it is done. While it lands only git's history counts: a
// landing that died may have left the word in the checkout.
func (s *Standing) saysDone(st *runs.Stage) bool {
	return s.doneByStatus[st.RunID] && st.Landing == nil
}

// MergedHere: all of a finished run is in the home branch, or was once, or its
// request says that it is done. Only then does nothing depend on its record: one that
// is merely in another branch would be done once more without it.
func (s *Standing) MergedHere(st *runs.Stage) bool {
	return st.State == runs.Done && (st.HasEvent(runs.EventMerged) || s.here[st.RunID] || s.saysDone(st))
}

// mergedInGit: the history shows that all of a run was merged.
func (s *Standing) mergedInGit(st *runs.Stage) bool {
	return st.HasEvent(runs.EventMerged) || s.landed[st.RunID]
}

// MergedByStatusOnly: a finished run counts as merged for no other reason than that its
// request says done.
func (s *Standing) MergedByStatusOnly(st *runs.Stage) bool {
	return s.saysDone(st) && !s.mergedInGit(st)
}

// Summary is a record's outline with how it stands.
func (s *Standing) Summary(st *runs.Stage) runs.Summary {
	r := st.Summary()
	r.Interrupted, r.Merged, r.BranchExists = s.Interrupted(st), s.Merged(st), s.BranchExists(st)
	if r.Merged && st.Landed != nil && st.Landed.Into != s.base && !s.MergedHere(st) {
		r.LandedOn = st.Landed.Into
	}
	if s.AwaitsMerge(st) {
		stale := s.StaleOn(st)
		r.Stale, r.Restacks, r.LandFailed = stale.On, stale.Again, s.LandFailed(st)
	}
	return r
}

// LandFailed is where the tests fail with a finished run that waits to be merged.
func (s *Standing) LandFailed(st *runs.Stage) *runs.LandFailed {
	return LandFailed(context.Background(), s.p, st, s.branches)
}

// StaleOn is what became of that on which a run stands.
func (s *Standing) StaleOn(st *runs.Stage) Stale {
	return s.p.StaleOn(st, s.branches)
}

// AwaitsMerge: a finished run whose branch is there, and whose work is not in
// the checked out one.
func (s *Standing) AwaitsMerge(st *runs.Stage) bool {
	return st.Unmerged() && !s.Merged(st) && s.BranchExists(st)
}
