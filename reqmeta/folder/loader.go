package folder

import (
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/reqmeta"
)

// loader reads one folder: it lists what is there, takes from the cache what has
// not changed since, and reads the rest.
type loader struct {
	c      Cache
	f      *Folder
	fd     int
	dir    string
	ignore []string

	files  []file  // those that are requests by their names, in the order of their paths
	missed []*file // not in the cache as they are now
	shut   []shut
	index  *index                        // what the cache said; nil for nothing
	birth  time.Time                     // of the cache that is to be written; zero: none is
	others map[*reqmeta.Request][]string // links that lead to a file
	hard   map[*reqmeta.Request][]string // equal names of a file
}

func (l *loader) load() error {
	li := lister{top: len(l.f.prefix()), prefix: l.f.prefix(), ignore: l.ignore}
	if err := li.all(l.fd); err != nil {
		return err
	}
	l.files, l.f.Temps, l.f.NotRead, l.shut = li.files, li.temps, li.strays, li.shut
	slices.SortFunc(l.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	l.files = slices.CompactFunc(l.files, func(a, b file) bool { return a.path == b.path })
	l.match()
	l.f.read = len(l.missed)
	l.readMissed()
	l.gather()
	l.keep()
	l.f.leaveNotes()
	l.tellOthers()
	return nil
}

// match takes from the cache what is in it as it is now. When the cache is to be
// written, the clock is asked before anything is read.
func (l *loader) match() {
	if len(l.files) >= l.c.atLeast() {
		l.index = l.openIndex()
	}
	requests, prefix := make([]reqmeta.Request, len(l.files)), len(l.f.prefix())
	halves(len(l.files), func(from, to int) {
		look := lookup{index: l.index}
		for i := from; i < to; i++ {
			f := &l.files[i]
			f.r = &requests[i]
			f.r.Path, f.r.ID, f.r.Mapping = f.path, reqmeta.Stem(f.path[prefix:]), l.c.Mapping
			f.taken = l.index != nil && l.take(f, f.path[prefix:], &look)
		}
	})
	for i := range l.files {
		if f := &l.files[i]; !f.taken {
			l.missed = append(l.missed, f)
		}
	}
	switch {
	case l.index == nil && len(l.files) >= l.c.atLeast() && l.c.Build != "" && hasTrueTimes(l.fd),
		l.index != nil && (len(l.missed) > few(len(l.files)) || l.shrunk()):
		l.birth = l.now()
	}
}

func (l *loader) openIndex() *index {
	p := l.c.open(l.f.Root, l.fd, l.f.prefix(), false)
	defer p.close()
	return l.c.index(p.cache(), p)
}

// take fills a request in from the cache; false when its file must be read.
func (l *loader) take(f *file, name string, look *lookup) bool {
	have, i, ok := look.find(name)
	if !ok || f.kind != 0 || !have.stored || !have.stamp.settled(l.index.birth) {
		return false
	}
	same := l.c.same
	if same == nil {
		same = isSame
	}
	var st unix.Stat_t
	if unix.Fstatat(l.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || !same(have.stamp, stampOf(&st)) {
		return false
	}
	if st.Nlink > 1 {
		f.ino = uint64(st.Ino)
	}
	if id := f.r.ID; !look.dec.decode(f.r, have.head) {
		*f.r = reqmeta.Request{Path: f.path, ID: id, Mapping: l.c.Mapping}
		return false
	}
	f.record = int32(i)
	return true
}

// now is what the clock of the cache's file system says; zero when nothing can
// be written there.
func (l *loader) now() time.Time {
	p := l.c.open(l.f.Root, l.fd, l.f.prefix(), true)
	if p == nil {
		return time.Time{}
	}
	defer p.close()
	clock := l.c.clock
	if clock == nil {
		clock = clockOf
	}
	now, err := clock(p.fd, l.c.Suffix())
	if err != nil {
		return time.Time{}
	}
	return now
}

// readMissed reads what the cache did not have.
func (l *loader) readMissed() {
	halves(len(l.missed), func(from, to int) {
		rd := reader{fd: l.fd, prefix: len(l.f.prefix()), ask: !l.birth.IsZero(), buf: make([]byte, firstRead)}
		for _, f := range l.missed[from:to] {
			rd.read(f)
		}
	})
}

// halves does what there is to do with n files, in two goroutines when they are
// many: most of it is waiting for the system.
func halves(n int, do func(from, to int)) {
	if n < 2*manyFiles {
		do(0, n)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { do(0, n/2) })
	do(n/2, n)
	wg.Wait()
}
