// Package atomicfile replaces files whole: a reader sees the old bytes or the
// new ones, never a mix, and a failed or killed write leaves the old file.
//
// It does not lock: two writers both succeed and the later rename wins.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// File is an open temporary file.
type File interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

// Disk is the file operations that a whole write needs. Tests pass one that
// fails or stops at a chosen point.
type Disk interface {
	// Create makes a new file that did not exist before.
	Create(path string, perm fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	SyncDir(dir string) error
}

// OS is the real disk.
type OS struct{}

// Create opens path with O_CREATE|O_EXCL and without following a link. It does
// not try to poll the file, as os.OpenFile does with five calls of the system.
func (OS) Create(path string, perm fs.FileMode) (File, error) {
	for {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case err == nil:
			return &file{fd, path}, nil
		case err != unix.EINTR:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// file is a plain file that one goroutine writes: it needs nothing of what
// os.File adds for pipes, deadlines and forgetting to close.
type file struct {
	fd   int
	path string
}

func (f *file) Name() string { return f.path }

func (f *file) Write(b []byte) (n int, err error) {
	for n < len(b) {
		m, err := unix.Write(f.fd, b[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, f.failed("write", err)
		case m == 0:
			return n, f.failed("write", io.ErrUnexpectedEOF)
		}
		n += m
	}
	return n, nil
}

func (f *file) Sync() error {
	for {
		err := flush(f.fd)
		if err != unix.EINTR {
			return f.failed("sync", err)
		}
	}
}

// Close is not tried again after EINTR: the descriptor may be another's by then.
func (f *file) Close() error {
	fd := f.fd
	f.fd = -1
	return f.failed("close", unix.Close(fd))
}

func (f *file) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// Rename is rename(2), without the look at the target that os.Rename takes
// first.
func (OS) Rename(from, to string) error {
	if err := unix.Rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// Remove is unlink(2).
func (OS) Remove(path string) error {
	for {
		err := unix.Unlink(path)
		switch {
		case err == nil:
			return nil
		case err != unix.EINTR:
			return &fs.PathError{Op: "remove", Path: path, Err: err}
		}
	}
}

// Link is link(2), which a Disk need not be able to do.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// SyncDir makes a rename in dir durable. File systems that cannot sync a
// directory (EINVAL, ENOTSUP) are not an error.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// Options say how a file is written.
type Options struct {
	// Perm is the mode of the file, less the umask. 0 keeps mode and, where that
	// is allowed, owner and group of the file that is replaced; where there is
	// none it is 0o666.
	Perm fs.FileMode
	// Exact takes Perm as it is, whatever the umask.
	Exact bool
	// Volatile leaves out both syncs: for records that mean nothing after a
	// power cut (locks).
	Volatile bool
	// TempSuffix tells temporary files of concurrent writers apart; it must be
	// unique among them.
	TempSuffix string
}

// TempMark is in the name of every temporary file: ".<base>.tmp-<suffix>".
const TempMark = ".tmp-"

// IsTemp reports whether name is one of our temporary files.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, TempMark)
}

// Writer reads who was writing from a temporary file's name,
// ".<base>.tmp-<pid>-<random>".
func Writer(name string) (pid int, ok bool) {
	_, suffix, _ := strings.Cut(name, TempMark)
	text, _, more := strings.Cut(suffix, "-")
	pid, err := strconv.Atoi(text)
	return pid, more && err == nil && pid > 0
}

// Write replaces path with data. On an error the old file is untouched and the
// temporary file removed; no failed sync is tried again.
func Write(d Disk, path string, data []byte, o Options) error {
	dir, base := filepath.Split(path)
	tmp := dir + "." + base + TempMark + o.TempSuffix
	to := look(path, o)
	if to.perm&0o111 != 0 { // a child that is forked now would keep a program open for writing: it could not be started
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	if err := writeTemp(d, tmp, data, o, to.perm); err != nil {
		return err
	}
	to.give(tmp)
	if err := d.Rename(tmp, path); err != nil {
		_ = d.Remove(tmp)
		return err
	}
	if o.Volatile {
		return nil
	}
	return d.SyncDir(filepath.Dir(path))
}

// looks are what a file is like for others: who may do what with it.
type looks struct {
	perm  fs.FileMode
	exact bool
	owner *syscall.Stat_t // nil: whoever makes it
}

func look(path string, o Options) looks {
	if o.Perm != 0 {
		return looks{perm: o.Perm, exact: o.Exact}
	}
	fi, err := os.Stat(path)
	if err != nil {
		return looks{perm: 0o666}
	}
	owner, _ := fi.Sys().(*syscall.Stat_t)
	return looks{fi.Mode().Perm(), true, owner}
}

// give makes a new file like l. What the user may not do, or the disk cannot, is
// left out: that is no reason to lose what was written.
func (l looks) give(path string) {
	fi, err := os.Lstat(path)
	if err != nil || !l.exact {
		return
	}
	if now, ok := fi.Sys().(*syscall.Stat_t); ok && l.owner != nil {
		if now.Gid != l.owner.Gid {
			_ = os.Lchown(path, -1, int(l.owner.Gid))
		}
		if now.Uid != l.owner.Uid {
			_ = os.Lchown(path, int(l.owner.Uid), -1)
		}
	}
	if fi.Mode().Perm() != l.perm {
		_ = os.Chmod(path, l.perm)
	}
}

func writeTemp(d Disk, tmp string, data []byte, o Options, perm fs.FileMode) error {
	f, err := d.Create(tmp, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && !o.Volatile {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = d.Remove(tmp)
	}
	return err
}

// ErrNotPlain is what ReadPlain says of a folder, a pipe or a device: reading it
// would fail, wait for ever or never end.
var ErrNotPlain = errors.New("not a plain file")

// ReadPlain reads a file whose name does not say what it is.
func ReadPlain(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrNotPlain}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
