package land

import (
	"context"
	"maps"
	"slices"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// Forecast is what a landing would come to, without tests and hooks.
type Forecast struct {
	Into           string
	Tip            string
	Lands          []Item // in the order in which they would land
	LeftOut        []Left
	Already        []Item
	WithoutRequest []Item // as in a Result
	Pairs          []Colliding
	// Most are the requests of the largest set that lands together, in order. It is
	// that of Lands where no choice lands more.
	Most []string
}

// Colliding are two requests that do not merge together.
type Colliding struct {
	Requests [2]string `json:"requests"`
	Files    []string  `json:"files"`
}

// Forecast says what Land would do. It moves no branch and writes no record.
func (l *Lander) Forecast(ctx context.Context, o Options) (Forecast, error) {
	s, err := l.begin(ctx, o)
	if f, ok := fault.As(err); ok && f.Code == fault.LandRefused && o.Into == "" { // of the branch that is being rebased
		o.Into = f.Facts["branch"]
		s, err = l.begin(ctx, o)
	}
	if err != nil {
		return Forecast{}, err
	}
	if err := s.readProject(ctx, l.Project.Look); err != nil {
		return Forecast{}, err
	}
	todo, err := s.choose(ctx)
	if err != nil {
		return Forecast{}, err
	}
	f := Forecast{Into: s.result.Into, Tip: s.result.From, Already: s.result.Already, WithoutRequest: s.result.WithoutRequest}
	tips := map[string]string{}
	for _, st := range todo {
		if tips[st.RequestID], _, err = s.repo.BranchTip(ctx, st.Git.WorkBranch); err != nil {
			return f, err
		}
	}
	alone, err := s.landAlone(ctx, todo, tips)
	if err != nil {
		return f, err
	}
	if f.Pairs, err = s.pairs(ctx, todo, alone); err != nil {
		return f, err
	}
	if f.Lands, f.LeftOut, err = s.simulate(ctx, todo, tips); err != nil {
		return f, err
	}
	for _, st := range todo {
		if i := slices.IndexFunc(f.Lands, func(i Item) bool { return i.RunID == st.RunID }); i >= 0 {
			warnSteps(s, st, f.Lands[i])
		}
	}
	f.Most = s.largestSet(ctx, todo, alone, f, tips)
	return f, nil
}

// scratch is where a git that cannot try merges tries them.
func (s *landing) scratch() string { return s.path("_forecast-" + s.Project.Suffix() + "-") }

// landAlone are the commits that the branches become when each lands first, with what it
// stands on; none for one that collides with what is there, or whose history is another.
func (s *landing) landAlone(ctx context.Context, todo []*runs.Stage, tips map[string]string) (map[string]string, error) {
	var pairs []gitops.Pair
	var can []*runs.Stage
	cannot := map[string]bool{}
	for _, st := range todo {
		onIt := func(on runs.StackedOn) bool {
			return cannot[on.RequestID] || s.unlanded[on.RequestID] && !s.askedFor[on.RequestID]
		}
		if err := s.onBase(ctx, st, s.result.From); fault.Has(err, fault.LandOtherBase) || slices.ContainsFunc(st.Git.StackedOn, onIt) || project.StaleNow(ctx, s.Project, st).On != "" {
			cannot[st.RequestID] = true
			continue
		}
		can = append(can, st)
		pair, err := pairOf(ctx, s, st, s.result.From, tips[st.RequestID])
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair)
	}
	tried, err := s.repo.TryMerges(ctx, pairs, s.scratch())
	if err != nil {
		return nil, err
	}
	merged := map[string]string{}
	for i, st := range can {
		if len(tried[i].Conflicts) == 0 {
			if merged[st.RequestID], err = s.repo.MergeOf(ctx, tried[i].Tree, gitops.Pair{Ours: s.result.From, Theirs: tips[st.RequestID]}); err != nil {
				return nil, err
			}
		}
	}
	return merged, nil
}

// pairs are those that collide, of the branches that could land alone.
func (s *landing) pairs(ctx context.Context, todo []*runs.Stage, alone map[string]string) ([]Colliding, error) {
	var pairs []gitops.Pair
	var found []Colliding
	for i, a := range todo {
		for _, b := range todo[i+1:] {
			if alone[a.RequestID] != "" && alone[b.RequestID] != "" {
				pairs = append(pairs, gitops.Pair{Ours: alone[a.RequestID], Theirs: alone[b.RequestID]})
				found = append(found, Colliding{Requests: [2]string{a.RequestID, b.RequestID}})
			}
		}
	}
	tried, err := s.repo.TryMerges(ctx, pairs, s.scratch())
	if err != nil {
		return nil, err
	}
	for i := range tried {
		found[i].Files = tried[i].Conflicts
	}
	return slices.DeleteFunc(found, func(c Colliding) bool { return len(c.Files) == 0 }), nil
}

// simulate lands one after the other on commits that no branch has.
func (s *landing) simulate(ctx context.Context, todo []*runs.Stage, tips map[string]string) (lands []Item, left []Left, err error) {
	at, before := s.result.From, s.unlanded
	s.unlanded = maps.Clone(before)
	defer func() { s.unlanded, s.assumedLanded = before, nil }()
	refused, err := s.repo.ForecastAdvance(ctx, s.result.Into, s.result.From)
	if err != nil {
		return nil, nil, err
	}
	for _, st := range todo {
		item := Item{RequestID: st.RequestID, RunID: st.RunID, Branch: st.Git.WorkBranch}
		why := s.mayLand(ctx, st)
		if why == nil {
			why = s.onBase(ctx, st, s.result.From)
		}
		if why == nil {
			why = refuseEmpty(ctx, s, st, s.result.From, tips[st.RequestID])
		}
		if why == nil {
			var merged string
			if merged, why = s.mergeOnto(ctx, st, at, tips[st.RequestID]); why == nil {
				why = refused(merged)
			}
			if why == nil {
				at = merged
				lands = append(lands, item)
				delete(s.unlanded, st.RequestID)
				s.assumedLanded = append(s.assumedLanded, st.RunID)
				continue
			}
		}
		if !concernsOneRun(why) {
			return nil, nil, why
		}
		left = append(left, s.leftOut(item, why))
	}
	return lands, left, nil
}

// mergeOnto is what a branch becomes on top of a commit.
func (s *landing) mergeOnto(ctx context.Context, st *runs.Stage, at, tip string) (string, error) {
	pair, err := pairOf(ctx, s, st, at, tip)
	if err != nil {
		return "", err
	}
	tried, err := s.repo.TryMerges(ctx, []gitops.Pair{pair}, s.scratch())
	if err != nil {
		return "", err
	}
	if c := tried[0].Conflicts; len(c) > 0 {
		return "", s.collides(ctx, st, at, c)
	}
	return s.repo.MergeOf(ctx, tried[0].Tree, gitops.Pair{Ours: at, Theirs: tip})
}

// pairOf is what is merged to take a branch over. Of a run whose own commits alone are
// taken ours is the same content on the base of the run, so that its change counts
// from there.
func pairOf(ctx context.Context, s *landing, st *runs.Stage, ours, tip string) (gitops.Pair, error) {
	low := st // what it stands on lands first, and comes along until then
	for {
		i := slices.IndexFunc(low.Git.StackedOn, func(on runs.StackedOn) bool { return s.unlanded[on.RequestID] })
		if i < 0 {
			break
		}
		on := low.Git.StackedOn[i]
		below, err := s.Project.Run(on.RequestID, on.RunID).LoadStage()
		if err != nil {
			return gitops.Pair{Ours: ours, Theirs: tip}, nil
		}
		low = below
	}
	own, err := takesOwnCommits(ctx, s, low, ours)
	if err == nil && own {
		ours, err = s.repo.OnParent(ctx, ours, low.Git.BaseCommit)
	}
	return gitops.Pair{Ours: ours, Theirs: tip}, err
}

// mostSteps bounds the search: beyond it the best that was found counts.
const mostSteps = 20000

// largestSet is the largest set of requests of which no two collide and in which each
// has what it depends on, in the order of landing. It counts only when landing it
// one after the other comes to that.
func (s *landing) largestSet(ctx context.Context, todo []*runs.Stage, alone map[string]string, f Forecast, tips map[string]string) []string {
	var usual []string
	for _, i := range f.Lands {
		usual = append(usual, i.RequestID)
	}
	against := map[string][]string{}
	for _, p := range f.Pairs {
		against[p.Requests[0]] = append(against[p.Requests[0]], p.Requests[1])
		against[p.Requests[1]] = append(against[p.Requests[1]], p.Requests[0])
	}
	var can []*runs.Stage
	for _, st := range todo {
		if alone[st.RequestID] != "" {
			can = append(can, st)
		}
	}
	best, steps := usual, 0
	var search func(i int, set map[string]bool)
	search = func(i int, set map[string]bool) {
		if steps++; steps > mostSteps || len(set)+len(can)-i <= len(best) {
			return
		}
		if i == len(can) {
			best = nil
			for _, st := range can {
				if set[st.RequestID] {
					best = append(best, st.RequestID)
				}
			}
			return
		}
		id := can[i].RequestID
		free := !slices.ContainsFunc(against[id], func(other string) bool { return set[other] })
		lacks := slices.ContainsFunc(needs(s, can[i]), func(dep string) bool { return s.unlanded[dep] && !set[dep] && dep != id })
		if free && !lacks { // what it depends on is before it in the list
			set[id] = true
			search(i+1, set)
			delete(set, id)
		}
		search(i+1, set)
	}
	search(0, map[string]bool{})
	if len(best) == len(usual) {
		return usual
	}
	chosen := slices.DeleteFunc(slices.Clone(can), func(st *runs.Stage) bool { return !slices.Contains(best, st.RequestID) })
	if lands, _, err := s.simulate(ctx, chosen, tips); err != nil || len(lands) <= len(usual) {
		return usual
	}
	return best
}

// leftOut is a run that does not land, with what is known of a conflict.
func (s *landing) leftOut(item Item, why error) Left {
	left := Left{Item: item, Err: why}
	if c, ok := asCollision(why); ok {
		left.Err, left.Files, left.With = c.fault(s.result.Into, item), c.files, c.with
	}
	if f, ok := fault.As(left.Err); ok && f.Facts["into"] == "" {
		f.Facts["into"] = s.result.Into
	}
	return left
}
