package locks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"testing"
	"time"
)

var (
	oneSeed  = flag.Uint64("seed", 0, "simulate this seed only and print its history")
	simSeeds = flag.Int("seeds", 0, "how many seeds to simulate (0: 600, or 300 with -short)")
)

// play runs one world to its end and returns what the checker found.
func (s *sim) play() error {
	for range 200 + s.rng.IntN(500) {
		s.disturb()
		p := s.pick()
		if p == nil {
			s.now += s.between(0, simTTL/2)
			continue
		}
		s.now += s.between(0, 50*time.Millisecond)
		s.wake(p)
	}
	for _, p := range s.procs {
		if !p.done {
			s.kill(p)
		}
	}
	if err := errors.Join(s.robbed, s.misled, check(s.history)); err != nil {
		return err
	}
	return s.lastsNotForEver()
}

// pick chooses who goes on: anybody who is not paused.
func (s *sim) pick() *simProc {
	var ready []*simProc
	for _, p := range s.procs {
		if !p.done && p.until <= s.now {
			ready = append(ready, p)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return ready[s.rng.IntN(len(ready))]
}

// disturb is the weather.
func (s *sim) disturb() {
	switch n := s.rng.IntN(1000); {
	case n < 8:
		s.kill(s.procs[s.rng.IntN(len(s.procs))])
	case n < 20:
		s.start(s.machines[s.rng.IntN(len(s.machines))])
	case n < 35: // SIGSTOP, swapping, a slow disk
		s.procs[s.rng.IntN(len(s.procs))].until = s.now + s.between(0, 3*simTTL)
	case n < 45 && s.kind != severalMachines:
		s.stats.jumps++
		s.machines[s.rng.IntN(len(s.machines))].skew = s.between(-3*time.Hour, 3*time.Hour)
	case n < 50 && s.kind == oneMachine:
		s.reboot(s.machines[0])
		s.tear()
	case n < 53 && s.kind != oneMachine: // the machine, not its file server
		s.reboot(s.machines[s.rng.IntN(len(s.machines))])
	case n < 55 && s.kind == anything:
		s.tear()
	case n < 100: // everybody sleeps
		s.now += s.between(0, simTTL/4)
	}
}

func (s *sim) reboot(m *simMachine) {
	s.stats.reboots++
	for _, p := range s.procs {
		if p.machine == m {
			s.kill(p)
		}
	}
	m.boots++
	m.since = s.now
	s.note("reboot", nil, "", "")
	s.start(m)
}

// tear is what a power cut does to files that were never synced: names are lost,
// and bytes are cut or emptied.
func (s *sim) tear() {
	names, _ := simFiles{&simProc{s: s}}.List()
	for _, name := range names {
		f := s.files[name]
		if s.chance(25) {
			delete(s.files, name)
		}
		f.data = s.torn(f)
		s.believe(name)
	}
}

func (s *sim) torn(f *simFile) []byte {
	cut := s.rng.IntN(len(f.data) + 1)
	switch s.rng.IntN(3) {
	case 0:
		return f.data[:cut]
	case 1:
		return make([]byte, len(f.data))
	}
	return f.data
}

// check is the promise: a write is accepted only from the owner of the lock,
// that is, the one whose record was published last.
func check(history []event) error {
	owner := map[string]string{}
	for i, e := range history {
		switch e.what {
		case "publish":
			owner[e.lock] = e.token
		case "write":
			if e.token != owner[e.lock] {
				return fmt.Errorf("write %d by %.8s while %.8s owns the lock", i, e.token, owner[e.lock])
			}
		}
	}
	return nil
}

// lastsNotForEver: when everybody is dead and the longest lease has run out, a
// newcomer gets the lock, whatever was left on the disk.
func (s *sim) lastsNotForEver() error {
	if s.variant != sound {
		return nil
	}
	s.quiet, s.kind = true, oneMachine
	s.now += 2 * maxTTL
	err := s.newcomer()
	if err != nil { // it may only have mended a file's time
		s.now += 2 * maxTTL
		err = s.newcomer()
	}
	return err
}

// newcomer takes and releases the locks in a new process.
func (s *sim) newcomer() (err error) {
	var p *simProc
	for p == nil {
		p = s.start(s.machines[0])
	}
	p.script = func() {
		for _, k := range simKeys {
			l, aerr := p.m.Acquire(context.Background(), k, Ask{})
			if aerr == nil {
				aerr = l.Release()
			}
			err = errors.Join(err, aerr)
		}
	}
	for !p.done {
		s.wake(p)
	}
	return err
}

func (s *sim) report(t *testing.T, err error) {
	t.Helper()
	for _, e := range s.history[max(0, len(s.history)-40):] {
		t.Log(e)
	}
	t.Errorf("seed %d (%s, %s): %v\nreplay: go test ./locks -run TestSimulation -seed %d -v", s.seed, s.kind, s.variant, err, s.seed)
}

func seedsToRun() int {
	switch {
	case *simSeeds > 0:
		return *simSeeds
	case testing.Short():
		return 300
	}
	return 600
}

func TestSimulation(t *testing.T) {
	if *oneSeed != 0 {
		s := newSim(*oneSeed, sound)
		err := s.play()
		for _, e := range s.history {
			t.Log(e)
		}
		if err != nil {
			s.report(t, err)
		}
		return
	}
	began := time.Now()
	var sum simStats
	for seed := uint64(1); seed <= uint64(seedsToRun()); seed++ {
		s := newSim(seed, sound)
		if err := s.play(); err != nil {
			s.report(t, err)
			return
		}
		sum.add(s.stats)
	}
	t.Logf("%d seeds in %v: %+v", seedsToRun(), time.Since(began).Round(time.Millisecond), sum)
	if sum.takeovers == 0 || sum.writes == 0 || sum.lost == 0 || sum.reboots == 0 || sum.jumps == 0 || sum.looks == 0 {
		t.Errorf("too quiet: %+v", sum)
	}
}

func (a *simStats) add(b simStats) {
	a.acquired += b.acquired
	a.takeovers += b.takeovers
	a.writes += b.writes
	a.lost += b.lost
	a.kills += b.kills
	a.reboots += b.reboots
	a.jumps += b.jumps
	a.faults += b.faults
	a.looks += b.looks
	a.torn += b.torn
}

func TestSimulationIsDeterministic(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		var sums [2]uint64
		for i := range sums {
			s := newSim(seed, sound)
			_ = s.play()
			h := fnv.New64()
			for _, e := range s.history {
				fmt.Fprintln(h, e)
			}
			sums[i] = h.Sum64()
		}
		if sums[0] != sums[1] {
			t.Errorf("seed %d has two histories", seed)
		}
	}
}

// Negative controls: each mistake must be found.
func TestSimulationFindsMistakes(t *testing.T) {
	for v := sound + 1; v < variants; v++ {
		t.Run(v.String(), func(t *testing.T) {
			const most = 3000
			for seed := uint64(1); seed <= most; seed++ {
				s := newSim(seed, v)
				if err := s.play(); err != nil {
					t.Logf("seed %d (%s): %v", seed, s.kind, err)
					return
				}
			}
			t.Errorf("not found in %d seeds", most)
		})
	}
}
