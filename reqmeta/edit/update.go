package edit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// maxRaces is how often a file may change under our hands before Update gives
// up.
const maxRaces = 5

// Update applies SetValues to the file of r on disk and gives the bytes before and
// after. A link is followed as long as it stays in the file's folder; the mode
// is kept; when nothing changes, nothing is written. suffix must be unique
// among concurrent writers.
//
// Writers of ours come one after the other (see alone). The file is read again
// just before it is replaced, so that the edit of an editor in between is not
// lost either.
func Update(disk atomicfile.Disk, root string, r *reqmeta.Request, values map[string]string, now time.Time, suffix string) (before, after []byte, err error) {
	return Rewrite(disk, root, r, func(before []byte) ([]byte, error) { return SetValues(r, before, values, now) }, suffix)
}

// Rewrite is Update with any change of a text.
func Rewrite(disk atomicfile.Disk, root string, r *reqmeta.Request, change func(before []byte) ([]byte, error), suffix string) (before, after []byte, err error) {
	path := r.Path
	if err := OneName(r); err != nil {
		return nil, nil, err
	}
	dir, name := filepath.Split(filepath.Join(root, filepath.FromSlash(path)))
	target, err := insideTarget(dir, name)
	if err != nil {
		return nil, nil, unread(root, r, err)
	}
	defer alone(dir)()
	read := func() ([]byte, error) { return reqmeta.ReadInside(dir, name) }
	before, after, err = rewrite(disk, target, path, read, change, suffix)
	if cause, ok := errors.AsType[*unreadable](err); ok {
		err = unread(root, r, cause.error)
	}
	return before, after, err
}

// unreadable is why a file could not be read that shall be written.
type unreadable struct{ error }

// rewrite changes the file at target, which read reads, for who is alone.
func rewrite(disk atomicfile.Disk, target, path string, read func() ([]byte, error), change func(before []byte) ([]byte, error), suffix string) (before, after []byte, err error) {
	for range maxRaces {
		if before, err = read(); err != nil {
			return nil, nil, &unreadable{err}
		}
		after, err = change(before)
		if err != nil || bytes.Equal(before, after) {
			return before, after, err
		}
		if again, err := read(); err == nil && bytes.Equal(again, before) {
			return before, after, replace(disk, target, path, after, suffix)
		}
	}
	return before, nil, refused(nil, fault.Conflict, path)
}

// OneName refuses a file with two equal names, of which a write would make two files.
func OneName(r *reqmeta.Request) error {
	for _, p := range r.Problems {
		if p.Kind == "hard_link" {
			return reqmeta.Refuse(fault.RequestInvalidFormat, r.Path, &p)
		}
	}
	return nil
}

// maxWaits is how many milliseconds a writer waits for the others.
const maxWaits = 2000

// alone waits until no other process or goroutine updates a file in dir, and
// keeps them out until release. It leaves nothing on disk and ends with the
// process. Where folders cannot be locked everybody goes on at once.
func alone(dir string) (release func()) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	for range maxWaits {
		if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK && err != unix.EINTR {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return func() { _ = unix.Close(fd) }
}

func codeOf(err error) fault.Code {
	if os.IsNotExist(err) {
		return fault.RequestNotFound
	}
	return fault.RequestInvalidFormat
}

// unread is why the file of r could not be read: what was found wrong with it
// already, if something was and it is there.
func unread(root string, r *reqmeta.Request, err error) error {
	if p := r.FirstError(); p != nil && reqmeta.IsThere(root, r) {
		return reqmeta.Refuse(fault.RequestInvalidFormat, r.Path, p)
	}
	return refused(err, codeOf(err), r.Path)
}

func refused(err error, code fault.Code, path string) error {
	return fault.Wrap(err, code, "path", path, "id", reqmeta.Stem(path))
}

// insideTarget resolves dir/name, which must not lead out of dir.
func insideTarget(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if _, err := root.Stat(name); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(filepath.Join(dir, name))
}

func replace(disk atomicfile.Disk, target, path string, data []byte, suffix string) error {
	err := atomicfile.Write(disk, target, data, atomicfile.Options{TempSuffix: suffix})
	if f, ok := fault.As(err); ok {
		return f
	}
	if err != nil {
		return fault.NotWritable(err, path)
	}
	return nil
}
