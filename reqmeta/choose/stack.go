package choose

import (
	"slices"
	"strings"

	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// Stacking lets a dependency also be met by its latest run, when that is finished and
// its branch waits to be merged.
type Stacking struct {
	// Collide is why a request cannot start on top of several; nil for nothing.
	Collide func(r *reqmeta.Request, on []OnTop) *Obstacle
}

// OnTop is a finished run on whose branch another one would start.
type OnTop struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id"`
	Branch    string `json:"branch"`
}

// Stack is on what a new run of the request with that id would start, in the order of
// ids; none for its base.
func Stack(f *folder.Folder, facts Facts, id string) []OnTop {
	i := f.Index(id)
	if i < 0 {
		return nil
	}
	return newJudge(f, facts).onTop(int(i))
}

// bears reports whether a link leads to what a run can start on top of, and what that is.
func (j *judge) bears(d int32) *LatestRun {
	at := target(d)
	if j.facts.Stack == nil || at < 0 || at == d && j.links.kind[d] != sound && j.links.kind[d] != soundReady {
		return nil
	}
	run := j.latest(int(at))
	if run == nil || run.State != "DONE" || run.WorkBranch == "" || !run.Unmerged || run.Stale != "" {
		return nil
	}
	return run
}

// borne reports whether a dependency of i is met by a run that is not merged: by the
// one on which i began and goes on, or by one on which it could start.
func (j *judge) borne(i int, d int32) bool {
	at := target(d)
	if at < 0 {
		return false
	}
	if run := j.latest(i); run != nil && slices.Contains(run.On, j.f.Requests[at].ID) {
		return true
	}
	return j.bears(d) != nil
}

// onTop is on what i would start.
func (j *judge) onTop(i int) []OnTop {
	if run := j.latest(i); j.facts.Stack == nil || !j.links.wants(i) || run != nil && len(run.On) > 0 {
		return nil
	}
	var on []OnTop
	for _, d := range j.links.of(i) {
		if run := j.bears(d); run != nil {
			on = append(on, OnTop{j.f.Requests[target(d)].ID, run.RunID, run.WorkBranch})
		}
	}
	slices.SortFunc(on, func(a, b OnTop) int { return strings.Compare(a.RequestID, b.RequestID) })
	return on
}

// collides is the exclusion of a request that would start on top of what does not merge
// together.
func (j *judge) collides(i int) (Exclusion, bool) {
	on := j.onTop(i)
	if len(on) < 2 {
		return Exclusion{}, true
	}
	o := j.facts.Stack.Collide(j.f.Requests[i], on)
	if o == nil {
		return Exclusion{}, true
	}
	return KeptBy(j.f.Requests[i], o), false
}
