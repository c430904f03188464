package atomicfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// What a disk may be able to do beside Disk. Whoever wants it asks whether this
// one can, and has another way.

// Reuser writes over a file that is there and gives it a second name.
type Reuser interface {
	// Reuse opens path to be written over from its start, and says how long it
	// is; one that is missing is made. It must be a plain file of ours without a
	// second name: ErrInUse, if it is not. Nothing is cut off.
	Reuse(path string, perm fs.FileMode) (f File, size int64, err error)
	Link(from, to string) error
}

// Exchanger lets two files change places in one step.
type Exchanger interface {
	Exchange(a, b string) error
}

// ErrInUse is a file that must not be written over: it has a second name, is
// another user's, or is no plain file.
var ErrInUse = errors.New("the file must not be written over")

// Reuse never follows a link and never blocks.
func (d OS) Reuse(path string, perm fs.FileMode) (File, int64, error) {
	fd, err := openOver(path)
	if err == unix.ENOENT {
		f, err := d.Create(path, perm)
		return f, 0, err
	}
	if err != nil {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && !reusable(&st) {
		err = ErrInUse
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, 0, &fs.PathError{Op: "reuse", Path: path, Err: err}
	}
	return &file{fd, path}, st.Size, nil
}

func openOver(path string) (int, error) {
	const flags = unix.O_WRONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	for {
		fd, err := unix.Open(path, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func reusable(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && int(st.Uid) == unix.Geteuid()
}

// Link is link(2).
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Exchange is renameat2(2) with RENAME_EXCHANGE, or what the system has for it.
func (OS) Exchange(a, b string) error {
	if err := exchange(a, b); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
