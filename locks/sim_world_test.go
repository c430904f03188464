package locks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"syscall"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// The simulation runs the real Manager in many pretended processes on pretended
// machines. Every process is a goroutine, but exactly one runs at a time: it
// gives way at each operation on the disk, the guard or the clock, and a seeded
// scheduler says who goes on, who is paused, killed, or has its clock set. One
// seed is one history.

// sim is the pretended world.
type sim struct {
	seed     uint64
	rng      *rand.Rand
	kind     simKind
	variant  variant
	now      time.Duration // true time
	machines []*simMachine
	procs    []*simProc
	files    map[string]*simFile // by name
	believed map[believed]bool   // what a reader may see
	guard    *simProc
	guarded  bool // the guard excludes
	yielded  chan struct{}
	history  []event
	nextPID  int
	quiet    bool  // no more faults
	robbed   error // a lease was taken from a living holder before it ran out
	misled   error // a reader saw a record that was never this lock's
	stats    simStats
}

type simStats struct{ acquired, takeovers, writes, lost, kills, reboots, jumps, faults, looks, torn int }

// simKind is what a world may do, and what must hold in it.
type simKind int

const (
	// oneMachine: any pause between a check and its write, any clock, reboots
	// with a torn disk. Nobody loses a lease to the clock.
	oneMachine simKind = iota
	// severalMachines: clocks that differ by less than Grace, a write within
	// the margin after its check.
	severalMachines
	// anything: clocks, forced takeovers, a file server that loses records.
	// Writes go through Do.
	anything
	simKinds
)

func (k simKind) String() string {
	return [...]string{"one machine", "several machines", "anything"}[k]
}

type simMachine struct {
	id    int
	boots int
	skew  time.Duration // wall clock against true time
	since time.Duration // of the last boot
}

// simFile is an inode.
type simFile struct {
	data  []byte
	mtime time.Duration
}

// event is a line of the history that the checker reads.
type event struct {
	at    time.Duration
	what  string // publish, write, release, lost, kill, reboot
	pid   int
	lock  string // its file
	token string
}

func (e event) String() string {
	return fmt.Sprintf("%12v %-8s pid %-4d %s %.8s", e.at, e.what, e.pid, e.lock, e.token)
}

func newSim(seed uint64, v variant) *sim {
	s := &sim{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), variant: v, guarded: v != noGuard,
		files: map[string]*simFile{}, believed: map[believed]bool{}, yielded: make(chan struct{}), nextPID: 2,
	}
	s.kind = simKind(s.rng.IntN(int(simKinds)))
	machines := 1
	if s.kind != oneMachine {
		machines = 1 + s.rng.IntN(3)
	}
	for i := range machines {
		m := &simMachine{id: i}
		if s.kind != oneMachine {
			m.skew = s.between(-Grace/2, Grace/2)
		}
		s.machines = append(s.machines, m)
	}
	for range 2 + s.rng.IntN(5) {
		s.start(s.machines[s.rng.IntN(machines)])
	}
	return s
}

func (s *sim) between(a, b time.Duration) time.Duration {
	return a + time.Duration(s.rng.Int64N(int64(b-a)+1))
}

func (s *sim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *sim) note(what string, p *simProc, lock, token string) {
	pid := 0
	if p != nil {
		pid = p.pid
	}
	s.history = append(s.history, event{s.now, what, pid, lock, token})
}

// simProc is a pretended process.
type simProc struct {
	s       *sim
	machine *simMachine
	boot    int
	pid     int
	start   uint64
	ns      string
	resume  chan struct{}
	until   time.Duration // paused until then
	dead    bool
	done    bool // its goroutine has ended
	m       *Manager
	script  func()
}

// simEpoch is true time 0 as a wall clock shows it.
var simEpoch = time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)

const simTTL = 10 * time.Minute

func (s *sim) start(m *simMachine) *simProc {
	s.nextPID++
	p := &simProc{
		s: s, machine: m, boot: m.boots, pid: 2 + s.nextPID%7, // numbers are soon used again
		start: uint64(s.now/time.Millisecond) + uint64(s.nextPID), ns: "ns-1", resume: make(chan struct{}),
	}
	if s.kind != oneMachine && s.chance(25) {
		p.ns = "ns-2"
	}
	for _, q := range s.procs {
		if !q.dead && q.machine == m && q.pid == p.pid && q.ns == p.ns {
			return nil // taken
		}
	}
	p.m = Open(Options{
		Dir: "/locks", TTL: simTTL, Clock: p, Disk: simDisk{p}, Rand: simRand{s},
		Self: proc.Identity{
			PID: p.pid, PIDStart: p.start, BootID: fmt.Sprint("boot-", m.id, "-", m.boots),
			Machine: fmt.Sprint("m-", m.id), PIDNS: p.ns, Hostname: fmt.Sprint("host-", m.id/2),
		},
	})
	p.script = p.live
	p.m.guard, p.m.files, p.m.startHeartbeat = simGuard{p}, simFiles{p}, func(*Lease) {}
	p.m.processes = processes{p.alive, unasked, unbegun}
	s.procs = append(s.procs, p)
	go p.run()
	return p
}

func (p *simProc) run() {
	defer func() {
		p.dead, p.done = true, true
		p.s.freeGuard(p)
		p.s.yielded <- struct{}{}
	}()
	<-p.resume
	if !p.dead {
		p.script()
	}
}

// step gives way before an operation; a process that was killed meanwhile goes
// no further.
func (p *simProc) step() {
	if p.dead {
		return
	}
	p.s.yielded <- struct{}{}
	<-p.resume
	if p.dead {
		runtime.Goexit()
	}
}

func (s *sim) freeGuard(p *simProc) {
	if s.guard == p {
		s.guard = nil
	}
}

// kill ends a process between two operations; the kernel frees what it held.
func (s *sim) kill(p *simProc) {
	if p.dead {
		return
	}
	p.dead = true
	s.stats.kills++
	s.freeGuard(p)
	s.note("kill", p, "", "")
	s.wake(p)
}

func (s *sim) wake(p *simProc) {
	p.resume <- struct{}{}
	<-s.yielded
}

func (p *simProc) Now() time.Time {
	return simEpoch.Add(p.s.now + p.machine.skew)
}

func (p *simProc) Boot() time.Duration { return p.s.now - p.machine.since + time.Hour }

// alive is asked about processes of p's own machine, boot and namespace.
func (p *simProc) alive(pid int, start uint64) proc.Liveness {
	for _, q := range p.s.procs {
		if !q.dead && q.machine == p.machine && q.ns == p.ns && q.pid == pid && (start == 0 || q.start == start) {
			return proc.Living
		}
	}
	return proc.Dead
}

type simRand struct{ s *sim }

func (r simRand) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.s.rng.Uint32())
	}
	return len(b), nil
}

// simGuard is the kernel lock.
type simGuard struct{ p *simProc }

func (g simGuard) Lock(_ context.Context, _ bool, patience time.Duration) (func(), bool, error) {
	p, s := g.p, g.p.s
	p.step()
	if p.dead {
		return nil, false, errDead
	}
	if !s.guarded {
		return func() {}, true, nil
	}
	for s.guard != nil {
		if patience == 0 || !s.quiet && s.chance(3) {
			return nil, false, fault.New(fault.LockHeld, "reason", "guard_busy")
		}
		p.step()
	}
	s.guard = p
	return func() { s.freeGuard(p) }, true, nil
}

var errDead = errors.New("dead")

// simFiles and simDisk are the lock directory.
type simFiles struct{ p *simProc }

// Read opens a file, and reads it when much may have happened to it.
func (f simFiles) Read(name string) ([]byte, time.Time, flock.Flaw, error) {
	s := f.p.s
	f.p.step()
	if f.p.dead {
		return nil, time.Time{}, "", errDead
	}
	if !s.quiet && s.chance(1) {
		s.stats.faults++
		return nil, time.Time{}, "", syscall.EIO
	}
	file, ok := s.files[name]
	if !ok {
		return nil, time.Time{}, "", fs.ErrNotExist
	}
	size, mtime := len(file.data), simEpoch.Add(file.mtime)
	if !s.quiet && s.chance(5) {
		f.p.until = s.now + s.between(0, simTTL/10)
	}
	f.p.step()
	if f.p.dead {
		return nil, time.Time{}, "", errDead
	}
	return file.data[:min(size, len(file.data))], mtime, "", nil
}

func (f simFiles) List() ([]string, error) {
	var names []string
	for name := range f.p.s.files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

func (f simFiles) Now() (time.Time, error) { return simEpoch.Add(f.p.s.now), nil }

func (f simFiles) Touch(name string, t time.Time) error {
	f.p.s.files[name].mtime = t.Sub(simEpoch)
	return nil
}

func (f simFiles) Shared() bool { return f.p.s.kind != oneMachine }

type simDisk struct{ p *simProc }

// op gives way, then fails now and then, sometimes after having worked.
func (d simDisk) op(work func() error) error {
	d.p.step()
	switch s := d.p.s; {
	case d.p.dead:
		return errDead
	case !s.quiet && s.chance(2):
		s.stats.faults++
		return syscall.ENOSPC
	case !s.quiet && s.chance(1):
		s.stats.faults++
		_ = work()
		return syscall.EIO
	}
	return work()
}

func (d simDisk) Create(path string, _ fs.FileMode) (atomicfile.File, error) {
	name := filepath.Base(path)
	f := &simFile{mtime: d.p.s.now}
	err := d.op(func() error {
		if _, there := d.p.s.files[name]; there {
			return fs.ErrExist
		}
		d.p.s.files[name] = f
		return nil
	})
	return &simHandle{d: d, name: name, file: f}, err
}

func (d simDisk) Rename(from, to string) error {
	return d.op(func() error {
		from, to := filepath.Base(from), filepath.Base(to)
		if d.p.s.files[from] == nil {
			return fs.ErrNotExist
		}
		d.p.replaces(to, d.p.s.files[from].data)
		d.p.s.files[to] = d.p.s.files[from]
		delete(d.p.s.files, from)
		d.p.published(to)
		return nil
	})
}

func (d simDisk) Remove(path string) error {
	return d.op(func() error {
		if _, there := d.p.s.files[filepath.Base(path)]; !there {
			return fs.ErrNotExist
		}
		d.p.replaces(filepath.Base(path), nil)
		delete(d.p.s.files, filepath.Base(path))
		return nil
	})
}

func (d simDisk) SyncDir(string) error { panic("locks are not synced") }

type simHandle struct {
	d    simDisk
	name string
	file *simFile
}

func (h *simHandle) Name() string { return h.name }
func (h *simHandle) Sync() error  { panic("locks are not synced") }
func (h *simHandle) Close() error { return h.d.op(func() error { return nil }) }

// Write takes two steps; who dies between them leaves half of it.
func (h *simHandle) Write(b []byte) (int, error) {
	half := len(b) / 2
	for _, part := range [][]byte{b[:half], b[half:]} {
		if err := h.d.op(func() error { h.add(part); return nil }); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (h *simHandle) add(part []byte) {
	data := slices.Concat(h.file.data, part)
	h.d.p.replaces(h.name, data)
	h.file.data, h.file.mtime = data, h.d.p.s.now
	h.d.p.published(h.name)
}
