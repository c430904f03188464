package locks

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// handClock is moved by hand; its wall and boot clocks go apart when told to.
type handClock struct {
	mu   sync.Mutex
	wall time.Time
	boot time.Duration
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

func (c *handClock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boot
}

// pass lets real time go by.
func (c *handClock) pass(d time.Duration) { c.jump(d); c.mu.Lock(); c.boot += d; c.mu.Unlock() }

// jump sets the wall clock.
func (c *handClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

// world is one machine: a lock directory on the real disk, a clock, processes.
type world struct {
	t     *testing.T
	dir   string
	clock *handClock
	mu    sync.Mutex
	dead  map[int]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{
		t: t, dir: filepath.Join(t.TempDir(), ".aiflow", "locks"), dead: map[int]bool{},
		clock: &handClock{wall: time.Now().Truncate(time.Millisecond), boot: time.Hour},
	}
}

func (w *world) kill(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead[pid] = true
}

func (w *world) alive(pid int, _ uint64) proc.Liveness {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead[pid] {
		return proc.Dead
	}
	return proc.Living
}

// process is a manager as process pid would have it. Leases do not beat by
// themselves.
func (w *world) process(pid int, change ...func(*Options)) *Manager {
	o := Options{
		Dir: w.dir, Clock: w.clock,
		Self: proc.Identity{PID: pid, PIDStart: uint64(pid) * 10, BootID: "boot-1", Machine: "m-1", PIDNS: "ns-1", Hostname: "box"},
	}
	for _, f := range change {
		f(&o)
	}
	m := Open(o)
	m.startHeartbeat, m.processes = func(*Lease) {}, processes{w.alive, unasked, unbegun}
	return m
}

func (w *world) file() string { return filepath.Join(w.dir, Request("RQ-1").file()) }

func (w *world) put(content string) {
	w.t.Helper()
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.file(), []byte(content), 0o666); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) content() string {
	w.t.Helper()
	data, err := os.ReadFile(w.file())
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// age makes the lock file as old as that.
func (w *world) age(d time.Duration) {
	w.t.Helper()
	at := time.Now().Add(-d)
	if err := os.Chtimes(w.file(), at, at); err != nil {
		w.t.Fatal(err)
	}
}

func take(t *testing.T, m *Manager) *Lease {
	t.Helper()
	l, err := m.Acquire(t.Context(), Request("RQ-1"), Ask{RunID: "RUN-1"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func refused(t *testing.T, m *Manager) *fault.Error {
	t.Helper()
	l, err := m.Acquire(t.Context(), Request("RQ-1"), Ask{RunID: "RUN-2"})
	if err == nil {
		t.Fatalf("taken: %+v", l.Record())
	}
	return wantCode(t, err, fault.RunInProgress)
}

func wantCode(t *testing.T, err error, code fault.Code) *fault.Error {
	t.Helper()
	f, ok := fault.As(err)
	if !ok || f.Code != code {
		t.Fatalf("error %v, want %s", err, code)
	}
	return f
}

func wantFacts(t *testing.T, f *fault.Error, want fault.Facts) {
	t.Helper()
	for k, v := range want {
		if f.Facts[k] != v {
			t.Errorf("fact %s = %q, want %q", k, f.Facts[k], v)
		}
	}
}

func look(t *testing.T, m *Manager) Entry {
	t.Helper()
	e, found, err := m.Look(Request("RQ-1"))
	if err != nil || !found {
		t.Fatalf("look: found %v, %v", found, err)
	}
	sameInList(t, m, e)
	return e
}

// sameInList: whoever reads one record and whoever reads them all see the same.
func sameInList(t *testing.T, m *Manager, e Entry) {
	t.Helper()
	all, err := m.List()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(o Entry) bool { return o.Path == e.Path })
	if i < 0 || !reflect.DeepEqual(all[i], e) {
		t.Errorf("listed: %+v, looked at: %+v", all, e)
	}
}

func wantVerdict(t *testing.T, m *Manager, v Verdict, live bool) {
	t.Helper()
	if e := look(t, m); e.Verdict != v || e.Live != live {
		t.Fatalf("verdict %s (live %v), want %s (live %v)", e.Verdict, e.Live, v, live)
	}
}

func free(t *testing.T, m *Manager) {
	t.Helper()
	if e, found, err := m.Look(Request("RQ-1")); err != nil || found {
		t.Fatalf("not free: %+v, %v", e, err)
	}
}

func release(t *testing.T, l *Lease) {
	t.Helper()
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// names of the lock directory but the guard's.
func (w *world) names() []string {
	w.t.Helper()
	dir, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range dir {
		if e.Name() != flock.GuardName {
			names = append(names, e.Name())
		}
	}
	return names
}

// faultDisk fails or stops at its n-th operation.
type faultDisk struct {
	atomicfile.OS
	at      int   // 1 is the first operation; 0 never
	err     error // nil: the caller dies there
	onwards bool  // every later one too
	late    bool  // the operation takes effect all the same
	n       int
	trace   []string
}

func (d *faultDisk) step(name string, f func() error) error {
	d.n++
	d.trace = append(d.trace, name)
	if d.at == 0 || d.n != d.at && !(d.onwards && d.n > d.at) {
		return f()
	}
	if d.late {
		_ = f()
	}
	if d.err == nil {
		panic(killed{})
	}
	return d.err
}

type killed struct{}

func (d *faultDisk) Create(path string, perm fs.FileMode) (f atomicfile.File, err error) {
	err = d.step("create", func() error { f, err = d.OS.Create(path, perm); return err })
	return &faultFile{f, d}, err
}

func (d *faultDisk) Rename(from, to string) error {
	return d.step("rename", func() error { return d.OS.Rename(from, to) })
}

func (d *faultDisk) Remove(path string) error {
	return d.step("remove", func() error { return d.OS.Remove(path) })
}

type faultFile struct {
	atomicfile.File
	d *faultDisk
}

func (f *faultFile) Write(p []byte) (n int, err error) {
	err = f.d.step("write", func() error { n, err = f.File.Write(p[:len(p)/2]); return err })
	if err != nil {
		return n, err
	}
	m, err := f.File.Write(p[n:])
	return n + m, err
}

func (f *faultFile) Close() error { return f.d.step("close", f.File.Close) }

// dies runs f, which may be killed by a faultDisk, and reports whether it was.
func dies(f func()) (dead bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			dead = true
		}
	}()
	f()
	return false
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Do runs f while nobody can take the lease: the guard is held, so f must be
// quick and must not use the lease. It is a shared write that a lost lease must
// never make.
func (l *Lease) Do(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return l.over
	}
	unlock, _, err := l.guard()
	if err != nil {
		return l.unconfirmed(err)
	}
	defer unlock()
	if err := l.verify(); err != nil {
		return err
	}
	return f()
}

// Renew extends the lease now, as the heartbeat does in its time.
func (l *Lease) Renew() error { return l.change(nil) }
