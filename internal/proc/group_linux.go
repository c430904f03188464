package proc

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
	if st, ok := readStat(m.pid); ok && st.start == m.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// members lists the living processes of g but the leader: those in the group
// and those below us that carry its number or a session of their own.
func (g *group) members() []member {
	return settled(func() ([]member, bool) { return g.look(), g.unsure })
}

// settled looks until somebody is found or surely nobody is there. A process
// whose parent dies while we look moves to where we have looked already, and the
// kernel's list of children can miss one while another is collected, so only two
// empty looks in a row mean that nobody is there. Of whoever is just beginning
// another program, or ending, it cannot be told yet, which takes long on a busy
// machine: we look again, for some seconds at most.
func settled(look func() (found []member, unsure bool)) []member {
	const atMost = 1500 // looks
	for looks, unsure := 0, false; looks < 2 || unsure && looks < atMost; looks++ {
		var found []member
		if found, unsure = look(); len(found) > 0 {
			return found
		}
		if unsure {
			<-time.After(pollEvery)
		}
	}
	return nil
}

func (g *group) look() (found []member) {
	g.spared, g.unsure = false, false
	g.eachDescendant(func(pid int, st stat) {
		m := member{pid, st.start}
		if !st.gone() {
			found = append(found, m)
		}
		if !slices.Contains(g.seen, m) {
			g.seen = append(g.seen, m)
		}
	})
	return found
}

// reap collects those who were adopted and have ended.
func (g *group) reap() {
	for _, m := range g.seen {
		if st, ok := readStat(m.pid); ok && st.state == 'Z' && st.ppid == os.Getpid() {
			_, _ = unix.Wait4(m.pid, nil, unix.WNOHANG, nil)
		}
	}
}

// waitsFor is the command line of the first process below the leader that runs
// another program than the leader does.
func (g *group) waitsFor() string {
	found, ours := "", program(g.pid, stat{})
	g.eachDescendant(func(pid int, st stat) {
		if found == "" && program(pid, st) != ours {
			line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			found = string(bytes.TrimSpace(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	})
	return found
}

// eachDescendant visits the command's processes below us but the leader, the
// nearest first. A daemon of the person's is passed by with all below it. No
// process of this program is between its fork and its exec meanwhile: it would
// look like one of no command.
func (g *group) eachDescendant(visit func(int, stat)) {
	// Who comes to us when its parent dies is given to the first thread. Some of what
	// that thread started itself is among them.
	self := strconv.Itoa(os.Getpid())
	adopted, _ := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
	orphans := slices.DeleteFunc(numbers(adopted), func(pid int) bool { return pid == g.pid })
	if g.ended && len(orphans) == 0 {
		return
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	session, _ := unix.Getsid(0)
	var todo []int
	if !g.ended {
		todo = childrenOf(g.pid)
	}
	for _, pid := range orphans {
		if st, ok := readStat(pid); ok && g.owns(pid, st, session) {
			todo = append(todo, pid)
		}
	}
	for seen := map[int]bool{g.pid: true}; len(todo) > 0; todo = todo[1:] {
		pid := todo[0]
		st, ok := readStat(pid)
		if !ok || seen[pid] {
			continue
		}
		seen[pid] = true
		if personal(pid, st) {
			g.spared = g.spared || st.pgrp == g.pid
			continue
		}
		visit(pid, st)
		todo = append(todo, childrenOf(pid)...)
	}
}

// owns tells a command's process from one that another command started, or that
// lives in our own session.
func (g *group) owns(pid int, st stat, session int) bool {
	if st.pgrp == g.pid || st.session == g.pid {
		return true
	}
	if slices.Contains(g.seen, member{pid, st.start}) {
		return true // it may be ending, and then nothing else is known of it
	}
	env, err := environ(pid)
	if errors.Is(err, errPassing) {
		g.unsure = true
		return false
	}
	if err != nil && st.ppid == os.Getpid() && st.session == pid {
		return false // perhaps another command's leader
	}
	if i := bytes.Index(env, []byte(originName+"=")); i >= 0 {
		value, _, _ := bytes.Cut(env[i:], []byte{0})
		return bytes.Contains(value, []byte(g.number))
	}
	return st.session != session
}

// personal reports whether a process is a daemon that the person keeps for all
// their work, whoever happened to start it. What is named so by its file alone
// is none: a script's program is its shell. Where the kernel hides the program,
// as these daemons ask it to, the process's own name counts.
func personal(pid int, st stat) bool {
	args := func(word string) bool {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		return slices.ContainsFunc(bytes.FieldsFunc(line, func(r rune) bool { return r == 0 || r == ' ' }), func(w []byte) bool { return string(w) == word })
	}
	switch program(pid, st) {
	case "gpg-agent", "keyboxd", "scdaemon", "dirmngr", "tpm2daemon", "ssh-agent", "watchman", "git-credential-cache--daemon":
		return true
	case "git":
		return args("credential-cache--daemon") || args("fsmonitor--daemon")
	case "ssh":
		return args("[mux]") // a connection that is kept for later ones (ControlPersist)
	}
	return false
}

// program is the name of the file that a process runs, or else the process's.
// A process that is ending runs none any more, whatever its name: who lies below
// it is about to come to us.
func program(pid int, st stat) string {
	exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	switch {
	case errors.Is(err, fs.ErrPermission):
		return st.name
	case err != nil:
		return ""
	}
	return filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
}

// errPassing is told of a process that is just beginning a program, or ending:
// it has no command line then, and soon it has one or is gone.
var errPassing = errors.New("it begins or ends")

// errEnded is told of a process that has ended: nothing is known of it any more.
var errEnded = errors.New("it has ended")

func environ(pid int) ([]byte, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	line, _ := os.ReadFile(dir + "/cmdline") // before: who has one has its environment, too
	env, err := os.ReadFile(dir + "/environ")
	// It is read in pieces: of a process that ends meanwhile, a part is shown.
	switch st, ok := readStat(pid); {
	case !ok || st.gone():
		return nil, errEnded
	case st.ended || len(line) == 0:
		return nil, errPassing
	}
	return env, err
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
		pids = append(pids, numbers(list)...)
	}
	return pids
}

func numbers(list []byte) []int {
	var found []int
	for _, f := range bytes.Fields(list) {
		if n, err := strconv.Atoi(string(f)); err == nil {
			found = append(found, n)
		}
	}
	return found
}

// EndStrays ends what a command left running whose runner is gone: every
// process with exactly this environment entry, and the leader that was
// recorded as pid and start, with all below them, but no daemon of the
// person's. It says how many it ended.
func EndStrays(mark string, pid int, start uint64) int {
	ended := 0
	var strays []member
	for range killRounds {
		before := strays
		strays = settled(func() ([]member, bool) {
			found, unsure := marked(mark)
			if st, ok := readStat(pid); ok && start != 0 && st.start == start && !st.gone() {
				found = append(append(found, tree(pid)...), member{pid, start})
			}
			for _, m := range before {
				if st, ok := readStat(m.pid); ok && st.start == m.start && !st.gone() {
					found = append(found, m)
				}
			}
			slices.SortFunc(found, func(a, b member) int { return a.pid - b.pid })
			return slices.Compact(found), unsure
		})
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

// AwaitStrays waits until nobody has exactly this environment entry any more, for as
// long as most, and ends who is left then.
func AwaitStrays(ctx context.Context, mark string, most time.Duration) {
	for waited := time.Duration(0); waited < most && ctx.Err() == nil; waited += killWait {
		if found := settled(func() ([]member, bool) { return marked(mark) }); len(found) == 0 {
			return
		}
		<-time.After(killWait)
	}
	if ctx.Err() == nil {
		EndStrays(mark, 0, 0)
	}
}

// marked also says whether a process was met of which it is not known yet.
func marked(mark string) (found []member, unsure bool) {
	if mark == "" {
		return nil, false
	}
	for _, pid := range everybody() {
		if pid == os.Getpid() {
			continue
		}
		env, err := environ(pid)
		st, ok := readStat(pid)
		unsure = unsure || errors.Is(err, errPassing) && !st.ended // who ends was found before; threads of the kernel look the same
		has := slices.ContainsFunc(bytes.Split(env, []byte{0}), func(entry []byte) bool { return string(entry) == mark })
		if ok && has && !st.gone() && !personal(pid, st) {
			found = append(found, member{pid, st.start})
		}
	}
	return found, unsure
}

// tree lists all below pid, without the person's daemons.
func tree(pid int) []member {
	var all []member
	for todo := childrenOf(pid); len(todo) > 0; todo = todo[1:] {
		if st, ok := readStat(todo[0]); ok && !personal(todo[0], st) {
			all = append(all, member{todo[0], st.start})
			todo = append(todo, childrenOf(todo[0])...)
		}
	}
	return all
}
