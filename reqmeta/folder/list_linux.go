package folder

import (
	"bytes"
	"encoding/binary"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Fields of struct linux_dirent64.
const (
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// run lists a folder with getdents64: names and types in one go, without a
// stat for each name.
func (l *lister) run(fd int, _ string) error {
	buf := make([]byte, 16<<10)
	var p page
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		p.read(l.prefix, buf[:n])
		for text, at, i := string(p.text), 0, 0; i < len(p.ends); i++ {
			l.dirent(fd, text[at:p.ends[i]], p.kinds[i])
			at = p.ends[i]
		}
	}
}

// page is what one call gave: its paths lie in one piece of memory.
type page struct {
	text  []byte
	ends  []int
	kinds []byte
}

func (p *page) read(prefix string, entries []byte) {
	p.text, p.ends, p.kinds = p.text[:0], p.ends[:0], p.kinds[:0]
	for len(entries) > direntName {
		size := int(binary.NativeEndian.Uint16(entries[direntLen:]))
		name := entries[direntName:size]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		p.text = append(append(p.text, prefix...), name...)
		p.ends, p.kinds = append(p.ends, len(p.text)), append(p.kinds, entries[direntType])
		entries = entries[size:]
	}
}

func (l *lister) dirent(fd int, p string, kind byte) {
	name := p[len(l.prefix):]
	if name == "." || name == ".." {
		return
	}
	if kind == unix.DT_UNKNOWN {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			kind = byte(st.Mode & unix.S_IFMT >> 12) // DT_* are the same numbers
		}
	}
	switch kind {
	case unix.DT_REG, unix.DT_UNKNOWN:
		l.add(p, 0)
	case unix.DT_DIR:
		l.add(p, fs.ModeDir)
	case unix.DT_LNK:
		l.add(p, fs.ModeSymlink)
	default:
		l.add(p, fs.ModeIrregular)
	}
}
