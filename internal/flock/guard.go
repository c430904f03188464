// Package flock has what locks in files are made of: the guard under which a
// record is read, judged and replaced, held by flock(2), and the reading of a
// record's file, which may be anything that lies there.
//
// Of what a record says it knows only the version, and it does not write one.
package flock

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
)

// GuardName is the file whose kernel lock is held around every
// read-decide-replace. It is never deleted: a waiter would hold a lock on a
// file that nobody else can see.
const GuardName = ".guard"

// Patience is how long a stopped holder of the guard is waited for.
const Patience = 10 * time.Second

// Guard excludes every other read-decide-replace of a directory.
type Guard interface {
	// Lock returns how to unlock. firm is false where the file system has no
	// working flock(2). create makes a missing directory. patience bounds the
	// wait for a stopped holder (then LOCK_HELD with the reason guard_busy); 0
	// takes only what is free (else ErrBusy).
	Lock(ctx context.Context, create bool, patience time.Duration) (unlock func(), firm bool, err error)
}

// ErrBusy says that the guard is not free and was not waited for.
var ErrBusy = errors.New("the guard is not free")

// flockGuard keeps its file open. flock(2) belongs to the open file, so that
// goroutines take turns first; the kernel lets go when the process dies.
type flockGuard struct {
	path string
	turn chan struct{} // full while a goroutine has the guard
	file *os.File      // nil: not open; closed with the last manager that has it
	fd   int
	id   [2]uint64 // device and inode
}

// New is the guard of a directory. It touches no file.
func New(dir string) Guard {
	return &flockGuard{path: filepath.Join(dir, GuardName), turn: make(chan struct{}, 1)}
}

func (g *flockGuard) Lock(ctx context.Context, create bool, patience time.Duration) (unlock func(), firm bool, err error) {
	select {
	case g.turn <- struct{}{}:
		if got, firm := g.takeNow(create); got {
			return func() { g.letGo(firm) }, firm, nil
		}
		<-g.turn
	default:
	}
	if patience <= 0 {
		return nil, false, ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false, g.busy(ctx)
	}
	firm, err = g.take(ctx, create)
	if err != nil {
		<-g.turn
		return nil, false, err
	}
	return func() { g.letGo(firm) }, firm, nil
}

// takeNow takes a guard that is free, which it nearly always is.
func (g *flockGuard) takeNow(create bool) (got, firm bool) {
	if g.open(create) != nil {
		return false, false
	}
	switch err := unix.Flock(g.fd, unix.LOCK_EX|unix.LOCK_NB); {
	case noFlock(err):
		return true, false
	case err != nil:
		return false, false
	case g.same():
		return true, true
	}
	g.close()
	return false, false
}

func (g *flockGuard) take(ctx context.Context, create bool) (firm bool, err error) {
	for {
		if err := g.open(create); err != nil {
			return false, err
		}
		switch err := wait(ctx, g.fd); {
		case noFlock(err):
			return false, nil
		case ctx.Err() != nil:
			return false, g.busy(ctx)
		case err != nil:
			return false, fault.NotWritable(err, g.path)
		case g.same():
			return true, nil
		}
		g.close() // somebody deleted it after all
	}
}

func (g *flockGuard) busy(ctx context.Context) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fault.New(fault.LockHeld, "path", g.path, "reason", "guard_busy")
}

// letGo unlocks by name and not by closing: a child that is just being started
// may still share the open file.
func (g *flockGuard) letGo(firm bool) {
	if firm {
		_ = unix.Flock(g.fd, unix.LOCK_UN)
	}
	<-g.turn
}

func (g *flockGuard) open(create bool) error {
	if g.file != nil {
		return nil
	}
	fd, err := openGuard(g.path, create)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return fault.NotWritable(err, g.path)
	}
	g.file, g.fd, g.id = os.NewFile(uintptr(fd), g.path), fd, identity(st)
	return nil
}

func (g *flockGuard) close() {
	_ = g.file.Close()
	g.file = nil
}

// same reports whether the path still names the open file.
func (g *flockGuard) same() bool {
	var st unix.Stat_t
	return unix.Lstat(g.path, &st) == nil && identity(st) == g.id
}

func identity(st unix.Stat_t) [2]uint64 { return [2]uint64{uint64(st.Dev), st.Ino} }

func openGuard(path string, create bool) (int, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := open(path, flags)
	if create && errors.Is(err, unix.ENOENT) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return -1, cmp.Or[error](Usable(filepath.Dir(path)), fault.NotWritable(err, filepath.Dir(path)))
		}
		fd, err = open(path, flags)
	}
	if err != nil {
		return -1, cmp.Or[error](Usable(filepath.Dir(path)), fault.NotWritable(err, path))
	}
	return fd, nil
}

// Usable tells what keeps everybody from the guard of a directory: something else in
// the place of it or of the directory, or a missing permission (PATH_NOT_WRITABLE).
// What is only missing will be made.
func Usable(dir string) error {
	guard := filepath.Join(dir, GuardName)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if _, err := os.Lstat(dir); err == nil {
			return fault.NotWritable(nil, dir, "odd", dir)
		}
		return nil
	}
	switch info, err := os.Lstat(guard); {
	case err != nil:
		return nil
	case !info.Mode().IsRegular():
		return fault.NotWritable(nil, guard, "odd", guard)
	}
	if err := unix.Access(guard, unix.R_OK|unix.W_OK); err != nil {
		return fault.NotWritable(err, guard)
	}
	return nil
}

func open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags, 0o666)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// wait polls instead of blocking, so that a stopped process that holds the
// guard stops nobody for ever.
func wait(ctx context.Context, fd int) error {
	pause := 50 * time.Microsecond
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			return err
		}
		select {
		case <-time.After(pause + rand.N(pause)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, 5*time.Millisecond)
	}
}

func noFlock(err error) bool {
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) ||
		errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}
