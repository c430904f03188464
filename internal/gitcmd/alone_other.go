//go:build !unix

package gitcmd

import (
	"os/exec"
	"time"
)

func alone(cmd *exec.Cmd) { cmd.WaitDelay = time.Second }
