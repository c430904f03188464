package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	var s stat
	rest := bytes.TrimLeft(data[end+1:], " ")
	for n := 3; n <= 22; n++ { // as proc(5) counts them
		var field []byte
		field, rest, _ = bytes.Cut(rest, []byte(" "))
		if !s.set(n, field) {
			return stat{}, false
		}
	}
	return s, true
}

func (s *stat) set(n int, field []byte) (ok bool) {
	var err error
	switch n {
	case 3:
		if len(field) == 1 {
			s.state = field[0]
		}
		return len(field) == 1
	case 5:
		s.pgrp, err = strconv.Atoi(string(field))
	case 20:
		s.threads, err = strconv.Atoi(string(field))
	case 22:
		s.start, err = strconv.ParseUint(string(field), 10, 64)
	}
	return err == nil && len(field) > 0
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

// look asks kill(2) only where /proc does not show the process: it is gone, or
// hidden (hidepid), and then it counts as living.
func look(pid int, start uint64) Liveness {
	s, ok := readStat(pid)
	switch {
	case !ok:
		return exists(pid)
	case s.dead(start):
		return Dead
	}
	return Living
}

func startTime(pid int) uint64 {
	s, _ := readStat(pid)
	return s.start
}

// startedAt: /proc counts in hundredths of a second since boot, on every
// architecture that Go knows.
func startedAt(start uint64, now time.Time, boot time.Duration) time.Time {
	return now.Add(time.Duration(start)*(time.Second/100) - boot)
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
