package runs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

// Dir is the directory of one run.
type Dir struct {
	RequestID, RunID string
	// Root is the project, Rel the run's directory below it with slashes, Path
	// both.
	Root, Rel, Path string

	disk    atomicfile.Disk
	suffix  func() string
	synced  mark
	current onDisk
}

// Linker is a disk that can also make hard links; with one, keeping the record
// before the last costs no second copy.
type Linker interface {
	Link(from, to string) error
}

const (
	stageFile  = "stage.json"
	prevFile   = "stage.json.prev"
	planFile   = "planning.json"
	errorsFile = "errors.json"
	reportFile = "report.md"

	maxRecord = 16 << 20
)

// OpenDir names the directory of a run; it touches nothing. suffix gives each
// temporary file its own name.
func OpenDir(disk atomicfile.Disk, root, runsDir, requestID, runID string, suffix func() string) *Dir {
	rel := filepath.ToSlash(filepath.Join(runsDir, requestID, runID))
	return &Dir{
		RequestID: requestID, RunID: runID,
		Root: root, Rel: rel, Path: filepath.Join(root, filepath.FromSlash(rel)),
		disk: disk, suffix: suffix,
	}
}

// Create makes the directory, its logs and its patches. It outlives a power
// cut: a synced file is lost with a directory that is not.
func (d *Dir) Create() error {
	if !safeName(d.RequestID) || !safeName(d.RunID) {
		return notMade(nil, d, "reason", "name")
	}
	there := existing(d.Path)
	for _, sub := range []string{"logs/tests", "patches"} {
		if err := os.MkdirAll(d.file(sub), 0o777); err != nil {
			return notMade(err, d)
		}
	}
	for made := d.Path; made != there; made = filepath.Dir(made) {
		if err := d.disk.SyncDir(filepath.Dir(made)); err != nil {
			return notMade(err, d)
		}
	}
	return nil
}

func notMade(err error, d *Dir, more ...any) error {
	return fault.Wrap(err, fault.RunsDirCreateFailed, append(more, "path", d.Rel)...)
}

// existing is the lowest directory on the way to path that is there.
func existing(path string) string {
	for {
		_, err := os.Lstat(path)
		if up := filepath.Dir(path); err != nil && up != path {
			path = up
			continue
		}
		return path
	}
}

// safeName keeps an id from leaving the runs directory.
func safeName(id string) bool {
	return id != "" && id != "." && id != ".." && filepath.Base(id) == id
}

func (d *Dir) file(name string) string { return filepath.Join(d.Path, filepath.FromSlash(name)) }

// RelPath is a file of the run relative to the project, with slashes.
func (d *Dir) RelPath(name string) string { return d.Rel + "/" + name }

// write replaces one of the run's files.
func (d *Dir) write(disk atomicfile.Disk, name string, data []byte) error {
	err := atomicfile.Write(disk, d.file(name), data, atomicfile.Options{TempSuffix: d.suffix()})
	return writeFault(err, d.RelPath(name))
}

// put is write for a file in a folder that it makes; volatile: nobody goes on from it.
func (d *Dir) put(name string, data []byte, volatile bool) error {
	err := d.folderOf(name)
	if err == nil {
		err = atomicfile.Write(d.disk, d.file(name), data, atomicfile.Options{TempSuffix: d.suffix(), Volatile: volatile})
	}
	return writeFault(err, d.RelPath(name))
}

func (d *Dir) folderOf(name string) error { return os.MkdirAll(filepath.Dir(d.file(name)), 0o777) }

func writeFault(err error, path string) error {
	if err == nil {
		return nil
	}
	facts := []any{"path", path}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		facts = append(facts, "reason", "disk_full")
	} else if f, guarded := fault.As(err); guarded { // its disk may say no
		return f
	}
	return fault.Wrap(err, fault.StageWriteFailed, facts...)
}

// read reads a whole regular file of bounded size without following a link and
// without waiting on a pipe.
func read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > limit {
		return nil, errors.New("not a regular file of at most " + strconv.FormatInt(limit, 10) + " bytes")
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
