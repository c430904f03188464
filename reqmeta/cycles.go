package reqmeta

import (
	"slices"
	"strconv"

	"aiflow/internal/fault"
)

// state is what the walk over dependencies knows about one request.
type state struct {
	visit, low int  // Tarjan's numbers; visit 0: not visited yet
	open       bool // on the stack: its component is not known yet
	root       root
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
	rankNone = iota
	rankRunnable
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
	type frame struct {
		i    int
		deps []int
	}
	frames := []frame{{i, j.enter(i)}}
	for len(frames) > 0 {
		top := &frames[len(frames)-1]
		s := &j.state[top.i]
		if len(top.deps) > 0 {
			d := top.deps[0]
			top.deps = top.deps[1:]
			if j.state[d].visit == 0 {
				frames = append(frames, frame{d, j.enter(d)})
			} else if j.state[d].open {
				s.low = min(s.low, j.state[d].visit)
			}
			continue
		}
		frames = frames[:len(frames)-1]
		if s.low == s.visit {
			j.close(top.i)
		}
		if len(frames) > 0 {
			up := &j.state[frames[len(frames)-1].i]
			up.low = min(up.low, s.low)
		}
	}
}

func (j *judge) enter(i int) []int {
	j.seen++
	j.state[i].visit, j.state[i].low, j.state[i].open = j.seen, j.seen, true
	j.stack = append(j.stack, i)
	return j.unfinished(i)
}

// unfinished gives the dependencies of i that are there and not done. A request
// that is broken itself has none.
func (j *judge) unfinished(i int) []int {
	if !j.isSound(i) {
		return nil
	}
	var deps []int
	for _, id := range distinct(j.f.Requests[i].Meta.DependsOn) {
		if d, ok, _ := j.f.unique(id); ok && !j.isDone(d) {
			deps = append(deps, d)
		}
	}
	return deps
}

// close takes the finished component of i off the stack.
func (j *judge) close(i int) {
	at := len(j.stack) - 1
	for j.stack[at] != i {
		at--
	}
	members := slices.Clone(j.stack[at:])
	j.stack = j.stack[:at]
	for _, m := range members {
		j.state[m].open = false
	}
	if r := j.f.Requests[i]; len(members) > 1 || j.isSound(i) && slices.Contains(r.Meta.DependsOn, r.ID) {
		j.addRing(members)
		return
	}
	j.state[i].root = j.rootOf(i)
}

// rootOf finds the root of i, when those of its dependencies are known.
func (j *judge) rootOf(i int) root {
	r := j.f.Requests[i]
	if own := j.ownRoot(i); own.rank > rankRunnable {
		return own
	}
	best := root{}
	var missing []string
	for _, id := range distinct(r.Meta.DependsOn) {
		d, ok, exists := j.f.unique(id)
		switch {
		case !exists:
			missing = append(missing, id)
		case !ok:
			best = worse(best, j.duplicateRoot(id))
		case !j.isDone(d):
			best = worse(best, j.state[d].root)
		}
	}
	if len(missing) > 0 {
		return root{r.ID, "missing", rankBroken, fault.Facts{"ids": join(missing)}}
	}
	if best.rank == rankNone {
		return root{id: r.ID, kind: "runnable", rank: rankRunnable}
	}
	return best
}

func worse(a, b root) root {
	if b.rank > a.rank {
		return b
	}
	return a
}

func (j *judge) duplicateRoot(id string) root {
	return root{id, "duplicate", rankBroken, fault.Facts{"paths": join(j.f.paths(j.f.dups[id]))}}
}

// ownRoot is what keeps r back besides its dependencies.
func (j *judge) ownRoot(i int) root {
	r := j.f.Requests[i]
	if p := r.firstError(); p != nil {
		return root{r.ID, "invalid", rankBroken, fault.Facts{"path": r.Path, "line": lineText(p.Line)}}
	}
	switch r.Meta.Status {
	case Archived:
		return root{id: r.ID, kind: "archived", rank: rankNever}
	case Draft:
		return root{id: r.ID, kind: "draft", rank: rankPerson}
	case Running:
		return root{id: r.ID, kind: "running", rank: rankRunning}
	case Blocked:
		if reason := j.reasonOf(i); reason != "" {
			return root{r.ID, "blocked_reason", rankPerson, fault.Facts{"reason": reason}}
		}
		return root{id: r.ID, kind: "blocked", rank: rankPerson}
	}
	return j.runRoot(i)
}

func (j *judge) runRoot(i int) root {
	r := j.f.Requests[i]
	if h := j.locked(r.ID); h != nil {
		return root{id: r.ID, kind: "running", rank: rankRunning}
	}
	run := j.latest(i)
	switch {
	case run == nil:
	case run.State == "NEEDS_INPUT":
		return root{r.ID, "needs_input", rankPerson, fault.Facts{"reason": string(run.ReasonCode), "run_id": run.RunID}}
	case run.State == "DONE" && run.WorkBranch != "" && run.Unmerged:
		return root{r.ID, "unmerged", rankMerge, fault.Facts{"branch": run.WorkBranch}}
	}
	return root{}
}

// waitsFor makes the exclusion of a request that merely waits.
func (j *judge) waitsFor(r *Request, waits []string, why root) Exclusion {
	kind := "waits"
	if len(waits) != 1 || waits[0] != why.id {
		kind = "waits_chain"
	}
	e := r.exclude(fault.DependsNotDone, kind)
	e.late.waits, e.late.why = waits, why
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
	why := root{g.smallID, "cycle", rankBroken, fault.Facts{"ring": g.text}}
	for _, m := range members {
		j.ringOf[m], j.state[m].root = g, why
	}
	j.found = append(j.found, g)
}

// wayBack gives a shortest ring through start, in the order of depends_on.
func (j *judge) wayBack(start int, inside map[int]bool) []int {
	from := map[int]int{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, d := range j.unfinished(queue[0]) {
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
func (g *ring) exclude(r *Request, i int) Exclusion {
	kind := "cycle"
	if !g.named[i] {
		kind = "cycle_with"
	}
	return r.exclude(fault.DependsCycle, kind, "ring", g.text)
}

// rings gives one warning for each ring that was met, smallest id first.
func (j *judge) rings() []Problem {
	slices.SortFunc(j.found, func(a, b *ring) int {
		if a.smallID < b.smallID {
			return -1
		}
		return 1
	})
	var list []Problem
	for _, g := range j.found {
		r := Request{Path: g.path}
		r.warn("cycle", 0, "ring", g.text)
		r.Problems[0].Code = fault.DependsCycle
		list = append(list, r.Problems[0])
	}
	return list
}

// lineText is "" for a problem of the file as a whole.
func lineText(line int) string {
	if line == 0 {
		return ""
	}
	return strconv.Itoa(line)
}
