package proc

import "syscall"

// Signal sends sig to exactly the process pid that started at start, and
// reports whether that process is there.
func Signal(pid int, start uint64, sig syscall.Signal) bool {
	st, ok := groupStat(pid)
	if !ok || start == 0 || st.start != start || st.state == 'Z' {
		return false
	}
	member{pid, start}.signal(sig)
	return true
}
