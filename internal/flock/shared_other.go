//go:build unix && !linux

package flock

// isShared: not asked here, so it counts as shared.
func isShared(string) bool { return true }
