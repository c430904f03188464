package choose

import (
	"slices"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// Done are the ids that count as done.
func Done(f *folder.Folder, facts Facts) map[string]bool {
	done := map[string]bool{}
	for _, r := range f.Requests {
		if r.Meta.Status == reqmeta.Done && r.Valid() && !facts.Undone[r.ID] {
			done[r.ID] = true
		}
	}
	return done
}

// BlockedBy lists the dependencies of r that are not done, missing ones too.
func BlockedBy(f *folder.Folder, r *reqmeta.Request, done map[string]bool) []string {
	list := []string{}
	if r.SaysOver() {
		return list
	}
	for _, id := range r.Meta.DependsOn {
		if !done[id] && !slices.Contains(list, id) && !f.DoneBeside(id) {
			list = append(list, id)
		}
	}
	return list
}

// ClosesRing refuses what r would be where its new dependencies close a ring. One that
// is in a ring already may leave it step by step.
func ClosesRing(f *folder.Folder, r, changed *reqmeta.Request) error {
	list := make([]*reqmeta.Request, len(f.Requests))
	for i, other := range f.Requests {
		copied := *other
		copied.Problems = slices.Clone(other.Problems)
		if list[i] = &copied; other == r {
			list[i] = changed
		}
	}
	after, _ := JudgeNamed(folder.NewFolder(f.Dir, list), Facts{}, changed.ID)
	before, _ := JudgeNamed(f, Facts{}, r.ID)
	if after.ReasonCode == fault.DependsCycle && before.ReasonCode != fault.DependsCycle {
		return fault.New(fault.DependsCycle, "id", r.ID, "value", after.Facts["ring"])
	}
	return nil
}
