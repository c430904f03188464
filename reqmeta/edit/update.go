package edit

import (
	"bytes"
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

// Update applies SetValues to root/path on disk and gives the bytes before and
// after. A link is followed as long as it stays in the file's folder; the mode
// is kept; when nothing changes, nothing is written. suffix must be unique
// among concurrent writers.
//
// Writers of ours come one after the other (see alone). The file is read again
// just before it is replaced, so that the edit of an editor in between is not
// lost either.
func Update(disk atomicfile.Disk, root, path string, values map[string]string, now time.Time, suffix string) (before, after []byte, err error) {
	dir, name := filepath.Split(filepath.Join(root, filepath.FromSlash(path)))
	target, err := insideTarget(dir, name)
	if err != nil {
		return nil, nil, fault.Wrap(err, codeOf(err), "path", path, "id", reqmeta.Stem(path))
	}
	defer alone(dir)()
	for range maxRaces {
		if before, err = reqmeta.ReadInside(dir, name); err != nil {
			return nil, nil, fault.Wrap(err, codeOf(err), "path", path, "id", reqmeta.Stem(path))
		}
		after, err = SetValues(path, before, values, now)
		if err != nil || bytes.Equal(before, after) {
			return before, after, err
		}
		if again, err := reqmeta.ReadInside(dir, name); err == nil && bytes.Equal(again, before) {
			return before, after, replace(disk, target, path, after, suffix)
		}
	}
	return before, nil, fault.New(fault.Conflict, "path", path, "id", reqmeta.Stem(path))
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
	if err := atomicfile.Write(disk, target, data, atomicfile.Options{TempSuffix: suffix}); err != nil {
		return fault.Of(err, fault.PathNotWritable, "path", path)
	}
	return nil
}
