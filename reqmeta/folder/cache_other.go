//go:build !linux

package folder

// hasTrueTimes: nothing has been proved on other systems, so nothing is kept.
func hasTrueTimes(int) bool { return false }
