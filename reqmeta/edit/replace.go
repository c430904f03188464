package edit

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// Replace gives a request file the bytes that change makes of those that stand
// there, whole, and gives them back; like Update it loses no edit of others. A link
// inside the project stays one: the file that it points to is replaced. Faults:
// REQUEST_NOT_FOUND, PATH_NOT_WRITABLE, DISK_FULL, CONFLICT.
func Replace(disk atomicfile.Disk, root, path string, change func(now []byte) ([]byte, error), suffix string) (after []byte, err error) {
	name := filepath.Join(root, filepath.FromSlash(path))
	target, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refused(err, fault.RequestNotFound, path)
	}
	if err != nil {
		return nil, fault.NotWritable(err, path)
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil || !strings.HasPrefix(target, base+string(filepath.Separator)) {
		return nil, fault.NotWritable(nil, path, "reason", "outside", "cause", target)
	}
	defer alone(filepath.Dir(name))()
	read := func() ([]byte, error) { return reqmeta.ReadInside(filepath.Split(target)) }
	_, after, err = rewrite(disk, target, path, read, change, suffix)
	if unread, ok := errors.AsType[*unreadable](err); ok {
		err = refused(unread.error, codeOf(unread.error), path)
	}
	return after, err
}

// Swap gives a request file the bytes data, whole, if it still holds old, and
// follows links and keeps modes as Update does. allowed is asked at the last
// moment; its error ends the swap. CONFLICT when something else stands there.
func Swap(disk atomicfile.Disk, root, path string, old, data []byte, suffix string, allowed func() error) error {
	dir, name := filepath.Split(filepath.Join(root, filepath.FromSlash(path)))
	target, err := insideTarget(dir, name)
	if err != nil {
		return refused(err, codeOf(err), path)
	}
	defer alone(dir)()
	now, err := reqmeta.ReadInside(dir, name)
	if err != nil {
		return refused(err, codeOf(err), path)
	}
	if !bytes.Equal(now, old) {
		return refused(nil, fault.Conflict, path)
	}
	if err := allowed(); err != nil {
		return err
	}
	return replace(disk, target, path, data, suffix)
}

// Renewed gives data with updated_at set to now in the form that it has. What
// has none, or a head that cannot be read, stays as it is.
func Renewed(r *reqmeta.Request, data []byte, now time.Time) []byte {
	ed, err := openEditor(r, data)
	if err != nil || ed.renew(now) != nil {
		return data
	}
	out := ed.apply()
	if ed.verify(out) != nil {
		return data
	}
	return out
}
