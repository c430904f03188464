package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// GroupAlive judges a process group: it lives as long as one process of it
// does. start is the leader's, so that a later group with the same number is
// not taken for it. A group's number is not given to a new process while a
// member is left.
func GroupAlive(pgid int, start uint64) Liveness {
	if pgid <= 1 {
		return Unknown
	}
	if unix.Kill(-pgid, 0) == unix.ESRCH {
		return Dead
	}
	if leader, ok := readStat(pgid); ok && start != 0 && leader.start != start {
		return Dead
	}
	if len(groupMembers(pgid)) == 0 {
		return Dead
	}
	return Living
}

// groupMembers lists the processes of a group that are more than zombies.
func groupMembers(pgid int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var found []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok && s.pgrp == pgid && !s.dead(0) {
			found = append(found, pid)
		}
	}
	return found
}

// EndCommand kills a process that was recorded as pid and start, with the
// group that it leads if it has one, and no other.
func EndCommand(pid int, start uint64, group bool) {
	switch {
	case pid <= 1 || start == 0:
	case !group:
		member{pid, start}.signal(unix.SIGKILL)
	case GroupAlive(pid, start) == Living:
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}
