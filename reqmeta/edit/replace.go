package edit

import (
	"path/filepath"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

// Replace gives a request file other bytes, whole. A link inside the project
// stays one: the file that it points to is replaced. Faults: PATH_NOT_WRITABLE,
// DISK_FULL.
func Replace(disk atomicfile.Disk, root, path string, data []byte, suffix string) error {
	target, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return fault.Wrap(err, fault.PathNotWritable, "path", path)
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil || !strings.HasPrefix(target, base+string(filepath.Separator)) {
		return fault.New(fault.PathNotWritable, "path", path, "reason", "outside", "cause", target)
	}
	return replace(disk, target, path, data, suffix)
}
