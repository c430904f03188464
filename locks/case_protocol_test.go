package locks

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aiflow/internal/fault"
)

// takeoverRounds lets contenders race for a dead holder's lock, sweepers among
// them, and counts rounds with more or less than one owner.
func takeoverRounds(t *testing.T, rounds int, acquire func(*Manager) error) (twice, none int) {
	t.Helper()
	const contenders, sweepers = 8, 2
	w := newWorld(t)
	var managers []*Manager
	for i := range contenders + sweepers {
		managers = append(managers, w.process(100+i))
	}
	w.kill(1)
	for range rounds {
		take(t, w.process(1))
		var owners atomic.Int32
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i, m := range managers {
			wg.Go(func() {
				<-start
				if i >= contenders {
					_, _ = m.Sweep(t.Context())
				} else if acquire(m) == nil {
					owners.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		switch n := owners.Load(); {
		case n > 1:
			twice++
		case n == 0:
			none++
		}
		if err := os.Remove(w.file()); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return twice, none
}

func rounds() int {
	if testing.Short() {
		return 100
	}
	return 1000
}

func TestCase20ManyTakeOneStaleLock(t *testing.T) {
	twice, none := takeoverRounds(t, rounds(), func(m *Manager) error {
		_, err := m.Acquire(t.Context(), Request("RQ-1"), Ask{})
		if err != nil && !fault.Has(err, fault.RunInProgress) {
			t.Error(err)
		}
		return err
	})
	if twice != 0 || none != 0 {
		t.Errorf("of %d rounds %d had two owners, %d none", rounds(), twice, none)
	}
}

// Negative control: remove, then create exclusively.
func TestCase20ControlRemoveThenCreateIsCaught(t *testing.T) {
	for try := range 20 {
		twice, _ := takeoverRounds(t, rounds(), removeThenCreate)
		if twice > 0 {
			t.Logf("%d rounds with two owners at try %d", twice, try)
			return
		}
	}
	t.Error("two owners were never seen: this test cannot find what it is for")
}

func removeThenCreate(m *Manager) error {
	k := Request("RQ-1")
	if e, found, err := m.look(k, false); err != nil || found && e.Live {
		return errors.Join(err, fault.New(fault.RunInProgress))
	} else if found {
		_ = os.Remove(e.Path)
	}
	f, err := os.OpenFile(m.path(k), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	data, _ := json.Marshal(m.newRecord(k, "", m.clock.Now()))
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func TestCase21OldOwnerReturns(t *testing.T) {
	for _, harm := range []string{"", "cut", "empty"} {
		w := newWorld(t)
		old := take(t, w.process(1))
		w.clock.pass(2 * DefaultTTL)
		theirs, err := w.process(2).Acquire(t.Context(), Request("RQ-1"), Ask{TakeOverdue: true})
		if err != nil {
			t.Fatal(err)
		}
		whole := w.content()
		switch harm {
		case "cut":
			w.put(whole[:50])
		case "empty":
			w.put("")
		}
		now := w.content()
		wantCode(t, old.Renew(), fault.LockLost)
		wantCode(t, old.Check(), fault.LockLost)
		wantCode(t, old.SetRun("RUN-7"), fault.LockLost)
		wantCode(t, old.Do(func() error { t.Error("wrote"); return nil }), fault.LockLost)
		wantCode(t, old.Release(), fault.LockLost)
		if w.content() != now {
			t.Errorf("harm %q: the new record was touched", harm)
		}
		w.put(whole)
		if err := theirs.Check(); err != nil {
			t.Error(err)
		}
		release(t, theirs)
	}
}

func TestStolenLeaseCannotBeRenewedNorReleased(t *testing.T) {
	w := newWorld(t)
	old := take(t, w.process(1))
	if _, gone, err := w.process(2).Break(t.Context(), Request("RQ-1"), true); err != nil || !gone {
		t.Fatal(err)
	}
	theirs := take(t, w.process(3))
	wantFacts(t, wantCode(t, old.Renew(), fault.LockLost), fault.Facts{"pid": "3", "reason": "taken"})
	wantCode(t, old.Release(), fault.LockLost)
	release(t, theirs)
	free(t, w.process(1))
}

func TestCase22DoubleReleaseAndForce(t *testing.T) {
	w := newWorld(t)
	m := w.process(1)
	l := take(t, m)
	release(t, l)
	release(t, l) // again: the same answer
	wantFacts(t, wantCode(t, l.Check(), fault.LockLost), fault.Facts{"reason": "released"})
	if l.Context().Err() == nil {
		t.Error("the context goes on")
	}

	l = take(t, m)
	other := w.process(2)
	e, gone, err := other.Break(t.Context(), Request("RQ-1"), false)
	wantFacts(t, wantCode(t, err, fault.LockNotYours), fault.Facts{"pid": "1"})
	if gone || e.Token != l.token {
		t.Errorf("%v %+v", gone, e)
	}
	if _, gone, err = other.Break(t.Context(), Request("RQ-1"), true); err != nil || !gone {
		t.Errorf("by force: %v, %v", gone, err)
	}
	if _, gone, err = other.Break(t.Context(), Request("RQ-1"), true); err != nil || gone {
		t.Errorf("vanished: %v, %v", gone, err)
	}
	wantFacts(t, wantCode(t, l.Release(), fault.LockLost), fault.Facts{"reason": "vanished"})

	take(t, m)
	w.kill(1)
	if e, gone, err = other.Break(t.Context(), Request("RQ-1"), false); err != nil || !gone || e.Verdict != Dead {
		t.Errorf("dead: %v, %v, %+v", gone, err, e)
	}
}

func TestCase23OppositeOrder(t *testing.T) {
	w := newWorld(t)
	a, b := w.process(1), w.process(2)
	const wait = 100 * time.Millisecond
	var wg sync.WaitGroup
	barrier := make(chan struct{})
	results := make([]error, 2)
	queue, err := a.Acquire(t.Context(), Queue(), Ask{})
	if err != nil {
		t.Fatal(err)
	}
	request := take(t, b)
	wg.Go(func() {
		<-barrier
		_, results[0] = a.Acquire(queue.Context(), Request("RQ-1"), Ask{Wait: wait})
	})
	wg.Go(func() {
		<-barrier
		_, results[1] = b.Acquire(t.Context(), Queue(), Ask{Wait: wait})
	})
	close(barrier)
	wg.Wait()
	wantCode(t, results[0], fault.RunInProgress)
	wantCode(t, results[1], fault.QueueInProgress)
	// With the lease's context the wrong order is refused before it waits.
	_, err = b.Acquire(request.Context(), Queue(), Ask{Wait: time.Hour})
	wantFacts(t, wantCode(t, err, fault.InternalError), fault.Facts{"reason": "lock_order"})
	release(t, queue)
	release(t, request)
}

func TestCase24WaitIsAtLeastAsAskedAndLessThanHalfAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := take(t, w.process(1))
		for _, wait := range []time.Duration{time.Millisecond, 200 * time.Millisecond, 3 * time.Second, time.Minute} {
			began := time.Now()
			_, err := w.process(2).Acquire(t.Context(), Request("RQ-1"), Ask{Wait: wait})
			wantCode(t, err, fault.RunInProgress)
			if took := time.Since(began); took < wait || took >= wait*3/2 {
				t.Errorf("asked %v, took %v", wait, took)
			}
		}
		release(t, l)
	})
}

func TestCase24ReleaseEndsWaitingSoon(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := take(t, w.process(1))
		var told []Entry
		done := make(chan time.Time)
		go func() {
			l, err := w.process(2).Acquire(t.Context(), Request("RQ-1"), Ask{Wait: time.Hour, Waiting: func(e Entry) { told = append(told, e) }})
			if err == nil {
				err = l.Release()
			}
			if err != nil {
				t.Error(err)
			}
			done <- time.Now()
		}()
		time.Sleep(10 * time.Minute)
		released := time.Now()
		release(t, l)
		if late := (<-done).Sub(released); late > 500*time.Millisecond {
			t.Errorf("noticed after %v", late)
		}
		if len(told) != 1 || told[0].PID != 1 {
			t.Errorf("told %v", told)
		}
	})
}

func TestCase24CancelledWaitEndsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := take(t, w.process(1))
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		go func() { time.Sleep(90 * time.Second); cancel(stop) }()
		_, err := w.process(2).Acquire(ctx, Request("RQ-1"), Ask{Wait: time.Hour})
		if took := time.Since(began); !errors.Is(err, stop) || took != 90*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		release(t, l)
		if _, err := w.process(2).Acquire(canceled(), Request("RQ-1"), Ask{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		free(t, w.process(2))
	})
}

func TestReleaseIgnoresCancellation(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	l, err := w.process(1).Acquire(ctx, Request("RQ-1"), Ask{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if l.Context().Err() == nil {
		t.Error("work goes on")
	}
	if err := l.Check(); err != nil {
		t.Errorf("a cancelled run lost its lock: %v", err)
	}
	release(t, l)
	free(t, w.process(2))
}

func TestRefusalNamesTheHolder(t *testing.T) {
	w := newWorld(t)
	w.clock.wall = noon
	m := w.process(1)
	holders := map[string]func(*Manager) (*Lease, error){
		"request": func(m *Manager) (*Lease, error) {
			return m.Acquire(t.Context(), Request("RQ-7"), Ask{RunID: "RUN-7"})
		},
		"queue": func(m *Manager) (*Lease, error) { return m.Acquire(t.Context(), Queue(), Ask{RunID: "RUN-7"}) },
		"name":  func(m *Manager) (*Lease, error) { return m.Acquire(t.Context(), Named("deploy"), Ask{RunID: "RUN-7"}) },
	}
	for kind, code := range map[string]fault.Code{
		"request": fault.RunInProgress, "queue": fault.QueueInProgress, "name": fault.LockHeld,
	} {
		l, err := holders[kind](m)
		if err != nil {
			t.Fatal(err)
		}
		_, err = holders[kind](w.process(2))
		f := wantCode(t, err, code)
		wantFacts(t, f, fault.Facts{
			"request_id": map[string]string{"request": "RQ-7"}[kind], "name": map[string]string{"name": "deploy"}[kind],
			"run_id": "RUN-7", "pid": "1", "host": "127.0.0.1", "hostname": "box", "verdict": "held",
			"since": "2026-11-27T12:00:00Z", "until": "2026-11-27T12:30:00Z", "path": l.Path(),
		})
		release(t, l)
	}
}

func TestTakeOverdueOnlyWhenAsked(t *testing.T) {
	w := newWorld(t)
	old := take(t, w.process(1))
	ask := Ask{TakeOverdue: true}
	if _, err := w.process(2).Acquire(t.Context(), Request("RQ-1"), ask); !fault.Has(err, fault.RunInProgress) {
		t.Errorf("not overdue: %v", err)
	}
	w.clock.pass(DefaultTTL + 1)
	refused(t, w.process(2))
	l, err := w.process(2).Acquire(t.Context(), Request("RQ-1"), ask)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := l.Recovered(); !ok || r.PID != 1 {
		t.Errorf("recovered %v %+v", ok, r)
	}
	old.renewIfDue()
	wantCode(t, context.Cause(old.Context()), fault.LockLost)
	release(t, l)
}

func TestDeadHoldersCommandKeepsTheLock(t *testing.T) {
	w := newWorld(t)
	m := w.process(1)
	l := take(t, m)
	if err := l.SetCommand(1, true); err != nil { // a group that cannot be asked
		t.Fatal(err)
	}
	w.kill(1)
	other := w.process(2)
	wantVerdict(t, other, Held, true)
	refused(t, other)
	if err := l.SetCommand(1<<22, true); err != nil { // one that is gone
		t.Fatal(err)
	}
	wantVerdict(t, other, Dead, false)
	release(t, take(t, other))
}

func TestBadNames(t *testing.T) {
	m := newWorld(t).process(1)
	for _, id := range []string{"", ".", "..", "a/b", "../x", "-x", "a..b", "a.", "a.lock", "a b", "a\nb", "ü", strings.Repeat("a", 129)} {
		_, err := m.Acquire(t.Context(), Request(id), Ask{})
		wantFacts(t, wantCode(t, err, fault.InvalidRequest), fault.Facts{"value": id})
		_, err = m.Acquire(t.Context(), Named(id), Ask{})
		wantCode(t, err, fault.InvalidRequest)
		if _, _, err := m.Look(Request(id)); !fault.Has(err, fault.InvalidRequest) {
			t.Errorf("%q: look %v", id, err)
		}
	}
	for _, id := range []string{"a", "RQ-20251214-008", "0089", "1e3", "a.b", strings.Repeat("a", 128)} {
		l, err := m.Acquire(t.Context(), Request(id), Ask{})
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := KeyOf(l.Path()); !ok || k != Request(id) {
			t.Errorf("%s: %+v", l.Path(), k)
		}
		release(t, l)
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t)
	living, err := w.process(1).Acquire(t.Context(), Request("RQ-alive"), Ask{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"RQ-b", "RQ-a"} {
		if _, err := w.process(2).Acquire(t.Context(), Request(id), Ask{RunID: "RUN-" + id}); err != nil {
			t.Fatal(err)
		}
	}
	w.kill(2)
	w.put("") // unreadable and young
	for _, name := range []string{".request.x.lock.json.tmp-2-abc", "note.txt"} {
		if err := os.WriteFile(w.dir+"/"+name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := w.process(3).Sweep(t.Context())
	if err != nil || len(removed) != 2 || removed[0].RequestID != "RQ-a" || removed[1].RunID != "RUN-RQ-b" {
		t.Errorf("removed %+v, %v", removed, err)
	}
	if got := strings.Join(w.names(), " "); got != "note.txt request.RQ-1.lock.json request.RQ-alive.lock.json" {
		t.Errorf("left %s", got)
	}
	release(t, living)
}

func TestSweepExpiredTakesOnlyWhatIsOver(t *testing.T) {
	w := newWorld(t)
	for pid, id := range map[int]string{1: "RQ-alive", 2: "RQ-dead"} {
		if _, err := w.process(pid).Acquire(t.Context(), Request(id), Ask{}); err != nil {
			t.Fatal(err)
		}
	}
	w.kill(2)
	if removed, err := w.process(3).SweepExpired(t.Context()); err != nil || len(removed) != 0 {
		t.Errorf("before the time is over: %+v, %v", removed, err)
	}
	w.clock.pass(DefaultTTL + time.Second)
	removed, err := w.process(3).SweepExpired(t.Context())
	if err != nil || len(removed) != 1 || removed[0].RequestID != "RQ-dead" {
		t.Errorf("afterwards: %+v, %v", removed, err)
	}
	if got := strings.Join(w.names(), " "); got != "request.RQ-alive.lock.json" {
		t.Errorf("left %s", got)
	}
}

func TestListIsSortedAndSurvivesOneBadFile(t *testing.T) {
	w := newWorld(t)
	m := w.process(1)
	for _, id := range []string{"b", "a"} {
		if _, err := m.Acquire(t.Context(), Request(id), Ask{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Acquire(t.Context(), Queue(), Ask{}); err != nil {
		t.Fatal(err)
	}
	w.put("oops")
	all, err := m.List()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.LockType+" "+e.RequestID+" "+string(e.Verdict))
	}
	if s := strings.Join(got, ", "); s != "queue  mine, request RQ-1 unknown, request a mine, request b mine" {
		t.Error(s)
	}
	if all[1].Problem == nil || all[0].Problem != nil {
		t.Errorf("problems %v, %v", all[1].Problem, all[0].Problem)
	}
}
