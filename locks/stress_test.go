//go:build unix

package locks

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

var (
	stressFor = flag.Duration("stress", 0, "how long to stress real processes (0: 8s, or 2s with -short)")
	procs     = flag.Int("procs", 0, "how many processes at once (0: 60, or 40 with -short)")
)

// selfManager is a manager of this process with everything real.
func selfManager(dir string) *Manager {
	return Open(Options{Dir: dir, Clock: proc.ClockOf(time.Now, proc.BootClock), Self: proc.Self()})
}

// oracle is an independent witness: a kernel lock that a holder takes while it
// holds, and that goes when the last thread of its process is gone.
func oracle(dir, name string) (fd int, alone bool) {
	fd, err := unix.Open(filepath.Join(dir, "oracle."+name), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	if err != nil {
		panic(err)
	}
	return fd, unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
}

const stressNames = 3

// stressChild takes locks, dies with one now and then, and says what it saw:
// A acquired, T taken over, D double holder, E error.
func stressChild(args []string) {
	dir, naive := args[0], args[1] == "naive"
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 5) // the killer must get its turn
	m := selfManager(filepath.Join(dir, "locks"))
	waitForEnd()                                                             // all are there: none keeps the processor from those that are starting
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // where nobody ends it
	defer cancel()
	for ctx.Err() == nil {
		stressOnce(ctx, m, dir, naive)
		if rand.IntN(20) == 0 {
			_, _ = m.Sweep(ctx)
		}
	}
}

// refusedFairly: somebody holds the lock, or so many ask at once that the guard
// was not to be had within its patience, which a busy machine may bring about.
func refusedFairly(err error) bool {
	f, ok := fault.As(err)
	return ok && (f.Code == fault.RunInProgress || f.Code == fault.LockHeld && f.Facts["reason"] == "guard_busy")
}

func stressOnce(ctx context.Context, m *Manager, dir string, naive bool) {
	name := fmt.Sprint("RQ-", rand.IntN(stressNames))
	letGo, took, err := stressAcquire(ctx, m, name, naive)
	switch {
	case err != nil && ctx.Err() != nil:
		return
	case err != nil && !refusedFairly(err):
		say("E " + err.Error())
		return // without the lock: others may well hold it
	case err != nil:
		time.Sleep(rand.N(backOff(naive)))
		return
	}
	fd, alone := oracle(dir, name)
	switch {
	case !alone:
		say("D")
	case took:
		say("T")
	default:
		say("A")
	}
	if rand.IntN(10) == 0 {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	time.Sleep(rand.N(time.Millisecond))
	_ = unix.Close(fd)
	letGo()
}

// backOff keeps 200 processes from only polling. The unsound way is to be
// caught soon, so there they may.
func backOff(naive bool) time.Duration {
	if naive {
		return 50 * time.Millisecond
	}
	return 500 * time.Millisecond
}

func stressAcquire(ctx context.Context, m *Manager, name string, naive bool) (letGo func(), took bool, err error) {
	if naive {
		took, err = naiveTake(m, Request(name))
		return func() { _ = os.Remove(m.path(Request(name))) }, took, err
	}
	l, err := m.Acquire(ctx, Request(name), Ask{})
	if err != nil {
		return nil, false, err
	}
	return func() {
		if err := l.Release(); err != nil && !refusedFairly(err) {
			say("E release: " + err.Error())
		}
	}, l.recovered != nil, nil
}

// naiveTake removes what it judged dead and creates exclusively.
func naiveTake(m *Manager, k Key) (took bool, err error) {
	e, found, err := m.look(k, false)
	if err != nil || found && e.Live {
		return false, errors.Join(fault.New(fault.RunInProgress), err)
	}
	if found {
		_ = os.Remove(e.Path)
	}
	rec := m.newRecord(k, "", m.clock.Now())
	rec.Token = "naive"
	_, err = m.publish(k, rec, true)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		err = fault.New(fault.RunInProgress)
	}
	return found, err
}

func say(s string) { _, _ = os.Stdout.WriteString(s + "\n") }

// stress is one run: many children, one parent that kills them.
type stress struct {
	t        *testing.T
	dir      string
	mode     string
	out      *os.File
	begin    *os.File // children begin when it ends
	began    time.Time
	children []*os.Process
	counts   map[byte]int
	kills    int
	stops    int
	errors   []string
}

func (s *stress) spawn() {
	cmd := roleCommand("stress", s.dir, s.mode)
	cmd.Stdin, cmd.Stdout = s.begin, s.out
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.children = append(s.children, cmd.Process)
}

// harm kills a child at random, or stops it for a while, and replaces the dead.
func (s *stress) harm(population int) {
	i := rand.IntN(len(s.children))
	child := s.children[i]
	if rand.IntN(4) == 0 {
		_ = child.Signal(unix.SIGSTOP)
		s.stops++
		time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = child.Signal(unix.SIGCONT) })
		return
	}
	_ = child.Kill()
	_, _ = child.Wait()
	s.kills++
	s.children = append(s.children[:i], s.children[i+1:]...)
	for len(s.children) < population {
		s.spawn()
	}
}

// run goes on until enough says so, or to its limit.
func (s *stress) run(population int, limit time.Duration, enough func() bool) {
	read, write, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	begin, hold, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.out, s.begin, s.counts = write, begin, map[byte]int{}
	for range population {
		s.spawn()
	}
	s.began = time.Now()
	_ = hold.Close()
	seen := make(chan string, 1024)
	go func() {
		defer close(seen)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			seen <- lines.Text()
		}
	}()
	deadline, tick := time.After(limit), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for over := false; !over && !enough(); {
		select {
		case line := <-seen:
			s.count(line)
		case <-tick.C:
			s.harm(population)
		case <-deadline:
			over = true
		}
	}
	for _, c := range s.children {
		_ = c.Kill()
	}
	for _, c := range s.children {
		_, _ = c.Wait()
	}
	_ = write.Close()
	_ = begin.Close()
	for line := range seen {
		s.count(line)
	}
}

func (s *stress) count(line string) {
	s.counts[line[0]]++
	if line[0] == 'E' {
		s.errors = append(s.errors, line)
	}
}

func stressSize() (int, time.Duration) {
	n, d := 60, 8*time.Second
	if testing.Short() {
		n, d = 40, 2*time.Second
	}
	if *procs > 0 {
		n = *procs
	}
	if *stressFor > 0 {
		d = *stressFor
	}
	return n, d
}

func TestStressRealProcesses(t *testing.T) {
	n, d := stressSize()
	s := &stress{t: t, dir: t.TempDir(), mode: "sound"}
	s.run(n, d+5*time.Minute, func() bool { // a slow machine may need longer until somebody dies in time
		return time.Since(s.began) > d && s.counts['T'] >= 20 && s.kills > 0
	})
	t.Logf("%d processes, %v: %d acquired, %d of them taken over, %d killed, %d stopped, %d double holders",
		n, time.Since(s.began).Round(time.Second), s.counts['A']+s.counts['T']+s.counts['D'], s.counts['T'], s.kills, s.stops, s.counts['D'])
	if s.counts['D'] != 0 || len(s.errors) != 0 {
		t.Errorf("%d double holders, errors %q", s.counts['D'], s.errors)
	}
	if s.counts['T'] == 0 || s.kills == 0 {
		t.Errorf("too quiet: %v", s.counts)
	}
	s.afterwards()
}

// afterwards: everybody is dead, so everything is free and can be swept.
func (s *stress) afterwards() {
	m := selfManager(filepath.Join(s.dir, "locks"))
	for i := range stressNames {
		l, err := m.Acquire(context.Background(), Request(fmt.Sprint("RQ-", i)), Ask{Wait: 5 * time.Second})
		if err != nil {
			s.t.Errorf("not free afterwards: %v", err)
			continue
		}
		if err := l.Release(); err != nil {
			s.t.Error(err)
		}
	}
	if _, err := m.Sweep(context.Background()); err != nil {
		s.t.Error(err)
	}
	if left, _ := m.files.List(); !slices.Equal(left, []string{flock.GuardName}) {
		s.t.Errorf("left over: %v", left)
	}
}

func TestStressControlRemoveThenCreateIsCaught(t *testing.T) {
	s := &stress{t: t, dir: t.TempDir(), mode: "naive"}
	if err := os.Mkdir(filepath.Join(s.dir, "locks"), 0o777); err != nil {
		t.Fatal(err)
	}
	n, _ := stressSize()
	s.run(n, 5*time.Minute, func() bool { return s.counts['D'] > 0 })
	t.Logf("%v, %d kills", s.counts, s.kills)
	if s.counts['D'] == 0 {
		t.Error("two holders were never seen: this test cannot find what it is for")
	}
}

// hold takes a request's lock and says so until its stdin ends.
func hold(args []string) {
	m := selfManager(args[0])
	l, err := m.Acquire(context.Background(), Request(args[1]), Ask{RunID: "RUN-1"})
	if err != nil {
		say("E " + err.Error())
		return
	}
	say("READY " + l.token)
	waitForEnd()
}

func waitForEnd() { _, _ = bufio.NewReader(os.Stdin).ReadString(0) }

// ask says what it gets when it asks for a lock.
func ask(args []string) {
	if mask, err := strconv.ParseInt(args[2], 8, 32); err == nil {
		unix.Umask(int(mask))
	}
	m := selfManager(args[0])
	l, err := m.Acquire(context.Background(), Request(args[1]), Ask{})
	if err != nil {
		say(err.Error())
		return
	}
	say("TAKEN")
	waitForEnd()
	_ = l.Release()
}
