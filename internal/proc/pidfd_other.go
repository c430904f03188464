//go:build unix && !linux

package proc

func inodeOf(int) uint64 { return 0 }

// AliveAs is Unknown here: ask Alive.
func AliveAs(int, uint64) Liveness { return Unknown }
