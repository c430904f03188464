package gitops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MoveAside moves a file or folder. Where something is at the new place already
// folders become one, and a file gets another name; nothing is overwritten. What
// dies half way leaves each file at one of the two places.
func MoveAside(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	there, err := os.Lstat(to)
	switch {
	case err == nil && there.IsDir() && info.IsDir():
		return moveEntries(from, to)
	case err == nil:
		return MoveAside(from, to+"~")
	}
	if rename(from, to, info) == nil {
		return nil
	}
	if info.IsDir() { // another disk
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		if err := moveEntries(from, to); err != nil {
			return err
		}
		return os.Chmod(to, info.Mode().Perm())
	}
	return moveFile(from, to, info)
}

// rename also moves a folder that was made read-only, as build caches do.
func rename(from, to string, info fs.FileInfo) error {
	err := os.Rename(from, to)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = os.Chmod(filepath.Dir(from), 0o700)
	if info.IsDir() {
		_ = os.Chmod(from, 0o700)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if info.IsDir() {
		return os.Chmod(to, info.Mode().Perm())
	}
	return nil
}

func moveEntries(from, to string) error {
	_ = os.Chmod(from, 0o700)
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := MoveAside(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(from)
}

// moveFile copies to another disk; the file goes when the copy is whole.
func moveFile(from, to string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err == nil {
			err = os.Symlink(target, to)
		}
		if err != nil {
			return err
		}
	case info.Mode().IsRegular():
		if err := copyFile(from, to, info.Mode().Perm()); err != nil {
			_ = os.Remove(to)
			return err
		}
	}
	return os.Remove(from)
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
