package hooks

import (
	"io/fs"
	"os"

	"aiflow/internal/atomicfile"
)

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
