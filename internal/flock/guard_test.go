package flock

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestGuardIsNotInherited(t *testing.T) {
	fd, err := openGuard(filepath.Join(t.TempDir(), "new", GuardName), true)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %x, %v", flags, err)
	}
}

func TestWhichErrorsMeanNoFlock(t *testing.T) {
	for _, err := range []error{unix.ENOLCK, unix.ENOTSUP, unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL} {
		if !noFlock(err) {
			t.Errorf("%v: not seen", err)
		}
	}
	for _, err := range []error{unix.EWOULDBLOCK, unix.EBADF, nil} {
		if noFlock(err) {
			t.Errorf("%v: taken for it", err)
		}
	}
}
