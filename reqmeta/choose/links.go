package choose

import (
	"slices"

	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// links finds what each request depends on, each once.
type links struct {
	f     *folder.Folder
	bases *Bases  // nil: all start from what is checked out
	kind  []uint8 // of each request
	at    []int32 // where its links are in flat; 0: not looked up yet
	flat  []int32 // for each request their number, then the links
}

// maxPairwise is how many ids are compared with each other, rather than in a map.
const maxPairwise = 32

// Kinds of requests.
const (
	unsound = iota // invalid, or not the only one with its id
	sound
	soundReady
	soundArchived
	soundDone
)

// Links that lead to no request.
const (
	missingLink   = -1
	duplicateLink = -2
	doneLink      = -3 // to what is done in the base from which the request starts
	elsewhereLink = -4 // and below: to what is done, but not there; see target
)

// target is the request to which a link leads, also one that is done elsewhere; below 0
// for none.
func target(d int32) int32 {
	if d <= elsewhereLink {
		return elsewhereLink - d
	}
	return d
}

func newLinks(f *folder.Folder, bases *Bases, undone map[string]bool) links {
	n := len(f.Requests)
	l := links{f: f, bases: bases, kind: make([]uint8, n), at: make([]int32, n), flat: make([]int32, 1, 16)}
	for i, r := range f.Requests {
		if l.kind[i] = kindOf(f, r); l.kind[i] == soundDone && undone[r.ID] {
			l.kind[i] = sound
		}
	}
	return l
}

func kindOf(f *folder.Folder, r *reqmeta.Request) uint8 {
	switch {
	case len(r.Problems) > 0 && !r.Valid() || f.IsDuplicate(r.ID):
		return unsound
	case r.Meta.Status == reqmeta.Ready:
		return soundReady
	case r.Meta.Status == reqmeta.Done:
		return soundDone
	case r.Meta.Status == reqmeta.Archived:
		return soundArchived
	}
	return sound
}

// of gives the indexes of what i depends on, in the order of distinct ids.
func (l *links) of(i int) []int32 {
	at := l.at[i]
	if at == 0 {
		at = l.look(i)
	}
	return l.flat[at+1 : at+1+l.flat[at]]
}

// wants reports whether i depends on anything that is not done.
func (l *links) wants(i int) bool {
	for _, d := range l.of(i) {
		if d < 0 && d != doneLink || l.isOpen(d) {
			return true
		}
	}
	return false
}

func (l *links) look(i int) int32 {
	at := int32(len(l.flat))
	l.at[i] = at
	r := l.f.Requests[i]
	ids, base := r.Meta.DependsOn, l.bases.of(r)
	l.resolve(ids, base)
	if repeats(l.flat[at+1:]) {
		l.flat = l.flat[:at]
		l.resolve(distinct(ids), base)
	}
	return at
}

// resolve appends the number of links and the links.
func (l *links) resolve(ids []string, base string) {
	l.flat = append(l.flat, int32(len(ids)))
	for _, id := range ids {
		l.flat = append(l.flat, l.link(base, id))
	}
}

// repeats reports whether some of the ids that led here may be the same.
func repeats(list []int32) bool {
	for i, d := range list {
		if i == maxPairwise || slices.Contains(list[:i], d) {
			return true
		}
	}
	return false
}

// ids are what i depends on, each once.
func (l *links) ids(i int) []string {
	ids := l.f.Requests[i].Meta.DependsOn
	if len(ids) == len(l.of(i)) {
		return ids
	}
	return distinct(ids)
}

// open gives what i depends on and what is not done, if i is sound: one that is
// broken itself waits for nothing but its mending.
func (l *links) open(i int) []int32 {
	if l.kind[i] == unsound {
		return nil
	}
	return l.of(i)
}

// isOpen reports whether a link leads to something that is not done.
func (l *links) isOpen(d int32) bool { return d >= 0 && l.kind[d] != soundDone }
