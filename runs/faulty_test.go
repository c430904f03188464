package runs

import (
	"errors"
	"io/fs"
	"os"

	"aiflow/internal/atomicfile"
)

var errDisk = errors.New("no space left on the test disk")

// faulty is a disk that counts its operations and fails at one of them: once,
// or from then on. Dead, it also leaves everything as it is, as a killed
// process does.
type faulty struct {
	atomicfile.OS
	at      int // the operation that fails, from 1; 0 never
	forever bool
	dead    bool
	noLinks bool
	n       int
	syncs   int
	ops     []string
}

func (d *faulty) op(name string) error {
	d.n++
	d.ops = append(d.ops, name)
	if d.at != 0 && (d.n == d.at || d.n > d.at && (d.forever || d.dead)) {
		return errDisk
	}
	return nil
}

func (d *faulty) Create(path string, perm fs.FileMode) (atomicfile.File, error) {
	if err := d.op("create"); err != nil {
		return nil, err
	}
	f, err := d.OS.Create(path, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: f, d: d}, nil
}

func (d *faulty) Rename(from, to string) error {
	if err := d.op("rename"); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *faulty) Link(from, to string) error {
	if d.noLinks {
		return os.ErrPermission
	}
	if err := d.op("link"); err != nil {
		return err
	}
	return d.OS.Link(from, to)
}

func (d *faulty) Remove(path string) error {
	if d.dead && d.at != 0 && d.n >= d.at {
		return errDisk
	}
	return d.OS.Remove(path)
}

func (d *faulty) SyncDir(dir string) error {
	if err := d.op("syncdir"); err != nil {
		return err
	}
	d.syncs++
	return d.OS.SyncDir(dir)
}

type faultyFile struct {
	atomicfile.File
	d *faulty
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.d.op("write"); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultyFile) Sync() error {
	if err := f.d.op("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	err := f.d.op("close")
	if cerr := f.File.Close(); err == nil {
		err = cerr
	}
	return err
}
