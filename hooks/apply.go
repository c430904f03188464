package hooks

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

// Apply does what the actions say, each whole or not at all. A file that
// changed since the plan was made stops it (CONFLICT). suffix tells temporary
// files of concurrent writers apart.
func Apply(d Disk, suffix string, actions []Action) error {
	for _, a := range actions {
		if a.Kind == Keep || a.Kind == Refuse {
			continue
		}
		err, code := apply(d, suffix, a), fault.HookRefused
		switch {
		case err == nil:
			continue
		case errors.Is(err, errChanged), errors.Is(err, fs.ErrExist):
			code = fault.Conflict
		case errors.Is(err, fs.ErrPermission):
			code = fault.PathNotWritable
		}
		return fault.Wrap(err, code, "path", a.Path, "name", a.Hook)
	}
	return nil
}

func apply(d Disk, suffix string, a Action) error {
	if !readFile(a.Path).same(a.seen) {
		return errChanged
	}
	if err := d.MkdirAll(filepath.Dir(a.Path), 0o777); err != nil {
		return err
	}
	var err error
	switch a.Kind {
	case Remove:
		err = d.Remove(a.Path)
	case Restore:
		err = d.Rename(a.aside.Path, a.Path)
	case Chain:
		// The stranger's hook gets its second name before ours takes the first, so that at no
		// moment a hook is missing.
		if err := secondName(d, a.seen, a.aside.Path); err != nil {
			return err
		}
		err := write(d, suffix, a)
		if err != nil && readFile(a.Path).same(a.seen) { // ours did not take its place
			_ = d.Remove(a.aside.Path)
		}
		return err
	default:
		return write(d, suffix, a)
	}
	if err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(a.Path))
}

func write(d Disk, suffix string, a Action) error {
	o := atomicfile.Options{Perm: a.mode, Exact: a.Kind != Install && a.seen.Link == "", TempSuffix: suffix}
	return atomicfile.Write(d, a.Path, a.text, o)
}

// secondName links where the file system can; elsewhere it copies.
func secondName(d Disk, f File, to string) error {
	if f.Link != "" {
		return d.Symlink(f.Link, to)
	}
	err := d.Link(f.Path, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	w, err := d.Create(to, f.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = bytes.NewReader(f.Data).WriteTo(w)
	if err == nil {
		err = w.Sync()
	}
	err = cmp.Or(err, w.Close())
	if err == nil {
		err = os.Chmod(to, f.Mode.Perm()) // it must come back with the mode it had
	}
	if err != nil {
		_ = d.Remove(to)
	}
	return err
}

// Disk is everything that Apply does to files.
type Disk interface {
	atomicfile.Disk
	Link(from, to string) error
	Symlink(target, to string) error
	MkdirAll(dir string, perm fs.FileMode) error
}

// OS is the real disk.
type OS struct{ atomicfile.OS }

// Symlink makes a symbolic link.
func (OS) Symlink(target, to string) error { return os.Symlink(target, to) }

// MkdirAll makes a folder and those above it.
func (OS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }
