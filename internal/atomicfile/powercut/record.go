// Package powercut says what a power cut could leave of files that were written
// through an atomicfile.Disk: a file's bytes are safe once it was synced, a name
// once its directory was. What was not may be kept, dropped or torn, each file
// and each name for itself, which is less than real disks keep.
//
// It is for tests. It does not know of files that others write (git, an agent):
// only of what goes through the disk.
package powercut

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"

	"aiflow/internal/atomicfile"
)

// Op is one operation that took effect.
type Op struct {
	Do   string   `json:"do"`
	Path string   `json:"path"`
	To   string   `json:"to,omitempty"`   // Rename, Link
	Data []byte   `json:"data,omitempty"` // Write
	Dirs []string `json:"dirs,omitempty"` // SyncDir: the directories in it
}

// What an Op does.
const (
	Create  = "create"
	Write   = "write"
	Sync    = "sync"
	Rename  = "rename"
	Link    = "link"
	Remove  = "remove"
	SyncDir = "syncdir"
)

// Able is a disk that can link too, as the real one can.
type Able interface {
	atomicfile.Disk
	Link(from, to string) error
}

// Record tells note each operation that inner has done.
func Record(inner Able, note func(Op)) Able { return recorder{inner, note} }

// File gives a note that appends to a file, which Read reads.
func File(path string) func(Op) {
	return func(op Op) {
		line, err := json.Marshal(op)
		if err != nil {
			panic(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		if _, err := f.Write(append(line, '\n')); err != nil {
			panic(err)
		}
	}
}

// Read gives what File wrote.
func Read(path string) ([]Op, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []Op
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var op Op
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, err
		}
		all = append(all, op)
	}
	return all, lines.Err()
}

type recorder struct {
	inner Able
	note  func(Op)
}

func (r recorder) did(err error, op Op) error {
	if err == nil {
		r.note(op)
	}
	return err
}

func (r recorder) Create(path string, perm fs.FileMode) (atomicfile.File, error) {
	f, err := r.inner.Create(path, perm)
	if err != nil {
		return nil, err
	}
	r.note(Op{Do: Create, Path: path})
	return file{f, r, path}, nil
}

func (r recorder) Rename(from, to string) error {
	return r.did(r.inner.Rename(from, to), Op{Do: Rename, Path: from, To: to})
}

func (r recorder) Link(from, to string) error {
	return r.did(r.inner.Link(from, to), Op{Do: Link, Path: from, To: to})
}

func (r recorder) Remove(path string) error {
	return r.did(r.inner.Remove(path), Op{Do: Remove, Path: path})
}

func (r recorder) SyncDir(dir string) error {
	op := Op{Do: SyncDir, Path: dir}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			op.Dirs = append(op.Dirs, e.Name())
		}
	}
	return r.did(r.inner.SyncDir(dir), op)
}

type file struct {
	atomicfile.File
	r    recorder
	path string
}

func (f file) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if n > 0 {
		f.r.note(Op{Do: Write, Path: f.path, Data: bytes.Clone(b[:n])})
	}
	return n, err
}

func (f file) Sync() error {
	return f.r.did(f.File.Sync(), Op{Do: Sync, Path: f.path})
}
