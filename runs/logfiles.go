package runs

import (
	"io/fs"
	"path"
	"path/filepath"
)

// Logs lists a run's log files, relative to the project and in byte order.
// runPath is the run's folder, relative to root.
func Logs(root, runPath string) []string {
	base := filepath.Join(root, filepath.FromSlash(runPath))
	names := []string{}
	_ = filepath.WalkDir(filepath.Join(base, "logs"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if rel, err := filepath.Rel(base, p); err == nil {
			names = append(names, path.Join(runPath, filepath.ToSlash(rel)))
		}
		return nil
	})
	return names
}
