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

// files reads the lock directory. (Writing goes through atomicfile.Disk.)
type files interface {
	// read gives a record's bytes and its file's time, a flaw when it is no
	// plain readable file, or fs.ErrNotExist.
	read(name string) (data []byte, mtime time.Time, f flaw, err error)
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

// read never follows a link and never blocks: a FIFO or a device is found out
// before it is read.
func (d *osFiles) read(name string) ([]byte, time.Time, flaw, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := openRetry(d.dir+"/"+name, flags)
	if err != nil {
		f, err := openFlaw(err)
		return nil, time.Time{}, f, err
	}
	defer unix.Close(fd)
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
