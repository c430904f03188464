//go:build !linux

package proc

func leaveMainThread() {}
