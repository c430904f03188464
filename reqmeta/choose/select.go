package choose

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// Select decides what is next and why the others are not. It is a pure
// function: neither the order of the folder, nor locale, time zone or the
// number of CPUs changes its answer.
func Select(f *folder.Folder, facts Facts) Result {
	j := newJudge(f, facts)
	j.walkAll()
	// Request.Over would believe also a done that is not true yet (Facts.Undone).
	res := j.judgeAll(j.order(func(i int) bool { return j.links.kind[i] < soundArchived }))
	res.Queue, res.Warnings = queueState(facts.Queue), append(warnings(f), j.rings()...)
	res.Stats.Total, res.Stats.Runnable = len(f.Requests), len(res.Runnable)
	if len(res.Runnable) > 0 {
		res.Next = &res.Runnable[0]
	}
	return res
}

// walkAll walks from everything that waits, so that every ring is found.
func (j *judge) walkAll() {
	for i, kind := range j.links.kind {
		if kind != unsound && kind != soundDone && j.links.wants(i) {
			j.walk(i)
		}
	}
}

// judgeAll judges the requests of a list. They have been walked from.
func (j *judge) judgeAll(order []key) Result {
	res := Result{Excluded: make([]Exclusion, 0, len(order))}
	for _, k := range order {
		i := int(k.i)
		if j.isReady(i) {
			res.Stats.Ready++
		}
		if e, ok := j.judge(i); ok {
			res.Runnable = append(res.Runnable, j.choice(i))
		} else {
			e.merge = j.facts.Merge
			res.Excluded = append(res.Excluded, e)
		}
	}
	guessFirst(res.Excluded)
	return res
}

// guessFirst leaves the question what was meant to the first who lack something.
func guessFirst(excluded []Exclusion) {
	n := 0
	for i := range excluded {
		if l := &excluded[i].lazy; l.lost != nil {
			if n++; n > folder.MaxMeant {
				l.lost = nil
			}
		}
	}
}

func queueState(h *Holder) QueueState {
	if h == nil {
		return QueueState{}
	}
	if h.Unreadable {
		h = nil
	}
	return QueueState{Locked: true, Holder: h, ReasonCode: fault.QueueLocked}
}

// warnings are those of all files, in the order of paths and lines.
func warnings(f *folder.Folder) []reqmeta.Problem {
	list := []reqmeta.Problem{}
	for _, r := range f.Flawed() {
		for _, p := range r.Problems {
			if p.Level == reqmeta.LevelWarning {
				list = append(list, p)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b reqmeta.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return list
}

func (j *judge) choice(i int) Choice {
	r := j.f.Requests[i]
	return Choice{
		RequestID: r.ID, Priority: r.Meta.Priority, Status: r.Meta.Status, Title: r.Title(), Path: r.Path,
		Base: j.links.bases.of(r), StackedOn: j.onTop(i), Request: r,
	}
}

// Judge judges the one request with that id; true means that it may run now.
func Judge(f *folder.Folder, facts Facts, id string) (Exclusion, bool) {
	return judgeOne(f, facts, id, false)
}

// JudgeNamed judges a request that a person asked for by name: its status and
// its latest run do not matter, everything else does.
func JudgeNamed(f *folder.Folder, facts Facts, id string) (Exclusion, bool) {
	return judgeOne(f, facts, id, true)
}

func judgeOne(f *folder.Folder, facts Facts, id string, named bool) (Exclusion, bool) {
	i := f.Index(id)
	if i < 0 {
		return Exclusion{RequestID: id, ReasonCode: fault.RequestNotFound, Kind: "not_found", Facts: fault.Facts{"id": id}}, false
	}
	j := newJudge(f, facts)
	j.named = named
	e, runnable := j.judge(int(i))
	e.merge = facts.Merge
	e.tell()
	return e, runnable
}

// Plan gives the order of the next n choices (all of them for n <= 0) if each
// one succeeded and was merged.
func Plan(f *folder.Folder, facts Facts, n int) []Choice {
	j := newJudge(f, facts)
	p := &planner{j: j, rank: map[int]int{}, waiting: map[int]int{}, dependents: map[int][]int{}}
	for rank, k := range j.order(j.isReady) {
		p.add(rank, int(k.i))
	}
	plan := []Choice{}
	for p.Len() > 0 && (n <= 0 || len(plan) < n) {
		i := heap.Pop(p).(int)
		plan = append(plan, j.choice(i))
		p.release(i)
	}
	return plan
}

// planner plays the queue: what is done releases what waits for it alone.
type planner struct {
	j          *judge
	rank       map[int]int   // of a request in the order of the queue
	waiting    map[int]int   // how many dependencies of a request are not done
	dependents map[int][]int // who waits for a request
	next       []int         // those that can run, as container/heap has them
}

func (p *planner) add(rank, i int) {
	p.rank[i] = rank
	if _, ok := p.j.before(i); !ok {
		return
	}
	open := 0
	for _, d := range p.j.links.of(i) {
		if d == doneLink || d >= 0 && p.j.isDone(int(d)) || p.j.borne(i, d) {
			continue
		}
		open++
		if d >= 0 {
			p.dependents[int(d)] = append(p.dependents[int(d)], i)
		}
	}
	if open == 0 {
		heap.Push(p, i)
	}
	p.waiting[i] = open
}

func (p *planner) release(done int) {
	for _, i := range p.dependents[done] {
		if p.waiting[i]--; p.waiting[i] == 0 {
			heap.Push(p, i)
		}
	}
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (p *planner) Len() int           { return len(p.next) }
func (p *planner) Less(a, b int) bool { return p.rank[p.next[a]] < p.rank[p.next[b]] }
func (p *planner) Swap(a, b int)      { p.next[a], p.next[b] = p.next[b], p.next[a] }
func (p *planner) Push(i any)         { p.next = append(p.next, i.(int)) }

func (p *planner) Pop() any {
	last := len(p.next) - 1
	i := p.next[last]
	p.next = p.next[:last]
	return i
}

// distinct drops what was listed before, in order.
func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

// key is what the queue is ordered by first: P0 to P3 (bad or missing last), and
// updated longest ago (missing last), to the microsecond.
type key struct {
	first uint64
	i     int32
}

// order gives the requests that pass, in the order of the queue.
func (j *judge) order(pass func(i int) bool) []key {
	keys := make([]key, 0, len(j.f.Requests))
	for i, r := range j.f.Requests {
		if pass(i) {
			keys = append(keys, key{uint64(rank(r.Meta.Priority))<<60 | momentOf(r.Meta.UpdatedAt).roughly(), int32(i)})
		}
	}
	slices.SortFunc(keys, j.compare)
	return keys
}

func (j *judge) compare(a, b key) int {
	if a.first != b.first {
		return cmp.Compare(a.first, b.first)
	}
	return after(j.f.Requests[a.i], j.f.Requests[b.i])
}

// after compares two requests of one priority: updated longest ago, created
// longest ago (missing dates last), id, path.
func after(a, b *reqmeta.Request) int {
	if c := momentOf(a.Meta.UpdatedAt).compare(momentOf(b.Meta.UpdatedAt)); c != 0 {
		return c
	}
	if c := momentOf(a.Meta.CreatedAt).compare(momentOf(b.Meta.CreatedAt)); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Path, b.Path))
}

func rank(priority string) int {
	if len(priority) == 2 && priority[0] == 'P' && priority[1] >= '0' && priority[1] <= '3' {
		return int(priority[1] - '0')
	}
	return len(reqmeta.Priorities)
}

// moment is a date as two numbers, so that dates are compared quickly; a missing
// one is later than any that can be written.
type moment struct {
	sec  int64
	nsec int32
}

func momentOf(d reqmeta.Date) moment {
	if d.IsZero() {
		return moment{sec: math.MaxInt64}
	}
	return moment{d.Time.Unix(), int32(d.Time.Nanosecond())}
}

// roughly is m as a number of 60 bits that is never less for a later moment:
// seconds since long before the year 0, and microseconds or so.
func (m moment) roughly() uint64 {
	const before, last = int64(1 << 37), int64(1<<40 - 1)
	sec := last
	if m.sec < last-before {
		sec = max(m.sec+before, 0)
	}
	return uint64(sec)<<20 | uint64(m.nsec)>>10
}

func (m moment) compare(o moment) int {
	if m.sec != o.sec {
		return cmp.Compare(m.sec, o.sec)
	}
	return int(m.nsec - o.nsec)
}

// Holder is who holds a request's lock; nil when nobody does, or when nobody
// was asked.
func (f Facts) Holder(id string) *Holder {
	if f.Locked == nil {
		return nil
	}
	return f.Locked(id)
}
