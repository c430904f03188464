//go:build unix && !linux

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func inodeOf(int) uint64 { return 0 }

// AliveAs is Unknown here: ask Alive.
func AliveAs(int, uint64) Liveness { return Unknown }

// GroupAlive judges a process group; zombies count as living here.
func GroupAlive(pgid int, _ uint64) Liveness {
	if pgid <= 1 {
		return Unknown
	}
	if unix.Kill(-pgid, 0) == unix.ESRCH {
		return Dead
	}
	return Living
}

// EndCommand does nothing: a later process with the same number could be hit.
func EndCommand(int, uint64, bool) {}

// Signal sends sig to exactly the process pid that started at start, and
// reports whether that process is there.
func Signal(pid int, start uint64, sig syscall.Signal) bool {
	return Alive(pid, start) == Living && syscall.Kill(pid, sig) == nil
}
