//go:build darwin

package proc

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func adoptOrphans() {}

// waitLeader returns when the process has ended, leaving it unreaped: it asks
// for the process's state, since waitid(2) is not in reach here.
func waitLeader(pid int) {
	for !zombie(pid) {
		<-time.After(pollEvery)
	}
}

func zombie(pid int) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err != nil || k.Proc.P_stat == szomb
}

type member struct{ pid int }

func (m member) signal(syscall.Signal) {}

// members knows only the group as a whole here.
func (g *group) members() []member {
	if unix.Kill(-g.pid, 0) == nil {
		return []member{{g.pid}}
	}
	return nil
}

func (g *group) reap() {}

func (g *group) waitsFor() string { return "" }

// EndStrays cannot be sure of a process's identity here and does nothing.
func EndStrays(string, int, uint64) int { return 0 }

// AwaitStrays cannot find anybody here.
func AwaitStrays(context.Context, string, time.Duration) {}
