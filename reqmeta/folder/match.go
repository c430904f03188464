package folder

import (
	"golang.org/x/sys/unix"

	"aiflow/reqmeta"
)

// matcher compares files with the cache.
type matcher struct {
	maker
	x      *index
	same   func(a, b stamp) bool
	fd     int
	at     int // where the next one should be
	missed []*file
	dec    decoder
}

// take fills in e from the cache; false when it must be read.
func (m *matcher) take(e *file) bool {
	name := e.path[m.prefix:]
	have, i, ok := m.x.find(name, m.at)
	if !ok {
		e.r, e.isNew = m.request(e.path), true
		return false
	}
	m.at = i + 1
	r := m.x.take(i)
	if r == nil {
		return true // it was listed twice
	}
	m.begin(r, e.path)
	e.r = r
	if e.kind != 0 || !have.stored || !have.stamp.settled(m.x.birth) {
		return false
	}
	var st unix.Stat_t
	if unix.Fstatat(m.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || !m.same(have.stamp, stampOf(&st)) {
		return false
	}
	if st.Nlink > 1 {
		e.ino = uint64(st.Ino)
	}
	id := r.ID
	if !m.dec.decode(r, have.head) {
		forget(r, id)
		return false
	}
	e.record = int32(m.at)
	return true
}

// forget takes back what a broken entry of the cache said.
func forget(r *reqmeta.Request, id string) {
	r.ID, r.Meta, r.Problems = id, reqmeta.Meta{}, nil
	r.Heading, r.About = "", reqmeta.About{}
}
