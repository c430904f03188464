//go:build unix && !linux

package proc

import "syscall"

// Signal sends sig to exactly the process pid that started at start, and
// reports whether that process is there.
func Signal(pid int, start uint64, sig syscall.Signal) bool {
	return Alive(pid, start) == Living && syscall.Kill(pid, sig) == nil
}
