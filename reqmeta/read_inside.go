package reqmeta

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("file too large")
)

// ReadInside reads dir/name; links are followed only as long as they stay in
// dir.
func ReadInside(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, errNotRegular
	case st.Size() > MaxFile:
		return nil, errTooLarge
	}
	return io.ReadAll(io.LimitReader(file, MaxFile+1))
}

// IsThere reports whether the file of r has its name below root still; it may be a
// link that leads nowhere.
func IsThere(root string, r *Request) bool {
	_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(r.Path)))
	return err == nil
}
