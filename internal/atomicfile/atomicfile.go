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

// Create makes a new file.
func (OS) Create(path string, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm.Perm())
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename is rename(2).
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove is unlink(2), which leaves an empty folder alone.
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

// ReadPlain reads a file whose name does not say what it is: reading a folder, a pipe or a
// device would fail, wait for ever or never end.
func ReadPlain(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a plain file")}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// RealPath is where the links of a path lead; the path itself where one leads nowhere.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
