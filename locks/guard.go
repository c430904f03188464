package locks

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
)

// guardName is the file whose kernel lock is held around every
// read-decide-replace. It is never deleted: a waiter would hold a lock on a
// file that nobody else can see.
const guardName = ".guard"

// guardPatience is how long a stopped holder of the guard is waited for.
const guardPatience = 10 * time.Second

// guard excludes every other read-decide-replace of a directory.
type guard interface {
	// lock returns how to unlock. firm is false where the file system has no
	// working flock(2). create makes a missing directory.
	lock(ctx context.Context, create bool) (unlock func(), firm bool, err error)
}

// flockGuard opens the guard anew each time: flock(2) belongs to the open
// file, so goroutines exclude each other as processes do, and the kernel lets
// go when the process dies.
type flockGuard struct{ dir string }

func (g *flockGuard) lock(ctx context.Context, create bool) (func(), bool, error) {
	path := filepath.Join(g.dir, guardName)
	for {
		fd, err := openGuard(path, create)
		if err != nil {
			return nil, false, err
		}
		switch err := wait(ctx, fd); {
		case noFlock(err):
			_ = unix.Close(fd)
			return func() {}, false, nil
		case errors.Is(ctx.Err(), context.Canceled):
			_ = unix.Close(fd)
			return nil, false, context.Cause(ctx)
		case err != nil:
			_ = unix.Close(fd)
			return nil, false, fault.Wrap(err, fault.LockHeld, "path", path, "reason", "guard_busy")
		}
		if same(fd, path) {
			return func() { letGo(fd) }, true, nil
		}
		_ = unix.Close(fd) // somebody deleted it after all
	}
}

// letGo unlocks by name: a child that is just being started may still share
// the open file.
func letGo(fd int) {
	_ = unix.Flock(fd, unix.LOCK_UN)
	_ = unix.Close(fd)
}

func openGuard(path string, create bool) (int, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := openRetry(path, flags)
	if create && errors.Is(err, unix.ENOENT) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return -1, diskFault(err, filepath.Dir(path))
		}
		fd, err = openRetry(path, flags)
	}
	if err != nil {
		return -1, diskFault(err, path)
	}
	return fd, nil
}

func openRetry(path string, flags int) (int, error) {
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
	ctx, cancel := context.WithTimeout(ctx, guardPatience)
	defer cancel()
	pause := 50 * time.Microsecond
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			return err
		}
		if err := sleep(ctx, pause+rand.N(pause)); err != nil {
			return err
		}
		pause = min(2*pause, 5*time.Millisecond)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func noFlock(err error) bool {
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) ||
		errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}

// same reports whether path still names the file that is open as fd.
func same(fd int, path string) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Lstat(path, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// diskFault is the fault for a file that could not be written.
func diskFault(err error, path string) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fault.Wrap(err, fault.DiskFull, "path", path)
	}
	return fault.Wrap(err, fault.PathNotWritable, "path", path)
}
