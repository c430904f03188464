//go:build unix

package gitcmd

import (
	"os/exec"
	"syscall"
	"time"
)

// grace is how long git may take to end after SIGTERM, and how long the output
// is waited for that a background process of a hook keeps open.
const grace = time.Second

// alone puts git into a session of its own: no terminal it could ask on, and
// Ctrl-C reaches us, not a git in the middle of a write. Cancelling ends it
// with SIGTERM, upon which git removes its lock files.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
}
