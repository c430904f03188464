//go:build !linux

package edit

import "golang.org/x/sys/unix"

// renameNoReplace is not to be had here; publish links instead.
func renameNoReplace(_, _ string) error { return unix.ENOSYS }
