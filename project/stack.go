package project

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// Stacks lets requests start on top of finished runs that are not merged, or not.
func (s *Survey) Stacks(on bool) {
	if s.Facts.Stack = nil; on {
		s.Facts.Stack = &choose.Stacking{Collide: s.stackCollides}
	}
}

// StackOf is on what a new run of r would start, with the commits at which the
// branches are now; none for its base.
func (s *Survey) StackOf(ctx context.Context, r *reqmeta.Request) []runs.StackedOn {
	if s.Facts.Stack == nil {
		return nil
	}
	return s.p.stackedOn(ctx, choose.Stack(s.Folder, s.Facts, r.ID))
}

func (p *Project) stackedOn(ctx context.Context, on []choose.OnTop) []runs.StackedOn {
	var branches []string
	for _, o := range on {
		branches = append(branches, o.Branch)
	}
	var list []runs.StackedOn
	commits := commitsOf(ctx, p, branches)
	for _, o := range on {
		list = append(list, runs.StackedOn{RequestID: o.RequestID, RunID: o.RunID, Branch: o.Branch, Commit: commits[o.Branch]})
	}
	return list
}

// stackCollides asks git whether what r would start on merges together. A git that
// cannot say lets the run find out when it begins.
func (s *Survey) stackCollides(r *reqmeta.Request, on []choose.OnTop) *choose.Obstacle {
	ctx, g := context.Background(), s.p.Git()
	list := s.p.stackedOn(ctx, on)
	base := s.BaseOf(r)
	if base == "" {
		base = "HEAD"
	}
	_, stuck, files, err := g.Together(ctx, commitsOf(ctx, s.p, []string{base})[base], runs.Commits(list), g.TryMerges)
	if err != nil || len(files) == 0 {
		return nil
	}
	return &choose.Obstacle{Name: "stack", Err: StackConflict(list, stuck, files)}
}

// RestoreBranch is the command that puts the branch back which was kept when the own
// commits of a run collided with what is below them.
func RestoreBranch(st *runs.Stage) string {
	return "git branch " + proc.Word(st.Git.WorkBranch) + " " + runs.RestackRef(st, runs.RestackTries(st))
}

// StackConflict is why a run cannot stand on all of these: the one at stuck collides
// with those before it, or with the base.
func StackConflict(list []runs.StackedOn, stuck int, files []string) *fault.Error {
	const most = 5
	names := strings.Join(files[:min(len(files), most)], ", ")
	if len(files) > most {
		names += ", …"
	}
	f := fault.New(fault.StackConflict, "branch", list[stuck].Branch, "on", list[stuck].RequestID, "files", names)
	if stuck > 0 {
		f.Facts["with"] = list[stuck-1].Branch
	}
	return f
}

// Stale is what became of that on which a run stands.
type Stale struct {
	On    string // the request that is no longer what it was: rejected, run again, moved itself; "" is none
	Again bool   // the run can be moved to where that one is now
}

// StaleOn looks at what a run stands on. there are the work branches, landed the runs that
// are to be taken as landed.
func (p *Project) StaleOn(st *runs.Stage, there Branches, landed ...string) Stale {
	q := staleness{p, there, landed, map[string]Stale{}, map[string]*reqmeta.Request{}}
	return q.of(st)
}

// staleness is one question, in which each run and each request is looked at once: in a
// stack there can be more ways down than anybody could go.
type staleness struct {
	p        *Project
	there    Branches
	landed   []string                    // runs that are to be taken as landed
	known    map[string]Stale            // by run
	requests map[string]*reqmeta.Request // see requestWhereMerged
}

func (q *staleness) of(st *runs.Stage) Stale {
	if is, known := q.known[st.RunID]; known {
		return is
	}
	p, since := q.p, st.StartedAt
	if at, ok := st.LastEvent(runs.EventRestacked); ok {
		since = at
	}
	found := Stale{Again: true}
	for _, on := range st.Git.StackedOn {
		if q.stale(on, since) {
			found.On = cmp.Or(found.On, on.RequestID)
			last, err := runs.Latest(p.Dir, p.RunsDir(), on.RequestID)
			found.Again = found.Again && err == nil && last != nil && (last.State == runs.Done || last.RestackStopped()) && q.there.Has(last.Git.WorkBranch) && q.of(last).Again &&
				!(q.there.Moved(last.Git.WorkBranch, last.Tip()) && Emptied(context.Background(), p, last))
		}
	}
	q.known[st.RunID] = found
	return found
}

// StaleNow is StaleOn for one run, as the branches are now.
func StaleNow(ctx context.Context, p *Project, st *runs.Stage, landed ...string) Stale {
	if len(st.Git.StackedOn) == 0 {
		return Stale{}
	}
	return p.StaleOn(st, WorkBranches(ctx, p), landed...)
}

// LandFailed is the branch on top of which the tests failed with a finished run's branch
// as it is now; nil where none did, or where a person has moved either since. there are
// the work branches.
func LandFailed(ctx context.Context, p *Project, st *runs.Stage, there Branches) *runs.LandFailed {
	failed := st.LandFailed
	if failed == nil || there[st.Git.WorkBranch] != failed.Tip {
		return nil
	}
	if _, err := p.Git().Ask(ctx, "rev-parse", "-q", "--verify", "refs/heads/"+failed.Into); err != nil {
		return nil // nobody will land there
	}
	return failed
}

// stale reports whether a run is no longer what another one was put on top of at that time.
func (q *staleness) stale(on runs.StackedOn, since time.Time) bool {
	p, there := q.p, q.there
	r, asked := q.requests[on.RequestID]
	if !asked {
		r = requestWhereMerged(p, on.RequestID)
		q.requests[on.RequestID] = r
	}
	if r != nil && r.Meta.Status == reqmeta.Done {
		if made := MadeDone(p, r); made == "" || made == on.RunID {
			return false // a person calls it done, however it was merged
		}
	}
	below, err := p.Run(on.RequestID, on.RunID).LoadStage()
	if err != nil {
		return !there.Has(on.Branch) // its record is lost: the branch tells
	}
	last, err := runs.Latest(p.Dir, p.RunsDir(), on.RequestID)
	moved, _ := below.LastEvent(runs.EventRestacked)
	switch {
	case below.HasEvent(runs.EventMerged):
		return false
	case below.DroppedAt != nil || below.ReplacedBy != "" || err == nil && last != nil && last.RunID != on.RunID && last.DroppedAt == nil:
		return true
	case below.Landed != nil || slices.Contains(q.landed, on.RunID):
		return false
	case !there.Has(on.Branch) || moved.After(since):
		return true
	case there.Moved(on.Branch, on.Commit):
		landed, _ := p.LandedIn(context.Background(), "refs/heads/"+below.Git.BaseBranch, []*runs.Stage{below})
		return !landed[below.RunID]
	}
	return q.of(below).On != ""
}

// requestWhereMerged is a request as it is where a merge counts. A work branch that is checked out, and
// a merge that is not committed, say done of what was never merged.
func requestWhereMerged(p *Project, id string) *reqmeta.Request {
	ctx := context.Background()
	if h := mergeTarget(findBaseChoice(ctx, p, "")); p.Root.Git && h != "" && (h != "HEAD" || p.Root.unfinished()) {
		for _, r := range requestsAt(ctx, p, h, map[string]bool{id: true}) {
			return r
		}
		return nil
	}
	f, err := p.Requests()
	if err != nil {
		return nil
	}
	return f.Unique(id)
}

// Emptied reports whether a person put a run's branch to where it has nothing that the
// run's base lacks.
func Emptied(ctx context.Context, p *Project, st *runs.Stage) bool {
	out, err := p.Git().Ask(ctx, "rev-list", "-n", "1", "refs/heads/"+st.Git.WorkBranch, "^"+st.Git.BaseCommit, "^refs/heads/"+st.Git.BaseBranch, "--")
	return err == nil && len(out) == 0
}
