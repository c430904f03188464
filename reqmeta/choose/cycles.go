package choose

import (
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// state is what the walk over dependencies knows about one request.
type state struct {
	visit, low int32 // Tarjan's numbers; visit 0: not visited yet
	open       bool  // on the stack: its component is not known yet
	root       *root // nil: not known, or done
}

// root is why a request cannot be done soon: the end of the chain of what it
// waits for.
type root struct {
	id   string // request at the end of the chain
	kind string // "state_<kind>" is its sentence
	rank int    // how much a person is needed: the highest one is named
	with fault.Facts
}

// Ranks of roots: running things finish by themselves, archived ones never.
const (
	rankRunnable = iota
	rankRunning
	rankMerge
	rankPerson
	rankBroken
	rankNever
)

// walk finds rings (Tarjan's strongly connected components) and roots for i and
// everything that it waits for. Its stack is on the heap: a chain of any length
// is fine.
func (j *judge) walk(i int) {
	if j.state[i].visit > 0 {
		return
	}
	j.frames = append(j.frames[:0], j.enter(i))
	for len(j.frames) > 0 {
		top := &j.frames[len(j.frames)-1]
		s := &j.state[top.i]
		if len(top.deps) > 0 {
			d := int(top.deps[0])
			top.deps = top.deps[1:]
			switch {
			case !j.links.isOpen(int32(d)):
			case j.state[d].visit == 0:
				j.frames = append(j.frames, j.enter(d))
			case j.state[d].open:
				s.low = min(s.low, j.state[d].visit)
			}
			continue
		}
		if s.low == s.visit {
			j.close(top.i)
		}
		j.frames = j.frames[:len(j.frames)-1]
		if len(j.frames) > 0 {
			up := &j.state[j.frames[len(j.frames)-1].i]
			up.low = min(up.low, s.low)
		}
	}
}

// frame is a request on the way of the walk and what is left to visit.
type frame struct {
	i    int
	deps []int32
}

func (j *judge) enter(i int) frame {
	j.seen++
	s := &j.state[i]
	s.visit, s.low, s.open = j.seen, j.seen, true
	j.stack = append(j.stack, i)
	return frame{i, j.links.open(i)}
}

// close takes the finished component of i off the stack.
func (j *judge) close(i int) {
	at := len(j.stack) - 1
	for j.stack[at] != i {
		at--
	}
	members := j.stack[at:]
	j.stack = j.stack[:at]
	for _, m := range members {
		j.state[m].open = false
	}
	if len(members) > 1 || slices.Contains(j.links.open(i), int32(i)) {
		j.addRing(members)
		return
	}
	j.state[i].root = j.rootOf(i)
}

// rootOf finds the root of i, when those of its dependencies are known.
func (j *judge) rootOf(i int) *root {
	if own := j.ownRoot(i); own != nil {
		return own
	}
	return j.rootBelow(i)
}

// rootBelow is the root of i besides what keeps it back itself.
func (j *judge) rootBelow(i int) *root {
	r, ids := j.f.Requests[i], j.links.ids(i)
	var best *root
	var missing []string
	for k, d := range j.links.of(i) {
		switch {
		case d == doneLink, j.borne(i, d):
		case d == missingLink:
			missing = append(missing, ids[k])
		case d == duplicateLink:
			best = worse(best, &root{ids[k], "duplicate", rankBroken, fault.Facts{"paths": reqmeta.Join(j.f.PathsOf(ids[k]))}})
		case d <= elsewhereLink: // done, but not in the base from which r would start
			best = worse(best, &root{ids[k], "elsewhere", rankMerge, fault.Facts{"branch": j.links.bases.of(r)}})
		case !j.isDone(int(d)):
			best = worse(best, j.state[d].root)
		}
	}
	if len(missing) > 0 {
		return &root{r.ID, "missing", rankBroken, fault.Facts{"ids": reqmeta.Join(missing)}}
	}
	if best == nil {
		return &root{id: r.ID, kind: "runnable", rank: rankRunnable}
	}
	return best
}

func worse(a, b *root) *root {
	if a == nil || b != nil && b.rank > a.rank {
		return b
	}
	return a
}

// ownRoot is what keeps i back besides its dependencies; nil for nothing.
func (j *judge) ownRoot(i int) *root {
	if j.isReady(i) {
		return j.runRoot(i)
	}
	r := j.f.Requests[i]
	if p := r.FirstError(); p != nil {
		return &root{r.ID, "invalid", rankBroken, fault.NewFacts("path", r.Path, "line", p.Line)}
	}
	switch r.Meta.Status {
	case reqmeta.Archived:
		return &root{id: r.ID, kind: "archived", rank: rankNever}
	case reqmeta.Draft:
		return &root{id: r.ID, kind: "draft", rank: rankPerson}
	case reqmeta.Running:
		return &root{id: r.ID, kind: "running", rank: rankRunning}
	case reqmeta.Blocked:
		if run := j.blockedBy(i); run != nil && run.ReasonCode != "" {
			return &root{r.ID, "blocked_reason", rankPerson, fault.Facts{"reason": string(run.ReasonCode)}}
		}
		return &root{id: r.ID, kind: "blocked", rank: rankPerson}
	}
	return j.runRoot(i)
}

func (j *judge) runRoot(i int) *root {
	r := j.f.Requests[i]
	if base := j.links.bases.of(r); base != "" && j.links.bases.Done[base][r.ID] {
		return &root{r.ID, "done_in", rankMerge, fault.Facts{"branch": base}}
	}
	if h := j.locked(i); h != nil {
		return &root{id: r.ID, kind: "running", rank: rankRunning}
	}
	run := j.latest(i)
	switch {
	case run == nil:
	case run.State == "NEEDS_INPUT":
		return &root{r.ID, "needs_input", rankPerson, fault.Facts{"reason": string(run.ReasonCode), "run_id": run.RunID}}
	case run.State == "DONE" && run.WorkBranch != "" && run.Unmerged && run.Stale != "":
		facts := fault.Facts{"on": run.Stale}
		if run.Again {
			facts["run_id"] = run.RunID
		}
		return &root{r.ID, "stale", rankPerson, facts}
	case run.State == "DONE" && run.Unmerged && run.Landed != "":
		return &root{r.ID, "done_in", rankMerge, fault.Facts{"branch": run.Landed}}
	case run.State == "DONE" && run.Unmerged && run.Fails != "":
		return &root{r.ID, "land_failed", rankPerson, fault.Facts{"into": run.Fails, "run_id": run.RunID}}
	case run.State == "DONE" && run.WorkBranch != "" && run.Unmerged:
		return &root{r.ID, "unmerged", rankMerge, fault.Facts{"branch": run.WorkBranch}}
	}
	if e, ok := j.unhindered(i); !ok {
		return &root{r.ID, "kept", rankPerson, fault.Facts{"reason": string(e.ReasonCode)}}
	}
	return nil
}

// waitsFor makes the exclusion of a request that merely waits.
func (j *judge) waitsFor(r *reqmeta.Request, waits []string, why *root) Exclusion {
	kind := "waits"
	if n := j.f.Index(waits[0]); len(waits) != 1 || n < 0 || j.f.Requests[n].ID != why.id {
		kind = "waits_chain"
	}
	e := exclude(r, fault.DependsNotDone, kind)
	e.lazy.waits, e.lazy.why = waits, why
	return e
}

// ring is a set of requests that wait for each other.
type ring struct {
	text    string // A → B → A, smallest id first
	path    string // file of the smallest id
	named   map[int]bool
	smallID string
}

func (j *judge) addRing(members []int) {
	inside := make(map[int]bool, len(members))
	small := members[0]
	for _, m := range members {
		inside[m] = true
		if j.f.Requests[m].ID < j.f.Requests[small].ID {
			small = m
		}
	}
	way := j.wayBack(small, inside)
	g := &ring{path: j.f.Requests[small].Path, smallID: j.f.Requests[small].ID, named: map[int]bool{}}
	for _, m := range way {
		g.named[m] = true
	}
	g.text = j.ringText(way)
	why := &root{g.smallID, "cycle", rankBroken, fault.Facts{"ring": g.text}}
	if j.ringOf == nil {
		j.ringOf = make([]*ring, len(j.state))
	}
	for _, m := range members {
		j.ringOf[m], j.state[m].root = g, why
	}
	j.found = append(j.found, g)
}

// ringAt is the ring that i is in; nil for none that is known.
func (j *judge) ringAt(i int) *ring {
	if j.ringOf == nil {
		return nil
	}
	return j.ringOf[i]
}

// wayBack gives a shortest ring through start, in the order of depends_on.
func (j *judge) wayBack(start int, inside map[int]bool) []int {
	from := map[int]int{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, link := range j.links.open(queue[0]) {
			d := int(link)
			if d == start {
				return trace(from, queue[0], start)
			}
			if _, seen := from[d]; !seen && inside[d] {
				from[d] = queue[0]
				queue = append(queue, d)
			}
		}
	}
	return []int{start}
}

func trace(from map[int]int, end, start int) []int {
	way := []int{end}
	for way[len(way)-1] != start {
		way = append(way, from[way[len(way)-1]])
	}
	slices.Reverse(way)
	return way
}

// maxRing is how many ids of a ring are spelled out.
const maxRing = 20

func (j *judge) ringText(way []int) string {
	text := ""
	for k, m := range way {
		if k == maxRing && len(way) > maxRing+1 {
			text += "… (" + strconv.Itoa(len(way)) + ") → "
			break
		}
		text += j.f.Requests[m].ID + " → "
	}
	return text + j.f.Requests[way[0]].ID
}

// exclude makes the exclusion of a member. One that lies on another ring
// through the same requests is told so.
func (g *ring) exclude(r *reqmeta.Request, i int) Exclusion {
	kind := "cycle"
	if !g.named[i] {
		kind = "cycle_with"
	}
	return exclude(r, fault.DependsCycle, kind, "ring", g.text)
}

// rings gives one warning for each ring that was met, smallest id first.
func (j *judge) rings() []reqmeta.Problem {
	slices.SortFunc(j.found, func(a, b *ring) int { return strings.Compare(a.smallID, b.smallID) })
	var list []reqmeta.Problem
	for _, g := range j.found {
		r := reqmeta.Request{Path: g.path}
		r.Warn("cycle", 0, "ring", g.text)
		r.Problems[0].Code = fault.DependsCycle
		list = append(list, r.Problems[0])
	}
	return list
}
