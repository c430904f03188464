package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/proc"
	"aiflow/locks"
)

// lock times acquire and release in this process, in turns with the calls of
// the system that it cannot do without.
func (b *bench) lock([]int) error {
	m := locks.Open(locks.Options{
		Dir: filepath.Join(b.work, "locks"), Self: proc.Self(),
		Clock: proc.ClockOf(time.Now, proc.BootClock),
	})
	floor, err := newBareLock(filepath.Join(b.work, "bare-locks"))
	if err != nil {
		return err
	}
	defer floor.close()
	ours := func() error {
		lease, err := m.Acquire(context.Background(), locks.Request("RQ-1"), locks.Ask{})
		if err != nil {
			return err
		}
		return lease.Release()
	}
	var bare, times []time.Duration
	for range 2000 {
		if bare, err = timed(bare, floor.replace); err != nil {
			return err
		}
		if times, err = timed(times, ours); err != nil {
			return err
		}
	}
	head("Lock, 2000 times in one process")
	us := func(d time.Duration) string { return fmt.Sprintf("%.4f", float64(d)/1e6) }
	row := func(name string, list []time.Duration, target string) {
		slices.Sort(list)
		ratio := float64(list[len(list)/2]) / float64(bare[len(bare)/2])
		row(name, us(list[len(list)/2]), us(list[0]), fmt.Sprintf("%.2f", ratio), target)
	}
	row("flock, create, write, rename, read, unlink, bare", bare, "")
	row("acquire and release", times, "3 x bare")
	return nil
}

func timed(list []time.Duration, f func() error) ([]time.Duration, error) {
	start := time.Now()
	err := f()
	return append(list, time.Since(start)), err
}

// bareLock does what a record that is published whole under a kernel lock, read
// again and removed, costs without any rule.
type bareLock struct {
	guard               int
	temp, at, guardPath string
	record              []byte
}

func newBareLock(dir string) (*bareLock, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	l := &bareLock{
		temp: filepath.Join(dir, ".new"), at: filepath.Join(dir, "lock.json"),
		guardPath: filepath.Join(dir, ".guard"), record: make([]byte, 450),
	}
	var err error
	l.guard, err = unix.Open(l.guardPath, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	return l, err
}

func (l *bareLock) close() { _ = unix.Close(l.guard) }

func (l *bareLock) replace() error { return errors.Join(l.guarded(l.publish), l.guarded(l.remove)) }

func (l *bareLock) guarded(f func() error) error {
	var st unix.Stat_t
	err := errors.Join(unix.Flock(l.guard, unix.LOCK_EX), unix.Lstat(l.guardPath, &st), f())
	return errors.Join(err, unix.Flock(l.guard, unix.LOCK_UN))
}

// publish makes a new file and moves it to the name.
func (l *bareLock) publish() error {
	if err := l.missing(); err != nil {
		return err
	}
	fd, err := unix.Open(l.temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, l.record)
	return errors.Join(err, unix.Close(fd), unix.Rename(l.temp, l.at))
}

func (l *bareLock) missing() error {
	if fd, err := unix.Open(l.at, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		return errors.Join(unix.EEXIST, unix.Close(fd))
	}
	return nil
}

func (l *bareLock) remove() error {
	fd, err := unix.Open(l.at, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	_, rerr := unix.Read(fd, l.record)
	return errors.Join(err, rerr, unix.Close(fd), unix.Unlink(l.at))
}
