package locks

import (
	"errors"
	"sync"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// real is a manager of this very process, with the system's own answers.
func (w *world) real(change ...func(*Options)) *Manager {
	w.t.Helper()
	o := Options{Dir: w.dir, Clock: proc.ClockOf(time.Now, proc.BootClock), Self: proc.Self()}
	for _, f := range change {
		f(&o)
	}
	m := Open(o)
	m.startHeartbeat = func(*Lease) {}
	return m
}

func TestCase12PIDReuse(t *testing.T) {
	w := newWorld(t)
	take(t, w.real())
	neighbour := func(o *Options) { o.Self.PID, o.Self.PIDStart = 1, 1 }
	refused(t, w.real(neighbour))
	for name, earlier := range map[string]func(*Options){
		"started one tick later":                     func(o *Options) { o.Self.PIDInode, o.Self.PIDStart = 0, o.Self.PIDStart-1 },
		"started in the same tick, by pidfs":         func(o *Options) { o.Self.PIDInode-- },
		"started one tick later, pidfs knows it too": func(o *Options) { o.Self.PIDInode--; o.Self.PIDStart-- },
	} {
		w2 := newWorld(t)
		l := take(t, w2.real(earlier))
		if l.Record().PIDInode+1 == 0 {
			continue // a kernel before 6.9 has no pidfs: 0, minus one
		}
		if e := look(t, w2.real(neighbour)); e.Verdict != Dead || e.Live {
			t.Fatalf("%s: %s (live %v)", name, e.Verdict, e.Live)
		}
		release(t, take(t, w2.real(neighbour)))
	}
}

func TestCase13SamePIDAfterRestart(t *testing.T) {
	w := newWorld(t)
	take(t, w.real(func(o *Options) { o.Self.PIDInode, o.Self.PIDStart = 0, o.Self.PIDStart-50 }))
	release(t, take(t, w.real())) // same number, same namespace
	// The same number in a new namespace waits for the time only.
	take(t, w.real(func(o *Options) { o.Self.PIDNS = "another" }))
	now := time.Now()
	refused(t, w.real())
	later := func(o *Options) {
		o.Clock = proc.ClockOf(func() time.Time { return now.Add(DefaultTTL + Grace + time.Second) }, proc.BootClock)
	}
	release(t, take(t, w.real(later)))
}

func TestCase13PID1(t *testing.T) {
	w := newWorld(t)
	one := func(o *Options) { o.Self.PID, o.Self.PIDStart, o.Self.PIDInode = 1, proc.StartOf(1), 0 }
	l := take(t, w.real(one))
	refused(t, w.real())
	release(t, l)
}

func TestCase13TwoGoroutinesOfOneServer(t *testing.T) {
	w := newWorld(t)
	m := w.real()
	l := take(t, m)
	wantVerdict(t, m, Mine, true)
	f := refused(t, m)
	wantFacts(t, f, fault.Facts{"verdict": "mine", "run_id": "RUN-1"})
	wantVerdict(t, w.real(), Held, true) // another manager of this process
	release(t, l)

	const callers = 16
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []*Lease
	for range callers {
		wg.Go(func() {
			l, err := m.Acquire(t.Context(), Request("RQ-1"), Ask{})
			if err == nil {
				mu.Lock()
				won = append(won, l)
				mu.Unlock()
			} else if !errors.Is(err, fault.New(fault.RunInProgress)) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("%d goroutines have it", len(won))
	}
	release(t, won[0])
}

func TestCase14OtherNamespacesHostsAndMachines(t *testing.T) {
	for name, change := range map[string]func(*proc.Identity){
		"other pid namespace, equal host name": func(id *proc.Identity) { id.PIDNS = "ns-2" },
		"other host":                           func(id *proc.Identity) { id.Hostname, id.Machine = "far", "m-2" },
		"equal host name, other machine":       func(id *proc.Identity) { id.Machine = "m-2" },
		"other machine, both pid 2":            func(id *proc.Identity) { id.Machine, id.PID = "m-2", 2 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := take(t, w.process(1, func(o *Options) { change(&o.Self) }))
			w.kill(1) // says nothing about a process over there
			m := w.process(2)
			refused(t, m)
			w.clock.pass(DefaultTTL + Grace)
			refused(t, m)
			w.clock.pass(time.Second)
			theirs := take(t, m)
			wantCode(t, l.Check(), fault.LockLost)
			release(t, theirs)
		})
	}
}

func TestCase14OwnTokenIsKnownWhateverTheHostIsCalled(t *testing.T) {
	w := newWorld(t)
	m := w.process(1)
	l := take(t, m)
	m.self.Hostname = "renamed"
	w.clock.pass(DefaultTTL / 2)
	wantVerdict(t, m, Mine, true)
	if err := l.Renew(); err != nil {
		t.Error(err)
	}
	release(t, l)
}

func TestCase15OtherBoot(t *testing.T) {
	w := newWorld(t)
	take(t, w.process(1))
	after := w.process(2, func(o *Options) { o.Self.BootID = "boot-2" })
	wantVerdict(t, after, Dead, false) // though a process 1 lives
	after.files = sharedFiles{after.files}
	refused(t, after)
	w.clock.pass(DefaultTTL + Grace + time.Second)
	release(t, take(t, after))
}

// sharedFiles is a directory that other machines mount too.
type sharedFiles struct{ flock.Files }

func (sharedFiles) Shared() bool { return true }
