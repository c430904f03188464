package locks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxRecord is more than any record needs and little enough to read always.
const maxRecord = 64 << 10

// reader reads the records of one directory.
type reader interface {
	// read gives a record's bytes and its file's time, a flaw when it is no
	// plain readable file, or fs.ErrNotExist.
	read(name string) (data []byte, mtime time.Time, f flaw, err error)
}

// files reads the lock directory. (Writing goes through atomicfile.Disk.)
type files interface {
	reader
	// many is a reader for one goroutine that will read many records. The bytes
	// that it gives are good until its next read, and a time of zero is one that
	// it did not ask for.
	many() (r reader, done func())
	// list names everything in the directory, sorted; none when it is missing.
	list() ([]string, error)
	// now is the file system's own clock: the time of a file just made.
	now() (time.Time, error)
	// touch sets a file's time.
	touch(name string, t time.Time) error
	// shared reports whether other machines may see the directory.
	shared() bool
}

type osFiles struct {
	dir    string
	once   sync.Once
	remote bool
}

// readFlags never follow a link and never block.
const readFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY

func (d *osFiles) read(name string) ([]byte, time.Time, flaw, error) {
	fd, err := openRetry(unix.AT_FDCWD, d.dir+"/"+name, readFlags)
	if err != nil {
		f, err := openFlaw(err)
		return nil, time.Time{}, f, err
	}
	defer unix.Close(fd)
	return readOpen(fd)
}

// many keeps the directory open: its path need not be walked for each record.
func (d *osFiles) many() (reader, func()) {
	fd, err := openRetry(unix.AT_FDCWD, d.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return d, func() {}
	}
	return &folder{fd: fd, buf: make([]byte, 4<<10)}, func() { _ = unix.Close(fd) }
}

// folder is an open directory and room for one record.
type folder struct {
	fd  int
	buf []byte
}

// read spares what has the usual size the question what it is: a read from a
// place fails for a FIFO, a socket and a directory.
func (o *folder) read(name string) ([]byte, time.Time, flaw, error) {
	fd, err := openRetry(o.fd, name, readFlags)
	if err != nil {
		f, err := openFlaw(err)
		return nil, time.Time{}, f, err
	}
	defer unix.Close(fd)
	if n, err := unix.Pread(fd, o.buf, 0); err == nil && n > 0 && n < len(o.buf) {
		return o.buf[:n], time.Time{}, "", nil
	}
	return readOpen(fd)
}

// readOpen finds out a FIFO or a device before it is read.
func readOpen(fd int) ([]byte, time.Time, flaw, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, time.Time{}, "", err
	}
	mtime := time.Unix(st.Mtim.Unix())
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR:
		return nil, mtime, flawDirectory, nil
	case kind != unix.S_IFREG:
		return nil, mtime, flawNotFile, nil
	case st.Size > maxRecord:
		return nil, mtime, flawTooBig, nil
	}
	data, err := readAll(fd, int(st.Size))
	return data, mtime, "", err
}

func openFlaw(err error) (flaw, error) {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK): // EMLINK: FreeBSD
		return flawSymlink, nil
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP): // sockets
		return flawNotFile, nil
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return flawNoAccess, nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return "", fs.ErrNotExist
	}
	return "", err
}

// readAll reads a plain file of a size that is known: one that was longer by
// now was not replaced whole, and is cut.
func readAll(fd, size int) ([]byte, error) {
	data := make([]byte, size)
	for {
		n, err := unix.Read(fd, data)
		if err != unix.EINTR {
			return data[:max(n, 0)], err
		}
	}
}

func (d *osFiles) list() ([]string, error) {
	f, err := os.Open(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	sort.Strings(names)
	return names, err
}

// now makes a file to see its time, since a file system on another machine has
// a clock of its own.
func (d *osFiles) now() (time.Time, error) {
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

func (d *osFiles) touch(name string, t time.Time) error {
	return os.Chtimes(filepath.Join(d.dir, name), t, t)
}

func (d *osFiles) shared() bool {
	d.once.Do(func() { d.remote = isShared(d.dir) })
	return d.remote
}
