package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Command is one program to run in a process group of its own, without a
// terminal.
type Command struct {
	Argv   []string
	Dir    string
	Env    []string
	Stdin  io.Reader // closed for the program when it ends; nil is /dev/null
	Stdout io.Writer // may be called from a goroutine of its own
	Stderr io.Writer

	Timeout time.Duration   // 0: none
	Grace   time.Duration   // between TERM and KILL
	Hurry   <-chan struct{} // closed: no more grace
	// Mark is an environment entry (NAME=value) that is in Env and in no other
	// process; children that left the group are found by it where the system
	// lets one read it.
	Mark string
	// Started is told the leader's identity before anything else happens.
	Started func(pid int, start uint64)
}

// Exit is how a command ended.
type Exit struct {
	Status   int // exit status; 128+signal when a signal ended it
	TimedOut bool
	Stopped  bool // the context ended it
	Leftover int  // processes that outlived the leader and were ended
}

// drainDelay is how long output may go on after every process known to us has
// ended.
const drainDelay = 500 * time.Millisecond

// Run starts c, waits for it, and ends everything that it left behind. Its
// error is about starting: a command that fails is an Exit.
func Run(ctx context.Context, c Command) (Exit, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, c.Stdin
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	cmd.SysProcAttr = groupAttributes()
	cmd.WaitDelay = drainDelay
	adoptOrphans()
	if err := cmd.Start(); err != nil {
		return Exit{}, err
	}
	if c.Started != nil {
		c.Started(cmd.Process.Pid, startOf(cmd.Process.Pid))
	}
	return wait(ctx, c, cmd), nil
}

func wait(ctx context.Context, c Command, cmd *exec.Cmd) Exit {
	g := &group{pid: cmd.Process.Pid, mark: c.Mark}
	leader := make(chan struct{})
	watched := make(chan Exit, 1)
	go func() { watched <- g.watch(ctx, c, leader) }()
	waitLeader(cmd.Process.Pid)
	close(leader)
	exit := <-watched
	exit.Leftover = g.endAll(c.Grace, c.Hurry)
	exit.Status = statusOf(cmd.Wait(), cmd.ProcessState)
	g.reap()
	return exit
}

// group is a process group and whoever left it but carries its mark.
type group struct {
	pid  int
	mark string
}

// watch waits for the leader and, when time or patience runs out first, asks
// the group to end and then makes it.
func (g *group) watch(ctx context.Context, c Command, leader <-chan struct{}) Exit {
	var exit Exit
	timeout, stop := timer(c.Timeout)
	defer stop()
	select {
	case <-leader:
		return exit
	case <-ctx.Done():
		exit.Stopped = true
	case <-timeout:
		exit.TimedOut = true
	}
	g.signalAll(syscall.SIGTERM)
	select {
	case <-leader:
		return exit
	case <-c.Hurry:
	case <-time.After(c.Grace):
	}
	g.signalAll(syscall.SIGKILL)
	<-leader
	return exit
}

func timer(d time.Duration) (<-chan time.Time, func()) {
	if d <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

func (g *group) signalAll(sig syscall.Signal) {
	_ = syscall.Kill(-g.pid, sig)
	for _, m := range g.members() {
		m.signal(sig)
	}
}

// endAll ends what the leader left behind and says how many processes it were.
// The leader is still a zombie here, so its number cannot have been reused.
func (g *group) endAll(grace time.Duration, hurry <-chan struct{}) int {
	left := g.members()
	if len(left) == 0 {
		return 0
	}
	g.signalAll(syscall.SIGTERM)
	if !g.goneWithin(grace, hurry) {
		for range killRounds {
			g.signalAll(syscall.SIGKILL)
			if g.goneWithin(killWait, nil) {
				break
			}
		}
	}
	return len(left)
}

const (
	killRounds = 20
	killWait   = 50 * time.Millisecond
	pollEvery  = 2 * time.Millisecond
)

func (g *group) goneWithin(d time.Duration, hurry <-chan struct{}) bool {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for waited := time.Duration(0); ; waited += pollEvery {
		if len(g.members()) == 0 {
			return true
		}
		if waited >= d {
			return false
		}
		select {
		case <-hurry:
			return false
		case <-tick.C:
		}
	}
}

func statusOf(err error, state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) && state.Success() {
		return 0 // output was still open when every process had ended
	}
	return state.ExitCode()
}
