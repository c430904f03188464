//go:build unix && !linux

package proc

import "golang.org/x/sys/unix"

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
