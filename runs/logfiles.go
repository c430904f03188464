package runs

import (
	"io/fs"
	"path"
	"path/filepath"
)

// Logs lists a run's log files, relative to the project and in byte order.
// runPath is the run's folder, relative to root. What stands beside them but
// says nothing of how it went (meta.json, git's status) is none.
func Logs(root, runPath string) []string {
	base := filepath.Join(root, filepath.FromSlash(runPath))
	names := []string{}
	_ = filepath.WalkDir(filepath.Join(base, "logs"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if rel, err := filepath.Rel(base, p); err == nil && !isNote(filepath.ToSlash(rel)) {
			names = append(names, path.Join(runPath, filepath.ToSlash(rel)))
		}
		return nil
	})
	return names
}

func isNote(name string) bool {
	return name == metaFile || name == statusFile(StatusBefore) || name == statusFile(StatusAfter)
}
