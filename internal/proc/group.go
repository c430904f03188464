package proc

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is one program to run in a session of its own: it has no terminal to
// ask on, and Ctrl-C reaches us alone.
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
	// Started is told the leader's identity before anything else happens.
	Started func(pid int, start uint64)
}

// Exit is how a command ended.
type Exit struct {
	Status   int // exit status; 128+signal when a signal ended it
	Signaled bool
	TimedOut bool
	Stopped  bool   // the context ended it
	Leftover int    // processes that outlived the leader and were ended
	Waited   string // what a command that timed out waited for: the other program that it had started, if any
}

// NotStarted is a shell's word for a program that is missing or cannot be started.
func (e Exit) NotStarted() bool { return e.Status == 126 || e.Status == 127 }

// drainDelay is how long output may go on after every process known to us has
// ended.
const drainDelay = 500 * time.Millisecond

// originName is the variable by which the processes of one command are told
// from those of another. Its value ends with the command's own number; before
// it are those of the commands around it.
const originName = "AIFLOW_ORIGIN"

// Apart gives env with a number of its own in it. Who is started with it, and
// whoever descends from it, belongs to no command that Run ends: a program that
// is to live on, or that is the person's.
func Apart(env []string) []string {
	env, _ = numbered(env)
	return env
}

func numbered(env []string) (with []string, number string) {
	number = strconv.FormatUint(rand.Uint64(), 16)
	value := number
	with = make([]string, 0, len(env)+1)
	for _, entry := range env {
		if outer, ok := strings.CutPrefix(entry, originName+"="); ok {
			value = outer + "." + number
			continue
		}
		with = append(with, entry)
	}
	return append(with, originName+"="+value), number
}

// Run starts c, waits for it, and ends everything that it left behind but the
// person's own daemons (docs/commands.md). Its error is about starting: a
// command that fails is an Exit.
func Run(ctx context.Context, c Command) (Exit, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, c.Stdin
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	if cmd.Env == nil {
		cmd.Env = cmd.Environ()
	}
	g := &group{}
	cmd.Env, g.number = numbered(cmd.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = drainDelay
	adoptOrphans()
	if err := cmd.Start(); err != nil {
		return Exit{}, err
	}
	if c.Started != nil {
		c.Started(cmd.Process.Pid, startTime(cmd.Process.Pid))
	}
	g.pid = cmd.Process.Pid
	return g.wait(ctx, c, cmd), nil
}

func (g *group) wait(ctx context.Context, c Command, cmd *exec.Cmd) Exit {
	leader := make(chan struct{})
	watched := make(chan Exit, 1)
	go func() { watched <- g.watch(ctx, c, leader) }()
	waitLeader(g.pid)
	close(leader)
	exit := <-watched
	g.ended = true
	exit.Leftover = g.endAll(c.Grace, c.Hurry)
	exit.Status, exit.Signaled = statusOf(cmd.Wait(), cmd.ProcessState)
	g.reap()
	return exit
}

// group is the process group of a command and whoever left it but has its
// number.
type group struct {
	pid    int
	number string
	ended  bool     // the leader has ended; it is not reaped before the rest is gone
	seen   []member // who was found outside of the leader
	unsure bool     // the last look met somebody who may be of another command
	spared bool     // a daemon of the person's is in the process group
}

// watch waits for the leader and, when time or patience runs out first, asks
// the group to end and then makes it.
func (g *group) watch(ctx context.Context, c Command, leader <-chan struct{}) Exit {
	var exit Exit
	var timeout <-chan time.Time
	if c.Timeout > 0 {
		timeout = time.After(c.Timeout)
	}
	select {
	case <-leader:
		return exit
	case <-ctx.Done():
		exit.Stopped = true
	case <-timeout:
		exit.TimedOut = true
		exit.Waited = g.waitsFor()
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

// signalAll reaches the process group in one go, unless somebody in it is to be
// left alone, and then each member.
func (g *group) signalAll(sig syscall.Signal) {
	found := g.members()
	if g.spared {
		_ = syscall.Kill(g.pid, sig)
	} else {
		_ = syscall.Kill(-g.pid, sig)
	}
	for _, m := range found {
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

func statusOf(err error, state *os.ProcessState) (status int, signaled bool) {
	if state == nil {
		return -1, false
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), true
	}
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) && state.Success() {
		return 0, false // output was still open when every process had ended
	}
	return state.ExitCode(), false
}
