package locks

import (
	"context"
	"testing"
	"time"

	"aiflow/internal/fault"
)

func TestCase09ClockForwardTwoHours(t *testing.T) {
	w := newWorld(t)
	l := take(t, w.process(1))
	far := w.process(1, func(o *Options) { o.Self.Machine, o.Self.Hostname = "m-2", "far" })
	w.clock.jump(2 * time.Hour)
	neighbour := w.process(2)
	wantVerdict(t, neighbour, Overdue, true)
	wantFacts(t, refused(t, neighbour), fault.Facts{"verdict": "overdue", "pid": "1"})
	wantVerdict(t, far, Expired, false)
	// The holder makes sure by its token and goes on.
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	if l.Context().Err() != nil {
		t.Error("the context has ended")
	}
	wantVerdict(t, neighbour, Held, true)
	release(t, l)
}

func TestCase09LoserFencesItself(t *testing.T) {
	w := newWorld(t)
	l := take(t, w.process(1))
	far := w.process(1, func(o *Options) { o.Self.Machine, o.Self.Hostname = "m-2", "far" })
	w.clock.jump(2 * time.Hour)
	theirs := take(t, far)
	if r, ok := theirs.Recovered(); !ok || r.Token != l.token {
		t.Errorf("recovered %v: %+v", ok, r)
	}
	wrote := false
	err := l.Do(func() error { wrote = true; return nil })
	wantFacts(t, wantCode(t, err, fault.LockLost), fault.Facts{"reason": "taken", "hostname": "far"})
	if wrote {
		t.Error("the loser wrote")
	}
	if context.Cause(l.Context()) == nil {
		t.Error("the loser's context goes on")
	}
	wantCode(t, l.Release(), fault.LockLost)
	if err := theirs.Check(); err != nil {
		t.Errorf("the new lease suffered: %v", err)
	}
}

func TestCase10ClockBackwardTwoHours(t *testing.T) {
	w := newWorld(t)
	l := take(t, w.process(1))
	w.clock.jump(-2 * time.Hour)
	neighbour := w.process(2)
	wantVerdict(t, neighbour, ClockFault, true)
	wantFacts(t, refused(t, neighbour), fault.Facts{"verdict": "clock_fault"})
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	if l.renewIfDue(); l.Record().Beat != 1 {
		t.Fatal("not renewed by the new clock")
	}
	wantVerdict(t, neighbour, Held, true)
	if until := l.Record().ExpiresAt; !until.Equal(w.clock.Now().Add(DefaultTTL)) {
		t.Errorf("until %v at %v", until, w.clock.Now())
	}
	release(t, l)
}

// A clock set back must not make a dead far holder's lock last: its file's age
// decides, by the file system's clock.
func TestCase10BackwardClockIsNoEndlessLock(t *testing.T) {
	w := newWorld(t)
	take(t, w.process(1, func(o *Options) { o.Self.Machine = "m-2" }))
	w.clock.jump(-48 * time.Hour)
	m := w.process(2)
	refused(t, m)
	w.age(DefaultTTL + Grace - time.Minute)
	refused(t, m)
	w.age(DefaultTTL + Grace + time.Second)
	release(t, take(t, m))
}

// A file from the future begins to age when it is first seen.
func TestCase10FileFromTheFuture(t *testing.T) {
	w := newWorld(t)
	w.put("")
	w.age(-1000 * time.Hour)
	m := w.process(2)
	refused(t, m)
	now, err := m.files.Now()
	if err != nil {
		t.Fatal(err)
	}
	_, mtime, _, err := m.files.Read(Request("RQ-1").file())
	if err != nil || now.Sub(mtime) < 0 || now.Sub(mtime) > time.Minute {
		t.Errorf("file time %v at %v, %v", mtime, now, err)
	}
	refused(t, m)
	w.age(DefaultTTL + Grace + time.Second)
	release(t, take(t, m))
}

func TestCase11SuspendFortyMinutes(t *testing.T) {
	w := newWorld(t)
	l := take(t, w.process(1))
	w.clock.pass(40 * time.Minute) // asleep: no timer ran
	if l.isTrusted() {
		t.Fatal("trusted after 40 minutes")
	}
	wantVerdict(t, w.process(2), Overdue, true)
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	if r := l.Record(); r.Beat != 1 || !l.isTrusted() {
		t.Errorf("the check did not renew: %+v", r)
	}
	// Asleep, and taken meanwhile by somebody who was told to.
	w.clock.pass(40 * time.Minute)
	theirs, err := w.process(2).Acquire(t.Context(), Request("RQ-1"), Ask{TakeOverdue: true})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, l.Check(), fault.LockLost)
	release(t, theirs)
}

// The wall clock may stand still or be wrong: the boot clock alone ends trust,
// and so does the wall clock alone.
func TestTrustEndsByEitherClock(t *testing.T) {
	w := newWorld(t)
	const trust = DefaultTTL - DefaultTTL/4
	for name, move := range map[string]func(time.Duration){
		"wall": w.clock.jump,
		"boot": func(d time.Duration) { w.clock.pass(d); w.clock.jump(-d) },
		"boot on, wall back": func(d time.Duration) {
			w.clock.pass(d)
			w.clock.jump(-3 * d)
		},
	} {
		l := take(t, w.process(1))
		if move(trust - 1); !l.isTrusted() {
			t.Errorf("%s: not trusted just before", name)
		}
		if move(1); l.isTrusted() {
			t.Errorf("%s: trusted at the end", name)
		}
		release(t, l)
	}
}

// Trust counts from the start of an attempt, however slow it is.
func TestSlowRenewalDoesNotStretchTrust(t *testing.T) {
	w := newWorld(t)
	d := &slowDisk{w: w}
	m := w.process(1, func(o *Options) { o.Disk = d })
	began := w.clock.Now()
	d.takes = 10 * time.Minute
	l := take(t, m)
	if until := l.Record().ExpiresAt; !until.Equal(began.Add(DefaultTTL)) {
		t.Errorf("acquired at %v until %v", began, until)
	}
	began = w.clock.Now()
	if err := l.Renew(); err != nil {
		t.Fatal(err)
	}
	if until := l.Record().ExpiresAt; !until.Equal(began.Add(DefaultTTL)) {
		t.Errorf("renewed at %v until %v", began, until)
	}
	w.clock.pass(DefaultTTL - DefaultTTL/4 - 10*time.Minute)
	if l.isTrusted() {
		t.Error("still trusted")
	}
}

type slowDisk struct {
	faultDisk
	w     *world
	takes time.Duration
}

func (d *slowDisk) Rename(from, to string) error {
	d.w.clock.pass(d.takes)
	return d.faultDisk.Rename(from, to)
}

func TestDiskErrorsUntilTrustRunsOut(t *testing.T) {
	w := newWorld(t)
	d := &faultDisk{}
	l := take(t, w.process(1, func(o *Options) { o.Disk = d }))
	d.at, d.n, d.onwards, d.err = 1, 0, true, fault.New(fault.InternalError)
	for range 4 {
		w.clock.pass(DefaultTTL / 6)
		l.renewIfDue()
		if l.Context().Err() != nil {
			t.Fatal("lost while still trusted")
		}
	}
	w.clock.pass(DefaultTTL / 6)
	l.renewIfDue()
	f := wantCode(t, context.Cause(l.Context()), fault.LockLost)
	wantFacts(t, f, fault.Facts{"reason": "not_renewed", "path": w.file()})
	w.clock.pass(DefaultTTL / 6)
	wantVerdict(t, w.process(2), Held, true) // nobody else could have it yet
}

func TestLateButSuccessfulBeatKeepsTheLease(t *testing.T) {
	w := newWorld(t)
	d := &faultDisk{}
	l := take(t, w.process(1, func(o *Options) { o.Disk = d }))
	d.at, d.n, d.err = 1, 0, fault.New(fault.InternalError)
	w.clock.pass(DefaultTTL / 6)
	l.renewIfDue()
	w.clock.pass(time.Second)
	l.renewIfDue()
	if r := l.Record(); r.Beat != 1 || l.Context().Err() != nil {
		t.Errorf("%+v, %v", r, l.Context().Err())
	}
	release(t, l)
}
