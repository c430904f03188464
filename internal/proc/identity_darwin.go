package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// On macOS CLOCK_MONOTONIC goes on while the machine sleeps.
const bootClockID = unix.CLOCK_MONOTONIC

const szomb = 5 // SZOMB in sys/proc.h

func look(pid int, start uint64) Liveness {
	if life := exists(pid); life != Living {
		return life
	}
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Living
	}
	if k.Proc.P_stat == szomb || start != 0 && started(k) != start {
		return Dead
	}
	return Living
}

func startTime(pid int) uint64 {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return started(k)
}

func started(k *unix.KinfoProc) uint64 {
	t := k.Proc.P_starttime
	return uint64(t.Sec)*1_000_000 + uint64(t.Usec)
}

// startedAt: the kernel keeps the wall clock's microseconds.
func startedAt(start uint64, _ time.Time, _ time.Duration) time.Time {
	return time.UnixMicro(int64(start))
}

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// machineID is not to be had without cgo; the boot session stands in for it.
func machineID() string { return "" }

// pidNamespace: there is exactly one.
func pidNamespace() string { return "darwin" }
