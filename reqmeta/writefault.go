package reqmeta

import (
	"errors"
	"syscall"

	"aiflow/internal/fault"
)

// writeFault tells a full disk from a place where nobody may write.
func writeFault(err error, path string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Wrap(err, fault.DiskFull, "path", path)
	}
	return fault.Wrap(err, fault.PathNotWritable, "path", path)
}
