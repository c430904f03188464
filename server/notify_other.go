//go:build !linux

package server

func newNotifier(dir string) notifier { return newSweep(dir) }
