package locks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
)

// ways are all ways of using a lock that write.
var ways = map[string]func(t *testing.T, w *world, d *faultDisk, m *Manager) error{
	"acquire": func(t *testing.T, _ *world, _ *faultDisk, m *Manager) error {
		_, err := m.Acquire(t.Context(), Request("RQ-1"), Ask{RunID: "RUN-1"})
		return err
	},
	"take over": func(t *testing.T, w *world, d *faultDisk, m *Manager) error {
		take(t, w.process(9))
		w.kill(9)
		_, err := m.Acquire(t.Context(), Request("RQ-1"), Ask{RunID: "RUN-1"})
		return err
	},
	"renew": func(t *testing.T, _ *world, d *faultDisk, m *Manager) error {
		return armedAfter(d, take(t, m).Renew)
	},
	"name the run": func(t *testing.T, _ *world, d *faultDisk, m *Manager) error {
		l := take(t, m)
		return armedAfter(d, func() error { return l.SetRun("RUN-9") })
	},
	"release": func(t *testing.T, _ *world, d *faultDisk, m *Manager) error {
		return armedAfter(d, take(t, m).Release)
	},
	"sweep": func(t *testing.T, w *world, _ *faultDisk, m *Manager) error {
		take(t, w.process(9))
		w.kill(9)
		_, err := m.Sweep(t.Context())
		return err
	},
}

// armedAfter lets the fault count begin with f.
func armedAfter(d *faultDisk, f func() error) error {
	d.n, d.at, d.trace = 0, d.at-1000, nil
	return f()
}

// arm sets the n-th operation to fail, in the part that the way is about.
func arm(way string, d *faultDisk, n int) {
	d.at = n
	switch way {
	case "renew", "name the run", "release":
		d.at += 1000
	}
}

// points are how many operations each way takes.
var points = map[string]int{"acquire": 4, "take over": 4, "renew": 4, "name the run": 4, "release": 1, "sweep": 1}

// everyPoint runs each way with a fault at each write point until one run has
// none.
func everyPoint(t *testing.T, set func(*faultDisk), after func(t *testing.T, w *world, d *faultDisk, died bool, err error)) {
	t.Helper()
	for way, use := range ways {
		for _, late := range []bool{false, true} {
			n := 1
			for ; ; n++ {
				d := &faultDisk{late: late}
				arm(way, d, n)
				set(d)
				w := newWorld(t)
				var err error
				died := dies(func() { err = use(t, w, d, w.process(1, func(o *Options) { o.Disk = d })) })
				if d.n < d.at {
					break
				}
				t.Run(fmt.Sprintf("%s/%d/late=%v", way, n, late), func(t *testing.T) { after(t, w, d, died, err) })
			}
			if n-1 != points[way] {
				t.Errorf("%s: %d write points", way, n-1)
			}
		}
	}
}

// legal: no half record, at most one temporary file, and the next process gets
// the lock; afterwards nothing is left.
func legal(t *testing.T, w *world) {
	t.Helper()
	names := w.names()
	temps := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.Contains(n, ".tmp-") })
	if len(temps) > 1 || len(names)-len(temps) > 1 {
		t.Errorf("left over: %v", names)
	}
	next := w.process(2)
	if e, found, err := next.Look(Request("RQ-1")); err != nil || e.Problem != nil {
		t.Fatalf("found %v: %v, %v", found, err, e.Problem)
	}
	w.kill(1)
	l := take(t, next)
	if _, err := next.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	release(t, l)
	if got := w.names(); len(got) != 0 {
		t.Errorf("left over at the end: %v", got)
	}
}

func TestCase01KilledAtEveryWritePoint(t *testing.T) {
	everyPoint(t, func(*faultDisk) {}, func(t *testing.T, w *world, _ *faultDisk, died bool, _ error) {
		if !died {
			t.Error("not killed")
		}
		legal(t, w)
	})
}

func TestCase04DiskFullAtEveryWritePoint(t *testing.T) {
	for _, onwards := range []bool{false, true} {
		set := func(d *faultDisk) { d.err, d.onwards = &os.PathError{Op: "write", Err: syscall.ENOSPC}, onwards }
		everyPoint(t, set, func(t *testing.T, w *world, d *faultDisk, _ bool, err error) {
			wantCode(t, err, fault.DiskFull)
			legal(t, w)
		})
	}
}

func TestCase05WriteErrorsAreErrorsAndNotRetried(t *testing.T) {
	for _, onwards := range []bool{false, true} {
		set := func(d *faultDisk) { d.err, d.onwards = syscall.EIO, onwards }
		everyPoint(t, set, func(t *testing.T, w *world, d *faultDisk, _ bool, err error) {
			wantCode(t, err, fault.PathNotWritable)
			seen := map[string]int{}
			for _, op := range d.trace {
				seen[op]++
			}
			for op, n := range seen {
				if op != "remove" && n > 1 {
					t.Errorf("%s was done %d times: %v", op, n, d.trace)
				}
			}
			legal(t, w)
		})
	}
}

// Negative control: with a writer that opens the record itself, the check of
// TestCase01 must find half records.
func TestCase01ControlWritingInPlaceIsCaught(t *testing.T) {
	w := newWorld(t)
	d := &faultDisk{at: 2} // create, write
	m := w.process(1, func(o *Options) { o.Disk = d })
	m.guard = softGuard{} // writes in place
	w.put("")
	_ = os.Remove(w.file())
	if !dies(func() { take(t, m) }) {
		t.Fatal("not killed")
	}
	if e := look(t, w.process(2)); e.Problem == nil {
		t.Error("a half record was not noticed")
	}
}

func TestCase02PowerCut(t *testing.T) {
	rebooted := func(o *Options) { o.Self.BootID = "boot-2" }
	for name, tc := range map[string]struct {
		harm func(w *world)
		free bool // at once
	}{
		"kept":       {func(w *world) {}, true},
		"dropped":    {func(w *world) { _ = os.Remove(w.file()) }, true},
		"cut short":  {func(w *world) { _ = os.Truncate(w.file(), 100) }, false},
		"emptied":    {func(w *world) { _ = os.Truncate(w.file(), 0) }, false},
		"garbage":    {func(w *world) { w.put(strings.Repeat("\x00", 512)) }, false},
		"older beat": {func(w *world) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			take(t, w.process(1))
			tc.harm(w)
			after := w.process(1, rebooted)
			if !tc.free {
				f := refused(t, after)
				wantFacts(t, f, fault.Facts{"verdict": "unknown", "path": w.file(), "pid": ""})
				w.age(DefaultTTL + Grace + time.Second)
			}
			release(t, take(t, after))
			free(t, after)
		})
	}
}

func TestCase03TornAtEveryLength(t *testing.T) {
	w := newWorld(t)
	m := w.process(1)
	l := take(t, m)
	whole := w.content()
	w.kill(1)
	other := w.process(2)
	for n := range len(whole) - 1 { // without the newline it is whole
		w.put(whole[:n])
		wantVerdict(t, other, UnknownRec, true)
		refused(t, other)
		if got := w.content(); got != whole[:n] {
			t.Fatalf("overwritten at %d", n)
		}
	}
	w.put(whole)
	wantVerdict(t, other, Dead, false)
	release(t, l)
}

// softGuard is a file system without flock(2).
type softGuard struct{}

func TestCase07NoFlock(t *testing.T) {
	w := newWorld(t)
	a, b := w.process(1), w.process(2)
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	a.guard, b.guard = softGuard{}, softGuard{}
	l := take(t, a)
	refused(t, b)
	for _, step := range []func() error{l.Renew, l.Check} {
		if err := step(); err != nil {
			t.Error(err)
		}
	}
	release(t, l)
	l = take(t, a)
	w.kill(1)
	wantVerdict(t, b, Dead, false)
	_, err := b.Acquire(t.Context(), Request("RQ-1"), Ask{})
	f := wantCode(t, err, fault.LockStaleDetected)
	wantFacts(t, f, fault.Facts{"reason": "no_flock", "path": w.file(), "pid": "1"})
	if removed, err := b.Sweep(t.Context()); err != nil || len(removed) != 0 {
		t.Errorf("swept %v, %v", removed, err)
	}
	if _, gone, err := b.Break(t.Context(), Request("RQ-1"), false); err != nil || !gone {
		t.Errorf("by hand: %v, %v", gone, err)
	}
	wantCode(t, l.Check(), fault.LockLost)
	release(t, take(t, b))
}

// No link(2), chmod(2) or fsync is needed.
func TestCase07NoLinkNoSyncNoChmod(t *testing.T) {
	w := newWorld(t)
	d := &faultDisk{}
	l := take(t, w.process(1, func(o *Options) { o.Disk = d }))
	if err := l.Renew(); err != nil {
		t.Fatal(err)
	}
	release(t, l)
	if got, want := strings.Join(d.trace, " "), "create write close rename create write close rename remove"; got != want {
		t.Errorf("operations %s", got)
	}
}

func TestLockDirectoryIsMade(t *testing.T) {
	w := newWorld(t)
	m := w.process(1)
	if all, err := m.List(); err != nil || len(all) != 0 {
		t.Errorf("list of nothing: %v, %v", all, err)
	}
	free(t, m)
	if swept, err := m.Sweep(t.Context()); err != nil || len(swept) != 0 {
		t.Errorf("sweep of nothing: %v, %v", swept, err)
	}
	if _, gone, err := m.Break(t.Context(), Queue(), true); err != nil || gone {
		t.Errorf("break of nothing: %v, %v", gone, err)
	}
	if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
		t.Fatalf("looking made the directory: %v", err)
	}
	release(t, take(t, m))
	if _, err := os.Stat(filepath.Join(w.dir, flock.GuardName)); err != nil {
		t.Errorf("the guard was deleted: %v", err)
	}
}

func TestDirectoryThatCannotBeMade(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(filepath.Dir(w.dir), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := w.process(1).Acquire(t.Context(), Queue(), Ask{})
	wantCode(t, err, fault.PathNotWritable)
}

func (softGuard) Lock(context.Context, bool, time.Duration) (func(), bool, error) {
	return func() {}, false, nil
}
