package reqmeta

// Requests of one list lie far from each other in memory, and so do their ids.
// The processor fetches many places at a time when nothing is done with them
// yet, but hardly more than one when each is worked with at once. So a byte of
// everything that some requests need is asked for before they are looked at.

// together is for how many requests that is done.
const together = 64

// touch asks for what it takes to look up the dependencies of some requests.
//
//go:noinline
func (l *links) touch(from, to int) (sum uint64) {
	var ids [2 * together]string
	n := 0
	for i := from; i < to; i++ {
		if l.isLookedUp(i) {
			n += copy(ids[n:], l.f.Requests[i].Meta.DependsOn)
		}
	}
	for _, id := range ids[:n] {
		if id != "" {
			sum += uint64(id[0])
		}
	}
	var found [len(ids)]int32
	if len(l.f.slots) == 0 {
		return sum
	}
	for k, id := range ids[:n] {
		found[k] = l.f.slots[foldHash(id)&uint64(len(l.f.slots)-1)].n
	}
	for _, i := range found[:n] {
		if i == 0 {
			continue
		}
		if id := l.f.Requests[i-1].ID; id != "" {
			sum += uint64(id[0])
		}
	}
	return sum
}

// touch asks for what it takes to judge some requests.
//
//go:noinline
func (j *judge) touch(some []key) (sum uint64) {
	for _, k := range some {
		r := j.f.Requests[k.i]
		sum += uint64(len(r.ID) + len(r.Meta.Priority) + len(r.Meta.DependsOn))
	}
	for _, k := range some {
		if t := j.f.Requests[k.i].Meta.Title; t != "" {
			sum += uint64(t[0])
		}
	}
	return sum
}
