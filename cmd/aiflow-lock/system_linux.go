package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func attributes(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes us the parent of whatever the command leaves behind.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// waitForAll returns when nothing that the command started lives any more.
func waitForAll(int, bool) {
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

// inForeground reports whether f is the terminal of our own job.
func inForeground(f *os.File) bool {
	pgrp, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && pgrp == unix.Getpgrp()
}
