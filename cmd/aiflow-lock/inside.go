package main

import (
	"os"
	"syscall"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
)

const (
	insideName = "inside"
	gateFD     = 3
	gateOpen   = 'g'
)

// become waits until the lock's record names this process, then turns into the
// command. When the wrapper dies before that, nothing is started.
func become(s *cli.Shell, args []string) error {
	gate := os.NewFile(gateFD, "gate")
	if gate == nil {
		return cli.Usage("missing_command", "command", s.Name)
	}
	b := make([]byte, 1)
	if n, _ := gate.Read(b); n != 1 || b[0] != gateOpen {
		return cli.Exit(fault.LockLost.Info().Exit)
	}
	_ = gate.Close()
	err := syscall.Exec(args[0], args[1:], s.Environ())
	s.Tell(args[1] + ": " + err.Error())
	return cli.Exit(126)
}
