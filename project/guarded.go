package project

import (
	"errors"
	"io/fs"
	"path/filepath"

	"aiflow/internal/atomicfile"
)

// Guarded gives the same project, which asks before each write through its disk
// and its git: request files, records of runs, the cache. may's error is theirs.
// Locks are not asked for: they are what may goes by.
func (p *Project) Guarded(may func() error) *Project {
	own := *p
	own.Env.Disk, own.may = guarded{p.Env.Disk, may}, may
	return &own
}

// guarded asks at the beginning of a write: a temporary file that is there is
// finished or taken away.
type guarded struct {
	atomicfile.Disk
	may func() error
}

func (d guarded) Create(path string, perm fs.FileMode) (atomicfile.File, error) {
	if err := d.may(); err != nil {
		return nil, err
	}
	return d.Disk.Create(path, perm)
}

func (d guarded) Remove(path string) error {
	if !atomicfile.IsTemp(filepath.Base(path)) {
		if err := d.may(); err != nil {
			return err
		}
	}
	return d.Disk.Remove(path)
}

// Link is runs.Linker, as far as the disk is one.
func (d guarded) Link(from, to string) error {
	l, ok := d.Disk.(interface{ Link(from, to string) error })
	if !ok {
		return errors.ErrUnsupported
	}
	if err := d.may(); err != nil {
		return err
	}
	return l.Link(from, to)
}
