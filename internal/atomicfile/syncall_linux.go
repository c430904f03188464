package atomicfile

import "golang.org/x/sys/unix"

// SyncAll makes everything that was written to the file system of dir durable:
// for many files this is one wait instead of one for each.
func (OS) SyncAll(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Syncfs(fd)
}
