package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// A temporary file is left over when the process that its name tells is dead
// and some time has passed, so that one which is being made anywhere (another
// machine, another pid namespace) is never touched.
const (
	tempAge      = 10 * time.Minute
	namelessTime = time.Hour // the name tells no process
)

// leftOver lists the temporary files that killed commands left behind, with
// paths relative to the project.
func leftOver(x *examiner) []string {
	var found []string
	p := x.p.Config.Paths
	// Temporary files of locks are the sweep's, which knows the guard.
	for _, dir := range []string{p.RequestsDir, p.RunsDir, p.AiflowDir} {
		_ = filepath.WalkDir(x.p.Path(dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return skip(d)
			case d.IsDir() && (path == x.p.Path(x.p.WorktreesDir()) || path == x.p.Path(p.LocksDir) || filepath.Dir(path) == x.p.Path(p.RequestsDir)):
				return fs.SkipDir // somebody else's to clean
			case d.Type().IsRegular() && atomicfile.IsTemp(d.Name()) && old(x, d):
				found = append(found, rel(x, path))
			}
			return nil
		})
	}
	return append(found, leftIndexes(x)...)
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func rel(x *examiner, path string) string {
	rel, err := filepath.Rel(x.p.Dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

func old(x *examiner, d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil {
		return false
	}
	age := x.Env.Clock.Now().Sub(info.ModTime())
	pid, ok := atomicfile.Writer(d.Name())
	if !ok {
		return age > namelessTime
	}
	return age > tempAge && proc.Alive(pid, 0) == proc.Dead
}

// leftIndexes are private index files that a killed command left in the
// repository.
func leftIndexes(x *examiner) []string {
	if x.repo == nil {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(x.p.CommonDir(), "aiflow-*.index*"))
	var found []string
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() && x.Env.Clock.Now().Sub(info.ModTime()) > namelessTime {
			found = append(found, rel(x, path))
		}
	}
	return found
}

func checkTemps(_ context.Context, x *examiner) {
	found := leftOver(x)
	if len(found) == 0 {
		x.pass("temp_files", "ok", nil)
		return
	}
	x.warn("temp_files", "left", Evidence{"paths": first(found, maxEvidence), "count": len(found)}, "count", len(found), "names", some(found))
}

func fixTemps(x *examiner) {
	var removed []string
	for _, rel := range leftOver(x) {
		err := x.Env.Disk.Remove(x.p.Path(rel))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			x.cannot("temp_files", "temp", fault.NotWritable(err, rel), "path", rel)
		default:
			removed = append(removed, rel)
		}
	}
	if len(removed) > 0 {
		x.did("temp_files", "temp", "count", len(removed), "names", some(removed))
	}
}
