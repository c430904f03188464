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

// OS is the real disk. A new file gets exactly the mode that was asked for,
// whatever the umask: a hook must come back with the mode it had.
type OS struct{ atomicfile.OS }

// Create makes a new file with the exact mode.
func (o OS) Create(path string, perm fs.FileMode) (atomicfile.File, error) {
	f, err := o.OS.Create(path, perm)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, perm); err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, err
	}
	return f, nil
}

// Link gives a file a second name.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Symlink makes a symbolic link.
func (OS) Symlink(target, to string) error { return os.Symlink(target, to) }

// MkdirAll makes a folder and those above it.
func (OS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }
