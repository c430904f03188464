package proc

import (
	"os"
	"syscall"
)

// WriteProgram writes a file that is started soon. No process of ours is forked
// while the file is open for writing: one that was would keep it open until its
// own exec, and the kernel refuses to start such a file ("text file busy").
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, data, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755) // of a file that was there
}
