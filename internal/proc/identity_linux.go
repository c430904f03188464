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
	name                string // at most 15 bytes
	state               byte
	ppid, pgrp, session int
	threads             int
	start               uint64
	ended               bool // it has no memory any more, whatever state it is shown in
}

// parseStat reads the fields after the last ')': the name before it may hold
// anything, blanks and parentheses too.
func parseStat(data []byte) (stat, bool) {
	end := max(bytes.LastIndexByte(data, ')'), 0)
	_, name, ok := bytes.Cut(data[:end], []byte("("))
	f := bytes.Fields(data[min(end+1, len(data)):])
	const first = 3 // the number of f[0] in proc(5)
	if !ok || len(f) <= 23-first || len(f[0]) != 1 {
		return stat{}, false
	}
	n := func(field int) int {
		v, err := strconv.Atoi(string(f[field-first]))
		ok = ok && err == nil
		return v
	}
	s := stat{name: string(name), state: f[0][0], ppid: n(4), pgrp: n(5), session: n(6), threads: n(20), ended: string(f[23-first]) == "0"}
	start, err := strconv.ParseUint(string(f[22-first]), 10, 64)
	s.start = start
	return s, ok && err == nil
}

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(data)
}

// gone: nothing of it is left but its number.
func (s stat) gone() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

func (s stat) dead(start uint64) bool {
	return start != 0 && s.start != start || s.gone() && s.threads <= 1
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
