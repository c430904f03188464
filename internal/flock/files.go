package flock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// MaxRecord is more than any record needs and little enough to read always.
const MaxRecord = 64 << 10

// Flaw says why a file is no plain readable one of a record's size. Facts name
// it as "reason".
type Flaw string

// What can be found instead of a record.
const (
	TooBig    Flaw = "too_big"
	Symlink   Flaw = "symlink"
	NotFile   Flaw = "not_a_file"
	Directory Flaw = "directory"
	NoAccess  Flaw = "no_access"
)

func (f Flaw) Error() string { return string(f) }

// Files reads a directory of records. (They are written through
// atomicfile.Disk.)
type Files interface {
	// Read gives a record's bytes and its file's time, a flaw when it is no
	// plain readable file, or fs.ErrNotExist.
	Read(name string) (data []byte, mtime time.Time, f Flaw, err error)
	// List names everything in the directory, sorted; none when it is missing.
	List() ([]string, error)
	// Now is the file system's own clock: the time of a file just made.
	Now() (time.Time, error)
	// Touch sets a file's time.
	Touch(name string, t time.Time) error
	// Shared reports whether other machines may see the directory.
	Shared() bool
}

// In gives the files of a directory on the real disk.
func In(dir string) Files { return &osFiles{dir: dir} }

type osFiles struct {
	dir    string
	once   sync.Once
	remote bool
}

// readFlags never follow a link and never block.
const readFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY

func (d *osFiles) Read(name string) ([]byte, time.Time, Flaw, error) {
	fd, err := open(d.dir+"/"+name, readFlags)
	if err != nil {
		f, err := openFlaw(err)
		return nil, time.Time{}, f, err
	}
	defer unix.Close(fd)
	return readOpen(fd)
}

// readOpen finds out a FIFO or a device before it is read.
func readOpen(fd int) ([]byte, time.Time, Flaw, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, time.Time{}, "", err
	}
	mtime := time.Unix(st.Mtim.Unix())
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR:
		return nil, mtime, Directory, nil
	case kind != unix.S_IFREG:
		return nil, mtime, NotFile, nil
	case st.Size > MaxRecord:
		return nil, mtime, TooBig, nil
	}
	data := make([]byte, st.Size) // one that was longer by now was not replaced whole, and is cut
	for {
		n, err := unix.Read(fd, data)
		if err != unix.EINTR {
			return data[:max(n, 0)], mtime, "", err
		}
	}
}

func openFlaw(err error) (Flaw, error) {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK): // EMLINK: FreeBSD
		return Symlink, nil
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP): // sockets
		return NotFile, nil
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return NoAccess, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return "", fs.ErrNotExist
	}
	return "", err
}

func (d *osFiles) List() ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// now makes a file to see its time, since a file system on another machine has
// a clock of its own.
func (d *osFiles) Now() (time.Time, error) {
	f, err := os.CreateTemp(d.dir, ".probe.tmp-")
	if err != nil {
		return time.Time{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return fi.ModTime(), nil
}

func (d *osFiles) Touch(name string, t time.Time) error {
	return os.Chtimes(filepath.Join(d.dir, name), t, t)
}

func (d *osFiles) Shared() bool {
	d.once.Do(func() { d.remote = isShared(d.dir) })
	return d.remote
}
