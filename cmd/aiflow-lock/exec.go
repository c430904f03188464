package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
)

// quietFor is how long a wait may last before it is spoken of.
const quietFor = 400 * time.Millisecond

// runLocked runs a command while it holds the lock, and ends as it did.
func runLocked(s *cli.Shell, w which, o execOptions, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return cli.Usage("no_program", "value", argv[0], "command", s.Name+" exec")
	}
	p, m, err := open(s)
	if err != nil {
		return err
	}
	key, err := w.key(p)
	if err != nil {
		return err
	}
	ctx := s.Context()
	l, err := acquire(ctx, s, p, m, key, o)
	if err != nil {
		return err
	}
	// A command on a terminal stays in the shell's own job, so that Ctrl-C and Ctrl-Z work as ever.
	j := &job{lease: l, ownGroup: !inForeground(os.Stdin)}
	status, err := j.run(path, argv)
	if rerr := l.Release(); err == nil {
		err = rerr
	}
	if err == nil && status != 0 {
		err = cli.Exit(status)
	}
	return err
}

func acquire(ctx context.Context, s *cli.Shell, p *project.Project, m *locks.Manager, key locks.Key, o execOptions) (*locks.Lease, error) {
	var tell *time.Timer
	l, err := m.Acquire(ctx, key, locks.Ask{
		Wait: o.wait, TakeOverdue: o.takeOverdue,
		Waiting: func(e locks.Entry) {
			text := s.Catalog().Text("lock.waiting", factsOf(s, p, e))
			tell = time.AfterFunc(quietFor, func() { s.Tell(text) })
		},
	})
	if tell != nil {
		tell.Stop()
	}
	if err != nil {
		return nil, err
	}
	if old, ok := l.Recovered(); ok {
		s.Tell(s.Catalog().Text("lock.recovered", factsOf(s, p, locks.Entry{Record: old, Path: l.Path()})))
	}
	return l, nil
}

// job is a command under a lease.
type job struct {
	lease    *locks.Lease
	ownGroup bool // the command leads a process group of its own
}

// run starts the command behind a gate, names it in the record, opens the gate,
// and waits for it and everything it started.
func (j *job) run(path string, argv []string) (status int, err error) {
	// The parent-death signal comes when the starting thread ends.
	runtime.LockOSThread()
	adoptOrphans()
	cmd, gate, err := j.command(path, argv)
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	err = cmd.Start()
	_ = cmd.ExtraFiles[0].Close()
	if err != nil {
		return 0, fault.Wrap(err, fault.BinaryNotFound, "name", argv[0])
	}
	if err := j.open(cmd.Process.Pid, gate); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 0, err
	}
	ended, givenUp := make(chan struct{}), make(chan struct{})
	go j.attend(cmd.Process.Pid, signals, ended, givenUp)
	_ = cmd.Wait()
	all := make(chan struct{})
	go func() {
		defer close(all)
		waitForAll(cmd.Process.Pid, j.ownGroup)
	}()
	select {
	case <-all:
	case <-givenUp:
	}
	close(ended)
	select {
	case <-j.lease.Over():
		if lost := j.lease.Check(); lost != nil {
			return 0, lost
		}
	default:
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// command is this program again, which becomes path when the gate opens.
func (j *job) command(path string, argv []string) (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, append([]string{insideName, "--", path}, argv...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{read}
	cmd.SysProcAttr = attributes(j.ownGroup)
	return cmd, write, nil
}

func (j *job) open(pid int, gate *os.File) error {
	defer gate.Close()
	if err := j.lease.SetCommand(pid, j.ownGroup); err != nil {
		return err
	}
	_, err := gate.Write([]byte{gateOpen})
	return err
}

// patience between TERM and KILL for a command whose lock was lost.
const patience = 5 * time.Second

// attend passes signals on, and ends the command when the lock is lost.
func (j *job) attend(pid int, signals <-chan os.Signal, ended <-chan struct{}, givenUp chan<- struct{}) {
	over := j.lease.Over()
	var late <-chan time.Time
	for {
		select {
		case sig := <-signals:
			// In the shell's own job the terminal has sent its signals to the command already.
			if j.ownGroup || sig != syscall.SIGINT && sig != syscall.SIGQUIT {
				j.kill(pid, sig.(syscall.Signal))
			}
		case <-over:
			over = nil
			j.kill(pid, syscall.SIGTERM)
			late = time.After(patience)
		case <-late:
			j.kill(pid, syscall.SIGKILL)
			close(givenUp)
			late = nil
		case <-ended:
			return
		}
	}
}

func (j *job) kill(pid int, sig syscall.Signal) {
	if j.ownGroup {
		pid = -pid
	}
	_ = syscall.Kill(pid, sig)
}
