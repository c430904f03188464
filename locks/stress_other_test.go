//go:build unix && !linux

package locks

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

func zombieLeader([]string) {}
