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

func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// adoptOrphans makes this process the parent of every descendant whose own
// parent died, so that those who left the group can still be found.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// waitLeader returns when the process has ended, leaving it unreaped.
func waitLeader(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// member is a living process that belongs to a group.
type member struct {
	pid   int
	start uint64
}

// signal reaches exactly this process: a pidfd cannot be taken over by a later
// process with the same number.
func (m member) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(m.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if st, ok := groupStat(m.pid); ok && st.start == m.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// members lists the living processes of g but the leader: those in the group
// and those below us that carry its mark or a session of their own. A process
// whose parent dies while we look moves to where we have looked already, so
// only two empty looks in a row mean that nobody is there.
func (g *group) members() []member {
	if found := g.look(); len(found) > 0 {
		return found
	}
	return g.look()
}

func (g *group) look() []member {
	var found []member
	g.eachDescendant(func(pid int, st procStat) {
		if st.state != 'Z' && st.state != 'X' {
			found = append(found, member{pid, st.start})
		}
	})
	return found
}

// reap collects adopted processes that have ended.
func (g *group) reap() {
	g.eachDescendant(func(pid int, st procStat) {
		if st.state == 'Z' && st.ppid == os.Getpid() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	})
}

// eachDescendant visits the command's processes below us but the leader.
func (g *group) eachDescendant(visit func(int, procStat)) {
	if !haveChildren() {
		return
	}
	session, _ := unix.Getsid(0)
	var todo []int
	for _, pid := range childrenOf(os.Getpid()) {
		if st, ok := groupStat(pid); ok && (pid == g.pid || g.owns(pid, st, session)) {
			todo = append(todo, pid)
		}
	}
	for seen := map[int]bool{}; len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		st, ok := groupStat(pid)
		if !ok || seen[pid] {
			continue
		}
		seen[pid] = true
		if pid != g.pid {
			visit(pid, st)
		}
		todo = append(todo, childrenOf(pid)...)
	}
}

// haveChildren asks with one call what childrenOf finds out by reading a file
// for each thread.
func haveChildren() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err != unix.ECHILD
}

// owns tells a command's process from one that somebody else in this program
// started: those stay in our own session and group.
func (g *group) owns(pid int, st procStat, session int) bool {
	if st.pgrp == g.pid {
		return true
	}
	env, known := environ(pid)
	if !known && st.ppid == os.Getpid() && st.session == pid {
		return false // perhaps what somebody else here started and waits for (git, say)
	}
	if len(env) == 0 {
		return st.session != session
	}
	if hasMark(env, g.mark) {
		return true
	}
	return st.session != session && !bytes.Contains(env, []byte(markName(g.mark)))
}

// environ of a process that is just starting or ending is not known: it has no
// command line then either, which is asked first.
func environ(pid int) (env []byte, known bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	line, _ := os.ReadFile(dir + "/cmdline")
	env, err := os.ReadFile(dir + "/environ")
	if st, ok := groupStat(pid); !ok || st.ended {
		return nil, false
	}
	return env, err == nil && len(line) > 0
}

func markName(mark string) string {
	name, _, _ := strings.Cut(mark, "=")
	return name + "="
}

func hasMark(environ []byte, mark string) bool {
	if mark == "" {
		return false
	}
	for _, entry := range bytes.Split(environ, []byte{0}) {
		if string(entry) == mark {
			return true
		}
	}
	return false
}

// childrenOf reads the kernel's list of a process's children, over all of its
// threads.
func childrenOf(pid int) []int {
	base := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range threads {
		list, _ := os.ReadFile(base + "/" + t.Name() + "/children")
		for _, f := range bytes.Fields(list) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

type procStat struct {
	state               byte
	ppid, pgrp, session int
	start               uint64
	ended               bool // it has no memory any more, whatever state it is shown in
}

func groupStat(pid int) (procStat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	after := data[bytes.LastIndexByte(data, ')')+1:]
	f := bytes.Fields(after)
	const startField, sizeField = 19, 20 // fields 22 and 23, counted from the one after the name
	if len(f) <= sizeField {
		return procStat{}, false
	}
	n := func(i int) int { v, _ := strconv.Atoi(string(f[i])); return v }
	start, _ := strconv.ParseUint(string(f[startField]), 10, 64)
	return procStat{state: f[0][0], ppid: n(1), pgrp: n(2), session: n(3), start: start, ended: string(f[sizeField]) == "0"}, true
}

func startOf(pid int) uint64 {
	st, _ := groupStat(pid)
	return st.start
}

// EndStrays ends what a command left running whose runner is gone: every
// process with exactly this environment entry, and the leader that was
// recorded as pid and start, with all below them. It says how many it ended.
func EndStrays(mark string, pid int, start uint64) int {
	ended := 0
	for range killRounds {
		strays := marked(mark)
		seen := map[int]bool{}
		for _, m := range strays {
			seen[m.pid] = true
		}
		if st, ok := groupStat(pid); ok && start != 0 && st.start == start && st.state != 'Z' {
			for _, m := range append((&group{pid: pid}).tree(), member{pid, start}) {
				if !seen[m.pid] {
					strays = append(strays, m)
				}
			}
		}
		if len(strays) == 0 {
			break
		}
		ended = max(ended, len(strays))
		for _, m := range strays {
			m.signal(syscall.SIGKILL)
		}
		<-time.After(pollEvery)
	}
	return ended
}

func marked(mark string) []member {
	dir, err := os.ReadDir("/proc")
	if err != nil || mark == "" {
		return nil
	}
	var found []member
	for _, e := range dir {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if st, ok := groupStat(pid); ok && st.state != 'Z' && hasMark(env, mark) {
			found = append(found, member{pid, st.start})
		}
	}
	return found
}

func (g *group) tree() []member {
	var all []member
	todo := childrenOf(g.pid)
	for len(todo) > 0 {
		pid := todo[0]
		todo = append(todo[1:], childrenOf(pid)...)
		if st, ok := groupStat(pid); ok {
			all = append(all, member{pid, st.start})
		}
	}
	return all
}
