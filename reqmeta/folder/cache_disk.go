package folder

import (
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/atomicfile"
)

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openParts opens root/dir part by part without following a link below root.
func openParts(root, dir string, create bool) (int, error) {
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for i, part := range strings.Split(dir, "/") {
		if part == "" || part == "." || part == ".." {
			unix.Close(fd)
			return -1, unix.EINVAL
		}
		next, err := unix.Openat(fd, part, dirFlags, 0)
		if err == unix.ENOENT && create && i > 0 && makeFolder(fd, part) == nil {
			next, err = unix.Openat(fd, part, dirFlags, 0)
		}
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// makeFolder makes a folder that git does not see.
func makeFolder(fd int, name string) error {
	if err := unix.Mkdirat(fd, name, 0o777); err != nil {
		return err
	}
	file, err := unix.Openat(fd, name+"/.gitignore", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	_, err = unix.Write(file, []byte("*\n"))
	return err
}

// clockOf is what the clock of the file system says now: the time of a file
// that is made for the purpose.
func clockOf(dirfd int, suffix string) (time.Time, error) {
	name := "." + cacheFile + atomicfile.TempMark + suffix
	fd, err := unix.Openat(dirfd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	defer unix.Close(fd)
	defer func() { _ = unix.Unlinkat(dirfd, name, 0) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return time.Time{}, err
	}
	return time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec)), nil
}

// dirDisk writes files of one opened folder, whatever becomes of its path.
type dirDisk struct {
	atomicfile.OS
	fd int
}

func (d dirDisk) Create(name string, perm fs.FileMode) (atomicfile.File, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d dirDisk) Rename(from, to string) error { return unix.Renameat(d.fd, from, d.fd, to) }

func (d dirDisk) Remove(name string) error { return unix.Unlinkat(d.fd, name, 0) }

// cached is an opened cache file.
type cached struct {
	fd   int
	size int
}

// cache opens the cache file; nil when it is not a plain file of this user that
// others can neither read nor write.
func (p *place) cache() *cached {
	if p == nil {
		return nil
	}
	fd, err := openat(p.fd, cacheFile)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || uint32(st.Mode) != unix.S_IFREG|0o600 || int(st.Uid) != os.Geteuid() || st.Size > maxCache {
		unix.Close(fd)
		return nil
	}
	return &cached{fd, int(st.Size)}
}

// read reads all of it, once; nil when that fails.
func (f *cached) read() []byte {
	defer unix.Close(f.fd)
	data := make([]byte, f.size)
	for n := 0; n < len(data); {
		k, err := read(f.fd, data[n:])
		if err != nil || k == 0 {
			return nil
		}
		n += k
	}
	return data
}
