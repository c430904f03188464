package atomicfile

import "golang.org/x/sys/unix"

// flush asks the drive too, which fsync(2) does not do here.
func flush(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	return err
}
