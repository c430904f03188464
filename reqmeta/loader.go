package reqmeta

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// loader reads one folder. It lists the folder, and two goroutines look at what
// is listed: one begins at once, the other lists and sorts first. More than two
// gain little, because the kernel's work on one folder is nearly serial.
type loader struct {
	c   Cache
	f   *Folder
	fd  int
	dir string

	place *place // of the cache; nil without one
	index *index // what the cache said; nil for nothing
	birth time.Time

	held    []batch // listed and not given out yet: is the folder large enough?
	all     []batch
	batches chan batch
	helped  bool // by a second goroutine
	wg      sync.WaitGroup
	mu      sync.Mutex
	missed  []*file // not in the cache as they are now
}

// maxListed is how many batches can be listed before somebody looks at one.
const maxListed = 64

// manyStats is how many files the cache must have before asking for their
// status takes longer than starting a second thread.
const manyStats = 8 * batchSize

// batch is some files in the order of the listing.
type batch struct {
	first int
	files []file
}

func (l *loader) load() error {
	l.place = l.c.open(l.f.Root, l.fd, l.f.prefix(), false)
	l.index = l.c.index(l.place, l.dir)
	l.place.close()
	l.batches = make(chan batch, maxListed)
	li := lister{prefix: l.f.prefix(), emit: l.emit}
	err := li.run(l.fd, l.dir)
	l.f.Temps = li.temps
	l.release()
	sortByPath(l.f.Requests)
	close(l.batches)
	l.work()
	l.wg.Wait()
	l.f.read = len(l.f.Requests)
	if l.index != nil {
		l.f.read = len(l.missed)
	}
	l.readMissed()
	l.keep()
	return err
}

// caches reports whether a cache may be written at all.
func (l *loader) caches() bool { return l.c.Build != "" && hasTrueTimes(l.fd) }

func (l *loader) emit(files []file) {
	b := batch{len(l.f.Requests), files}
	for i := range files {
		l.f.Requests = append(l.f.Requests, files[i].r)
	}
	l.all = append(l.all, b)
	l.held = append(l.held, b)
	if len(l.held)*batchSize >= l.c.atLeast() || len(l.all) > len(l.held) || !l.caches() {
		l.release()
	}
}

// release gives out what was held back. Files of a small folder are read and
// nothing else.
func (l *loader) release() {
	if len(l.all) == len(l.held) && len(l.held) > 0 {
		if len(l.f.Requests) < l.c.atLeast() {
			l.index = nil
		} else if l.index == nil && l.caches() {
			l.birth = l.now()
		}
	}
	l.getHelp()
	for _, b := range l.held {
		l.batches <- b
	}
	l.held = l.held[:0]
}

// getHelp starts the second goroutine once there is enough for two. That is
// before the channel is full.
func (l *loader) getHelp() {
	n := len(l.f.Requests)
	if !l.helped && (n >= manyStats || l.index == nil && n >= batchSize) {
		l.helped = true
		l.wg.Go(l.work)
	}
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

func (l *loader) reader() reader {
	return reader{fd: l.fd, dir: l.dir, prefix: len(l.f.prefix()), ask: !l.birth.IsZero(), buf: make([]byte, firstRead)}
}

// work looks at batches until there are no more.
func (l *loader) work() {
	if l.index != nil {
		l.match()
		return
	}
	rd := l.reader()
	for b := range l.batches {
		for i := range b.files {
			rd.read(&b.files[i])
		}
	}
}

// match takes from the cache what is in it as it is now.
func (l *loader) match() {
	m := matcher{x: l.index, same: l.c.same, fd: l.fd, prefix: len(l.f.prefix())}
	if m.same == nil {
		m.same = isSame
	}
	for b := range l.batches {
		m.at = b.first
		for i := range b.files {
			if !m.take(&b.files[i]) {
				m.missed = append(m.missed, &b.files[i])
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed = append(l.missed, m.missed...)
}

// readMissed reads what the cache did not have. When the cache is to be written
// again, the clock is asked before anything is read.
func (l *loader) readMissed() {
	if len(l.missed) == 0 {
		return
	}
	if len(l.missed) > few(len(l.f.Requests)) {
		l.birth = l.now()
	}
	read := func(files []*file) {
		rd := l.reader()
		for _, e := range files {
			rd.read(e)
		}
	}
	half := len(l.missed) / 2
	if half > batchSize {
		l.wg.Go(func() { read(l.missed[:half]) })
		read(l.missed[half:])
		l.wg.Wait()
		return
	}
	read(l.missed)
}

// keep makes the cache that is to be written, before anybody can change the
// requests.
func (l *loader) keep() {
	if l.birth.IsZero() {
		return
	}
	fresh := 0
	for _, b := range l.all {
		for i := range b.files {
			if b.files[i].stamp.ino != 0 && b.files[i].storable(l.birth) {
				fresh++
			}
		}
	}
	if l.index != nil {
		fresh -= len(l.f.Requests) - len(l.missed)
	}
	if fresh <= few(len(l.f.Requests)) {
		return
	}
	e, prefix := encoder{birth: l.birth}, l.f.prefix()
	for _, b := range l.all {
		for i := range b.files {
			e.add(&b.files[i], b.files[i].r.Path[len(prefix):])
		}
	}
	c, root, dir := l.c, l.f.Root, l.dir
	l.f.keep = func() { c.keep(root, dir, prefix, &e) }
}

func (c Cache) keep(root, dir, prefix string, e *encoder) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	p := c.open(root, fd, prefix, true)
	if p == nil {
		return
	}
	defer p.close()
	if data := e.bytes(p); data != nil {
		p.write(data, c.Suffix())
	}
}

// matcher compares files with the cache.
type matcher struct {
	x      *index
	same   func(a, b stamp) bool
	fd     int
	prefix int
	at     int // where the next one should be
	missed []*file
	dec    decoder
	status statuser
}

// take fills in e from the cache; false when it must be read.
func (m *matcher) take(e *file) bool {
	name := e.r.Path[m.prefix:]
	var have record
	have, m.at = m.x.find(name, m.at)
	if e.kind != 0 || !have.stored || !have.stamp.settled(m.x.birth) {
		return false
	}
	if m.status.ask(m.fd, name) != nil || m.status.st.Mode&unix.S_IFMT != unix.S_IFREG || !m.same(have.stamp, stampOf(&m.status.st)) {
		return false
	}
	id := e.r.ID
	if !m.dec.decode(e.r, have.head, m.x, name) {
		e.r.forget(id)
		return false
	}
	e.r.hash, e.stamp = foldHash(e.r.ID), have.stamp
	return true
}

// forget takes back what a broken entry of the cache said. The path stays as it
// is: the list is being sorted by it at the same time.
func (r *Request) forget(id string) {
	r.ID, r.Meta, r.Problems = id, Meta{}, nil
	r.heading, r.source, r.hash = "", "", 0
}

// stampAt is the stamp of an open file; zero unless it is a plain one.
func stampAt(fd int) stamp {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return stamp{}
	}
	return stampOf(&st)
}
