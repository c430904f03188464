package folder

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// manyFiles is how many take longer to read than a goroutine takes to start.
const manyFiles = 64

// firstRead is how much of a file is read at first: most files fit.
const firstRead = 4 << 10

// file is one that was listed, and the request that is made of it.
type file struct {
	path   string
	r      *reqmeta.Request
	stamp  *stamp      // as it was when it was read; nil: nobody asked
	ino    uint64      // of a file that has more names than this one; else 0
	kind   fs.FileMode // type bits
	taken  bool        // from the cache; else it was read
	record int32       // number of the record that it was taken from
}

// Load reads every request file in root/requestsDir and its sub-folders; which
// files are requests see IsRequest. Call Keep when there is time: it writes the cache.
func (c Cache) Load(root, requestsDir string, ignore ...string) (*Folder, error) {
	dir := filepath.Join(root, requestsDir)
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, noDir(err, dir)
	}
	defer unix.Close(fd)
	f := &Folder{Root: root, Dir: path.Clean(filepath.ToSlash(requestsDir)), mapping: c.Mapping}
	l := loader{c: c, f: f, fd: fd, dir: dir, ignore: ignore}
	if err := l.load(); err != nil {
		return nil, noDir(err, dir)
	}
	f.index()
	return f, nil
}

func noDir(err error, at string) error { return fault.Wrap(err, fault.RequestsDirNotFound, "path", at) }

// reader reads files of one folder into one buffer.
type reader struct {
	fd     int
	prefix int  // length of the folder's part of a path
	ask    bool // for the stamp of each file, before its first byte is read
	buf    []byte
}

func (rd *reader) read(e *file) {
	r := e.r
	if !reqmeta.CheckID(r.ID) {
		r.BadName()
	}
	name := r.Path[rd.prefix:]
	switch {
	case e.kind == fs.ModeDir:
		r.Fail("is_directory", 0)
	case e.kind == fs.ModeSymlink: // see oneEach
	case e.kind != 0:
		r.Fail("not_regular", 0)
	default:
		rd.readFile(e, name)
	}
}

// readFile never blocks and never follows a link, whatever the name has become
// since the folder was listed.
func (rd *reader) readFile(e *file, name string) {
	r := e.r
	fd, err := openat(rd.fd, name)
	if err != nil {
		r.Fail("unreadable", 0, "cause", err.Error())
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		if st.Nlink > 1 {
			e.ino = uint64(st.Ino)
		}
		if rd.ask {
			s := stampOf(&st)
			e.stamp = &s
		}
	}
	n, err := read(fd, rd.buf)
	if err != nil {
		r.Fail("unreadable", 0, "cause", err.Error())
		return
	}
	if n < len(rd.buf) {
		r.Read(rd.buf[:n])
		return
	}
	rd.readLong(r, fd, n)
}

// readLong goes on with a file of which n bytes fill the buffer.
func (rd *reader) readLong(r *reqmeta.Request, fd, n int) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		r.Fail("unreadable", 0, "cause", err.Error())
		return
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		r.Fail("not_regular", 0)
		return
	}
	if st.Size > reqmeta.MaxFile {
		r.Fail("file_too_large", 0, "limit", reqmeta.MaxFile)
		return
	}
	for n <= reqmeta.MaxFile {
		if n == len(rd.buf) {
			rd.buf = append(rd.buf, make([]byte, n)...)
		}
		more, err := read(fd, rd.buf[n:])
		if err != nil {
			r.Fail("unreadable", 0, "cause", err.Error())
			return
		}
		if more == 0 {
			break
		}
		n += more
	}
	r.Read(rd.buf[:n])
}

func openat(dirfd int, name string) (int, error) {
	for {
		fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func read(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// Read reads the whole file of r, body and all. Of one that is there and cannot be
// read it says what was found wrong with it.
func (f *Folder) Read(r *reqmeta.Request) ([]byte, error) {
	data, err := reqmeta.ReadInside(filepath.Join(f.Root, f.Dir), strings.TrimPrefix(r.Path, f.prefix()))
	if err == nil {
		return data, nil
	}
	if p := r.FirstError(); p != nil && reqmeta.IsThere(f.Root, r) {
		return nil, reqmeta.Refuse(fault.RequestInvalidFormat, r.Path, p)
	}
	return nil, notFound(err, r.ID, "path", r.Path)
}
