package land

import (
	"context"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// choose gives the runs to land in the order of dependencies, then of finishing. Those
// of the given names that are on the branch are noted as such.
func (s *landing) choose(ctx context.Context) ([]*runs.Stage, error) {
	there, err := s.Project.LandedIn(ctx, s.result.From, s.finished)
	if err != nil {
		return nil, err
	}
	named, err := s.named()
	if err != nil {
		return nil, err
	}
	h, err := s.repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	here := h.Branch == s.result.Into
	var todo []*runs.Stage
	for _, st := range s.finished {
		_, branch, err := s.repo.BranchTip(ctx, st.Git.WorkBranch)
		if err != nil {
			return nil, err
		}
		item := Item{RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch}
		switch asked := named[st.RunID]; {
		case there[st.RunID] || here && st.HasEvent(runs.EventMerged):
			if asked && !slices.ContainsFunc(s.result.Already, func(i Item) bool { return i.RunID == st.RunID }) {
				s.result.Already = append(s.result.Already, item)
			}
		case !branch && asked:
			return nil, nothing(st, "no_branch")
		case !branch:
		case asked || len(s.o.Names) == 0 && s.awaitsLanding(st, here):
			todo = append(todo, st)
			s.askedFor[st.RequestID] = true
			s.unlanded[st.RequestID] = true
		case s.awaitsLanding(st, here):
			s.unlanded[st.RequestID] = true
		case s.survey.Folder.Unique(st.RequestID) == nil:
			if s.unlanded[st.RequestID] = true; len(s.o.Names) > 0 {
				continue
			}
			if h.Branch != st.Git.BaseBranch {
				item.OnBase = baseWithFile(ctx, s, st)
			}
			s.result.WithoutRequest = append(s.result.WithoutRequest, item)
		}
	}
	return s.sorted(todo), nil
}

// baseWithFile is the branch from which a run started, where that has the file of its
// request; "" is none.
func baseWithFile(ctx context.Context, s *landing, st *runs.Stage) string {
	tip, ok, err := s.repo.BranchTip(ctx, st.Git.BaseBranch)
	if err != nil || !ok {
		return ""
	}
	if _, ok, err = s.repo.ReadFile(ctx, tip, st.Artifacts.RequestPath); err != nil || !ok {
		return ""
	}
	return st.Git.BaseBranch
}

// awaitsLanding: a person has not taken the run over by hand, and its request is there. One that
// was done before the run began says nothing of it.
func (s *landing) awaitsLanding(st *runs.Stage, here bool) bool {
	r := s.survey.Folder.Unique(st.RequestID)
	return r != nil && !(here && (r.Meta.Status == reqmeta.Archived || r.Meta.Status == reqmeta.Done && project.MadeDone(s.Project, r) == st.RunID))
}

// named are the runs that the names mean.
func (s *landing) named() (map[string]bool, error) {
	found := map[string]bool{}
	for _, name := range s.o.Names {
		st, err := s.findRun(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(s.finished, func(f *runs.Stage) bool { return f.RunID == st.RunID }) {
			return nil, nothing(st, notLanded(st))
		}
		found[st.RunID] = true
	}
	return found, nil
}

// notLanded is why a run that was named cannot be landed.
func notLanded(st *runs.Stage) string {
	switch {
	case st.DroppedAt != nil:
		return "dropped"
	case st.State == runs.Done:
		return "newer_run"
	}
	return "not_finished"
}

// findRun finds a run by its id or that of its request, or their unique beginning.
func (s *landing) findRun(name string) (*runs.Stage, error) {
	p := s.Project
	if strings.HasPrefix(name, runs.IDPrefix) && s.survey.Latest(name) == nil { // a request may have such an id, too
		var like []*runs.Stage
		for _, st := range s.finished {
			if strings.HasPrefix(st.RunID, name) {
				like = append(like, st)
			}
		}
		if len(like) == 1 {
			return like[0], nil
		}
		id, err := runs.FindRun(p.Dir, p.RunsDir(), name)
		if err != nil {
			return nil, err
		}
		return p.Run(id, name).LoadStage()
	}
	id := name
	if st := s.survey.Latest(name); st == nil {
		r, err := s.survey.Folder.Get(name)
		if err != nil {
			return nil, err
		}
		id = r.ID
	}
	st := s.survey.Latest(id)
	if st == nil {
		return nil, fault.New(fault.RunNotFound, "request_id", id, "reason", "never_ran")
	}
	return st, nil
}

// dependencies are the requests that a run's request waits for.
func (s *landing) dependencies(st *runs.Stage) []string {
	if r := s.survey.Folder.Unique(st.RequestID); r != nil {
		return r.Meta.DependsOn
	}
	return nil
}

// needs are the requests without whose results a run cannot land: those it depends on, and
// those that it stands on whose files were moved or deleted, which nobody can depend on.
func needs(s *landing, st *runs.Stage) []string {
	ids := slices.Clone(s.dependencies(st))
	for _, on := range st.Git.StackedOn {
		if s.survey.Folder.Unique(on.RequestID) == nil && !slices.Contains(ids, on.RequestID) {
			ids = append(ids, on.RequestID)
		}
	}
	return ids
}

// sorted puts dependencies first; the order is else that of the list. What waits
// for itself comes last.
func (s *landing) sorted(list []*runs.Stage) []*runs.Stage {
	left := map[string]bool{}
	for _, st := range list {
		left[st.RequestID] = true
	}
	var order []*runs.Stage
	for len(order) < len(list) {
		next := slices.IndexFunc(list, func(st *runs.Stage) bool {
			return left[st.RequestID] && !slices.ContainsFunc(needs(s, st), func(id string) bool { return left[id] && id != st.RequestID })
		})
		if next < 0 {
			next = slices.IndexFunc(list, func(st *runs.Stage) bool { return left[st.RequestID] })
		}
		order = append(order, list[next])
		delete(left, list[next].RequestID)
	}
	return order
}
