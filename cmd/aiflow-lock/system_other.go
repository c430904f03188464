//go:build unix && !linux

package main

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/internal/proc"
)

// attributes: there is no parent-death signal here. A taker waits until the
// command has ended by itself.
func attributes(ownGroup bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: ownGroup} }

func adoptOrphans() {}

// waitForAll returns when the command's process group is empty.
func waitForAll(pid int, ownGroup bool) {
	const again = 50 * time.Millisecond
	for ownGroup && proc.GroupAlive(pid, 0) == proc.Living {
		<-time.After(again)
	}
}

func inForeground(f *os.File) bool {
	pgrp, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && pgrp == unix.Getpgrp()
}
