//go:build !darwin

package atomicfile

import "golang.org/x/sys/unix"

func flush(fd int) error { return unix.Fsync(fd) }
