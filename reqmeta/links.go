package reqmeta

// links finds what each request depends on, each once.
type links struct {
	f    *Folder
	kind []uint8 // of each request
	at   []int32 // where its links are in flat; 0: not looked up yet
	flat []int32 // for each request their number, then the links
}

// Kinds of requests.
const (
	unsound = iota // invalid, or not the only one with its id
	sound
	soundReady
	soundDone
)

// Links that lead to no request.
const (
	missingLink   = -1
	duplicateLink = -2
)

func newLinks(f *Folder) links {
	n := len(f.Requests)
	l := links{f: f, kind: make([]uint8, n), at: make([]int32, n), flat: make([]int32, 1, 1+2*n)}
	for i, r := range f.Requests {
		switch {
		case len(r.Problems) > 0 && !r.Valid() || len(f.dups) > 0 && f.dups[r.ID] != nil:
		case r.Meta.Status == Ready:
			l.kind[i] = soundReady
		case r.Meta.Status == Done:
			l.kind[i] = soundDone
		default:
			l.kind[i] = sound
		}
	}
	return l
}

// of gives the indexes of what i depends on, in the order of distinct ids.
func (l *links) of(i int) []int32 {
	at := l.at[i]
	if at == 0 {
		at = l.look(i)
	}
	return l.flat[at+1 : at+1+l.flat[at]]
}

func (l *links) look(i int) int32 {
	at := int32(len(l.flat))
	l.at[i] = at
	ids := distinct(l.f.Requests[i].Meta.DependsOn)
	l.flat = append(l.flat, int32(len(ids)))
	for _, id := range ids {
		d, ok, exists := l.f.unique(id)
		switch {
		case ok:
			l.flat = append(l.flat, int32(d))
		case exists:
			l.flat = append(l.flat, duplicateLink)
		default:
			l.flat = append(l.flat, missingLink)
		}
	}
	return at
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
