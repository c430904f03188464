package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// inotify asks the kernel, without waiting. A folder that comes or goes ends
// it: the next one looks at all folders anew.
type inotify struct {
	fd   int
	dirs map[int32]string // what each watch's names begin with
	buf  [64 << 10]byte
}

const interesting = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

func newNotifier(dir string) notifier {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return newSweep(dir)
	}
	n := &inotify{fd: fd, dirs: map[int32]string{}}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path != dir:
			return nil // the rest can be watched
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case path != dir && strings.ContainsRune("._", rune(d.Name()[0])):
			return fs.SkipDir
		}
		wd, err := unix.InotifyAddWatch(fd, path, interesting)
		if rel := strings.TrimPrefix(path, dir); rel != "" {
			n.dirs[int32(wd)] = rel[1:] + "/"
		}
		return err
	})
	if err != nil {
		n.close()
		return newSweep(dir)
	}
	return n
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
		more, lost, gone := n.parse(n.buf[:count])
		names, all = append(names, more...), all || lost
		if gone {
			return names, true, false
		}
	}
}

// parse reads the kernel's records: watch, mask, cookie, length, name.
func (n *inotify) parse(b []byte) (names []string, lost, gone bool) {
	for len(b) >= unix.SizeofInotifyEvent {
		watch, mask, size := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		b = b[unix.SizeofInotifyEvent:]
		name, _, _ := bytes.Cut(b[:min(size, len(b))], []byte{0})
		b = b[min(size, len(b)):]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			lost = true
		case mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0,
			mask&unix.IN_ISDIR != 0 && mask&(unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MOVED_FROM) != 0:
			gone = true
		case len(name) > 0:
			names = append(names, n.dirs[watch]+string(name))
		}
	}
	return names, lost, gone
}

// wait asks the kernel to wake us. Another look may close it meanwhile, which
// ends the waiting, too.
func (n *inotify) wait(most time.Duration) bool {
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(n.fd), Events: unix.POLLIN}}, int(most.Milliseconds()))
	return err == nil && ready > 0
}

func (n *inotify) close() { _ = unix.Close(n.fd) }
