package server

import (
	"bytes"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// inotify asks the kernel, without waiting.
type inotify struct {
	fd  int
	buf [64 << 10]byte
}

const interesting = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

func newNotifier(dir string) notifier {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return newSweep(dir)
	}
	if _, err := unix.InotifyAddWatch(fd, dir, interesting); err != nil {
		_ = unix.Close(fd)
		return newSweep(dir)
	}
	return &inotify{fd: fd}
}

func (n *inotify) changes() (names []string, all, ok bool) {
	for {
		count, err := unix.Read(n.fd, n.buf[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return names, all, true
		case err != nil || count <= 0:
			return names, true, false
		}
		more, lost, gone := parseEvents(n.buf[:count])
		names, all = append(names, more...), all || lost
		if gone {
			return names, true, false
		}
	}
}

// parseEvents reads the kernel's records: watch, mask, cookie, length, name.
func parseEvents(b []byte) (names []string, lost, gone bool) {
	for len(b) >= unix.SizeofInotifyEvent {
		mask, size := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		b = b[unix.SizeofInotifyEvent:]
		name, _, _ := bytes.Cut(b[:min(size, len(b))], []byte{0})
		b = b[min(size, len(b)):]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			lost = true
		case mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0:
			gone = true
		case len(name) > 0:
			names = append(names, string(name))
		}
	}
	return names, lost, gone
}

func (n *inotify) close() { _ = unix.Close(n.fd) }
