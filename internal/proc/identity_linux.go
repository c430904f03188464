package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const bootClockID = unix.CLOCK_BOOTTIME

// stat is what /proc/PID/stat tells about a process.
type stat struct {
	state   byte
	pgrp    int
	threads int
	start   uint64
}

// parseStat reads the fields after the last ')': the name before it may hold
// anything, blanks and parentheses too.
func parseStat(data []byte) (stat, bool) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return stat{}, false
	}
	f := bytes.Fields(data[end+1:]) // f[0] is field 3
	if len(f) < 20 || len(f[0]) != 1 {
		return stat{}, false
	}
	pgrp, err1 := strconv.Atoi(string(f[2]))
	threads, err2 := strconv.Atoi(string(f[17]))
	start, err3 := strconv.ParseUint(string(f[19]), 10, 64)
	return stat{f[0][0], pgrp, threads, start}, err1 == nil && err2 == nil && err3 == nil
}

func readStat(pid int) (stat, bool) {
	var buf [1024]byte
	n, err := readSmall("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return stat{}, false
	}
	return parseStat(buf[:n])
}

// readSmall reads a /proc file without the poller that os.Open brings along.
func readSmall(path string, buf []byte) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (s stat) dead(start uint64) bool {
	if start != 0 && s.start != start {
		return true
	}
	gone := s.state == 'Z' || s.state == 'X' || s.state == 'x'
	return gone && s.threads <= 1
}

// look is asked after kill(2) has found pid. Where /proc hides the process
// (hidepid) it counts as living.
func look(pid int, start uint64) Liveness {
	s, ok := readStat(pid)
	switch {
	case ok && s.dead(start):
		return Dead
	case !ok && unix.Kill(pid, 0) == unix.ESRCH:
		return Dead
	}
	return Living
}

func startTime(pid int) uint64 {
	s, _ := readStat(pid)
	return s.start
}

func bootID() string { return firstLine("/proc/sys/kernel/random/boot_id") }

func machineID() string {
	if id := firstLine("/etc/machine-id"); id != "" && id != "uninitialized" {
		return id
	}
	return firstLine("/var/lib/dbus/machine-id")
}

func firstLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

func pidNamespace() string {
	fi, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(st.Ino, 10)
}
