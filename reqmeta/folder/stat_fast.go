//go:build linux && (amd64 || arm64)

package folder

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// statuser asks for the status of files of one folder.
type statuser struct {
	st   unix.Stat_t
	name [1024]byte
}

// ask is fstatat without following a link. It does not tell the scheduler of
// the call: the status of a file that was just listed is at hand, and ten
// thousand announcements cost more than the answers.
func (s *statuser) ask(fd int, name string) error {
	if len(name) >= len(s.name) || strings.IndexByte(name, 0) >= 0 {
		return unix.ENAMETOOLONG
	}
	s.name[copy(s.name[:], name)] = 0
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(&s.name[0])), uintptr(unsafe.Pointer(&s.st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		switch e {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return e
		}
	}
}
