package proc

import (
	"os"
	"strconv"
	"syscall"

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
	for _, pid := range everybody() {
		if s, ok := readStat(pid); ok && s.pgrp == pgid && !s.dead(0) {
			return Living
		}
	}
	return Dead
}

// everybody is the numbers of all processes.
func everybody() []int {
	entries, _ := os.ReadDir("/proc")
	var found []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
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

// Signal sends sig to exactly the process pid that started at start, and
// reports whether that process is there.
func Signal(pid int, start uint64, sig syscall.Signal) bool {
	st, ok := readStat(pid)
	if !ok || start == 0 || st.start != start || st.state == 'Z' {
		return false
	}
	member{pid, start}.signal(sig)
	return true
}
