//go:build !linux || (!amd64 && !arm64)

package folder

import "golang.org/x/sys/unix"

// statuser asks for the status of files of one folder.
type statuser struct{ st unix.Stat_t }

// ask is fstatat without following a link.
func (s *statuser) ask(fd int, name string) error {
	for {
		err := unix.Fstatat(fd, name, &s.st, unix.AT_SYMLINK_NOFOLLOW)
		if err != unix.EINTR {
			return err
		}
	}
}
