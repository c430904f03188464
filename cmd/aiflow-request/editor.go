package main

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/proc"
)

// editorOf is the editor that the environment names, or "".
func editorOf(s *cli.Shell) string { return cmp.Or(s.Getenv("VISUAL"), s.Getenv("EDITOR")) }

// editorCommand starts editor, which may have arguments, with path. The shell
// becomes the editor, so that signals reach it.
func editorCommand(s *cli.Shell, editor, path string) *exec.Cmd {
	become := "exec "
	if words := strings.Fields(editor); len(words) > 0 && strings.Contains(words[0], "=") { // NAME=value first
		become = "exec env "
	}
	cmd := exec.Command("sh", "-c", become+editor+` "$@"`, editor, path)
	cmd.Env = proc.Apart(s.Environ()) // it may leave a daemon of the person's
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, os.Stderr, s.Stderr
	if s.Terminal() {
		cmd.Stdout = s.Stdout
	}
	return cmd
}

// attend runs an editor to its end. Ctrl-C is the editor's own; what asks us
// to end (SIGTERM, SIGHUP) is passed on and given back.
func attend(cmd *exec.Cmd) (ended os.Signal, err error) {
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(keys)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ends)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	for {
		select {
		case err := <-over:
			return ended, err
		case ended = <-ends:
			_ = cmd.Process.Signal(ended)
		}
	}
}

// exitStatus is a process's exit status as a shell would say it; -1 when it
// never began.
func exitStatus(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return -1
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}
