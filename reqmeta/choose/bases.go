package choose

import "aiflow/reqmeta"

// Bases say from which branch, tag or commit each request would start, where
// that is not what is checked out, and what is done there.
type Bases struct {
	Of   func(r *reqmeta.Request) string // "" is what is checked out
	Done map[string]map[string]bool      // base -> ids that are done there
}

// of is the base of a request; "" is what is checked out.
func (b *Bases) of(r *reqmeta.Request) string {
	if b == nil {
		return ""
	}
	return b.Of(r)
}

// link is what an id in the depends_on of a request leads to, where the request
// starts from a base of its own: what is done there is done for it, and nothing
// else is.
func (l *links) link(base, id string) int32 {
	d := l.f.Index(id)
	switch {
	case base != "" && l.bases.Done[base][id]:
		return doneLink
	case d < 0 && l.f.DoneBeside(id):
		return doneLink
	case d < 0:
		return missingLink
	case l.f.IsDuplicate(id):
		return duplicateLink
	case base != "" && l.kind[d] == soundDone:
		return elsewhereLink - d
	}
	return d
}
