//go:build !linux && !darwin

package atomicfile

import "golang.org/x/sys/unix"

func exchange(string, string) error { return unix.ENOSYS }
