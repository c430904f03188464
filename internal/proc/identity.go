// Package proc tells processes apart and runs commands in groups of their own:
// who a process is for good, whether it still lives, and how to end it with
// everything it started.
//
// It does not judge processes of another machine, boot or pid namespace: a pid
// means nothing there.
package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Identity names one process for good: a pid alone is reused, a host name
// alone is shared. A field that a platform cannot tell is empty (or 0), and
// two identities with such a field are never taken for the same machine.
type Identity struct {
	PID      int
	PIDStart uint64 // start time in the platform's own unit
	PIDInode uint64 // number in pidfs, which no other process of this boot has
	BootID   string
	Machine  string // hash; equal host names on two machines are not one host
	PIDNS    string
	Hostname string
}

// Liveness is what can be said about another process.
type Liveness int

// What Alive answers. (Living and not Alive: that is the function.)
const (
	Unknown Liveness = iota
	Living
	Dead
)

func (l Liveness) String() string {
	return [...]string{"unknown", "living", "dead"}[l]
}

// Self is the identity of this process.
func Self() Identity {
	host, _ := os.Hostname() // one that is not known is the same each time
	pid := os.Getpid()
	boot := bootID()
	return Identity{
		PID: pid, PIDStart: startTime(pid), PIDInode: inodeOf(pid), BootID: boot,
		Machine: machine(boot), PIDNS: pidNamespace(), Hostname: host,
	}
}

// StartOf is the start time of pid, 0 when it cannot be told.
func StartOf(pid int) uint64 { return startTime(pid) }

// Began is when the process pid started, by the wall clock as it goes now: now
// and boot are the same moment by the wall clock and since boot. false when that
// cannot be told.
func Began(pid int, now time.Time, boot time.Duration) (time.Time, bool) {
	start := startTime(pid)
	if start == 0 {
		return time.Time{}, false
	}
	return startedAt(start, now, boot), true
}

// Alive judges a process of this machine, boot and pid namespace. A start time
// of 0 is not compared. A process that we may not signal is alive; a zombie is
// dead only when no thread of it is left, because until then its open files
// and their locks live on.
func Alive(pid int, start uint64) Liveness {
	if pid <= 0 {
		return Unknown
	}
	return look(pid, start)
}

// exists asks kill(2), which knows every process but tells nothing of it.
func exists(pid int) Liveness {
	switch err := unix.Kill(pid, 0); {
	case err == nil, errors.Is(err, unix.EPERM):
		return Living
	case errors.Is(err, unix.ESRCH):
		return Dead
	}
	return Unknown
}

// machine hashes the machine's own number. Without one the boot stands in for
// it: processes of one boot know each other, those of another boot do not.
func machine(boot string) string {
	if id := machineID(); id != "" {
		return hashed("machine:" + id)
	}
	if boot == "" {
		return ""
	}
	return hashed("boot:" + boot)
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte("aiflow " + s))
	return hex.EncodeToString(sum[:16])
}

// BootClock is the time since boot; it goes on while the machine sleeps and no
// one can set it.
func BootClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(bootClockID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
