package project

import (
	"cmp"
	"context"
	"strings"
	"time"

	"aiflow/internal/fault"
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

// StaleOn looks at what a run stands on. exists tells which work branches are there.
func (p *Project) StaleOn(st *runs.Stage, exists func(branch string) bool) Stale {
	since := st.StartedAt
	if at, ok := st.LastEvent(runs.EventRestacked); ok {
		since = at
	}
	found := Stale{Again: true}
	for _, on := range st.Git.StackedOn {
		if p.stale(on, since, exists) {
			found.On = cmp.Or(found.On, on.RequestID)
			last, err := runs.Latest(p.Dir, p.RunsDir(), on.RequestID)
			found.Again = found.Again && err == nil && last != nil && last.State == runs.Done && exists(last.Git.WorkBranch) && p.StaleOn(last, exists).Again
		}
	}
	return found
}

func (p *Project) stale(on runs.StackedOn, since time.Time, exists func(branch string) bool) bool {
	below, err := p.Run(on.RequestID, on.RunID).LoadStage()
	if err != nil {
		return !exists(on.Branch) // its record is lost: the branch tells
	}
	if f, err := p.Requests(); err == nil {
		if r := f.Unique(on.RequestID); r != nil && r.Meta.Status == reqmeta.Done {
			return false // a person calls it done, however it was merged
		}
	}
	last, err := runs.Latest(p.Dir, p.RunsDir(), on.RequestID)
	moved, _ := below.LastEvent(runs.EventRestacked)
	switch {
	case below.HasEvent(runs.EventMerged):
		return false
	case below.DroppedAt != nil || below.ReplacedBy != "" || err == nil && last != nil && last.RunID != on.RunID && last.DroppedAt == nil:
		return true
	case below.Landed != nil:
		return false
	case !exists(on.Branch) || moved.After(since):
		return true
	}
	return p.StaleOn(below, exists).On != ""
}
