package main

import (
	"math"
	"math/rand/v2"
)

// What a day is made of.
const (
	day        = 86_400
	taskTime   = 600.0 // seconds, mean; exponential
	itemKB     = 1.0   // a task with its prompt
	recordKB   = 0.3   // a runner
	keptDays   = 30.0  // ended tasks that are still in the table
	spare      = 1.15  // runners over what the busiest minute needs
	perSpace   = 1000  // tasks a day of one namespace
	renewEvery = 30.0
	lookEvery  = 30.0 // runners of the namespace
	indexEvery = 600.0
	fullEvery  = 60.0
)

// usage counts request units of one second, or of a day.
type usage struct {
	tasks   float64 // writes that a task needs: enqueue, claim, end, on table and index
	renew   float64 // updated_at of running tasks, on table and index
	beats   float64 // writes of runner records
	checks  float64 // reads of the task in hand
	search  float64 // reads for candidates
	watch   float64 // reads for the sweep
	queued  float64 // writes to the index partition QUEUED
	running float64 // writes to the index partition RUNNING
	ended   float64 // writes to the index partition COMPLETE
	hotRead float64 // reads of the index partitions QUEUED and RUNNING
}

func (u *usage) add(v usage) {
	u.tasks += v.tasks
	u.renew += v.renew
	u.beats += v.beats
	u.checks += v.checks
	u.search += v.search
	u.watch += v.watch
}

func (u usage) reads() float64 { return u.checks + u.search + u.watch }

// result is a simulated day.
type result struct {
	perDay, runners, spaces float64
	day                     usage   // sums
	peak                    usage   // largest second of each
	overQueued, overRunning float64 // seconds of the day above one partition's limit
	overRead                float64
	waitMean                float64 // seconds that a task waited
	storageGB               float64
}

// simulate goes through a day with perDay tasks. The load swings between half
// and one and a half of the mean; the runners are as many as its height needs.
func simulate(perDay float64, r *rand.Rand) result {
	mean := perDay / day
	spaces := math.Max(1, perDay/perSpace)
	runners := math.Max(2, math.Ceil(1.5*mean*taskTime*spare))
	out := result{perDay: perDay, runners: runners, spaces: spaces}
	busy, waiting, waited := math.Min(runners, 0.5*mean*taskTime), 0.0, 0.0
	for t := range day {
		load := mean * (1 - 0.5*math.Cos(2*math.Pi*float64(t)/day))
		came := poisson(r, load)
		ended := math.Min(busy, poisson(r, busy/taskTime))
		busy -= ended
		waiting += came
		claimed := math.Min(waiting, runners-busy)
		waiting -= claimed
		busy += claimed
		waited += waiting
		out.second(units(second{came, claimed, ended, busy, waiting, runners, spaces, perDay}))
	}
	out.waitMean = waited / perDay
	out.storageGB = 2 * perDay * keptDays * itemKB / (1 << 20)
	return out
}

type second struct{ came, claimed, ended, busy, waiting, runners, spaces, perDay float64 }

// units are the request units of one second. A write costs one for each KB, on
// the index too, where a change of status takes two: the old entry goes, the
// new one comes. A query costs half a unit for each 4 KB that it looks at.
func units(s second) usage {
	idle := s.runners - s.busy
	renew := s.busy / renewEvery
	page := func(items float64) float64 { return math.Max(0.5, items*itemKB/8) }
	ownPast := s.perDay / s.spaces * keptDays
	full := math.Min(page(s.waiting), page(ownPast)) * 2
	// an idle runner sees what waits; a claim reads to its own next task
	search := idle*page(s.waiting) + idle/fullEvery*full + s.claimed*page(math.Min(s.waiting+1, s.spaces))
	own := math.Max(1, s.runners/s.spaces)
	look := s.runners / lookEvery * math.Max(1, own*recordKB/4)
	index := s.runners / indexEvery * page(s.busy)
	return usage{
		tasks: itemKB * (2*s.came + 3*s.claimed + 3*s.ended), renew: itemKB * 2 * renew,
		beats: s.runners, checks: s.busy * math.Max(1, itemKB/4), search: search, watch: look + index,
		queued: itemKB * (s.came + s.claimed), running: itemKB * (s.claimed + renew + s.ended), ended: itemKB * s.ended,
		hotRead: search + index,
	}
}

// Limits of one partition, a second.
const (
	partitionWrites = 1000
	partitionReads  = 3000
)

func (r *result) second(u usage) {
	r.day.add(u)
	for _, m := range []struct {
		peak *float64
		v    float64
	}{
		{&r.peak.queued, u.queued},
		{&r.peak.running, u.running},
		{&r.peak.ended, u.ended},
		{&r.peak.hotRead, u.hotRead},
		{&r.peak.beats, u.beats},
		{&r.peak.tasks, u.tasks + u.renew + u.beats},
		{&r.peak.search, u.reads()},
	} {
		*m.peak = math.Max(*m.peak, m.v)
	}
	r.overQueued += over(u.queued, partitionWrites)
	r.overRunning += over(u.running, partitionWrites)
	r.overRead += over(u.hotRead, partitionReads)
}

func over(v, limit float64) float64 {
	if v > limit {
		return 1
	}
	return 0
}

// poisson draws a number of events; above 30 the normal curve is near enough.
func poisson(r *rand.Rand, mean float64) float64 {
	if mean > 30 {
		return math.Max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	n, p, limit := 0.0, r.Float64(), math.Exp(-mean)
	for p > limit {
		p *= r.Float64()
		n++
	}
	return n
}
