//go:build failpoint

package failpoint

import (
	"io/fs"
	"syscall"

	"aiflow/internal/atomicfile"
	"aiflow/internal/atomicfile/powercut"
)

const opClose = "close" // beside those of powercut

// Disk passes a point before each operation of inner.
func Disk(p *Points, inner powercut.Able) atomicfile.Disk {
	if p.record != "" {
		inner = powercut.Record(inner, powercut.File(p.record))
	}
	return disk{p, inner}
}

type disk struct {
	p     *Points
	inner powercut.Able
}

// At lets whoever holds the disk name a place; see Points.At.
func (d disk) At(name string) { d.p.At(name) }

func (d disk) try(kind, op string) error {
	action := d.p.pass(kind + "." + op)
	if action == "kill" {
		d.p.kill()
	}
	return errorOf(action)
}

func errorOf(action string) error {
	switch action {
	case "enospc":
		return syscall.ENOSPC
	case "eio":
		return syscall.EIO
	}
	return nil
}

func (d disk) Create(path string, perm fs.FileMode) (atomicfile.File, error) {
	if err := d.try(Kind(path), powercut.Create); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f, err := d.inner.Create(path, perm)
	if err != nil {
		return nil, err
	}
	return file{d, f, Kind(path)}, nil
}

func (d disk) Rename(from, to string) error {
	if err := d.try(Kind(to), powercut.Rename); err != nil {
		return &fs.PathError{Op: "rename", Path: to, Err: err}
	}
	return d.inner.Rename(from, to)
}

func (d disk) Remove(path string) error {
	if err := d.try(Kind(path), powercut.Remove); err != nil {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	return d.inner.Remove(path)
}

// Link is there for whoever asks whether the disk can.
func (d disk) Link(from, to string) error {
	if err := d.try(Kind(to), powercut.Link); err != nil {
		return &fs.PathError{Op: "link", Path: to, Err: err}
	}
	return d.inner.Link(from, to)
}

// SyncDir has no file of its own; the folder's name is its kind.
func (d disk) SyncDir(dir string) error {
	if err := d.try("dir", powercut.SyncDir); err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	return d.inner.SyncDir(dir)
}

type file struct {
	d disk
	atomicfile.File
	kind string
}

// Write does half of the work before it dies or fails: a torn temporary file.
func (f file) Write(b []byte) (int, error) {
	action := f.d.p.pass(f.kind + "." + powercut.Write)
	if action == "" {
		return f.File.Write(b)
	}
	n, _ := f.File.Write(b[:len(b)/2])
	if action == "kill" {
		f.d.p.kill()
	}
	return n, &fs.PathError{Op: "write", Path: f.Name(), Err: errorOf(action)}
}

func (f file) Sync() error {
	if err := f.d.try(f.kind, powercut.Sync); err != nil {
		return &fs.PathError{Op: "sync", Path: f.Name(), Err: err}
	}
	return f.File.Sync()
}

// Close closes in any case: a failing close must not leak the descriptor.
func (f file) Close() error {
	err := f.d.try(f.kind, opClose)
	if cerr := f.File.Close(); err == nil {
		return cerr
	}
	return &fs.PathError{Op: "close", Path: f.Name(), Err: err}
}
