package folder

import (
	"sync"
	"time"

	"aiflow/reqmeta"
)

// loader reads one folder. It lists the folder, and two goroutines look at what
// is listed: one begins at once, the other lists first. More than two gain
// little, because the kernel's work on one folder is nearly serial.
type loader struct {
	c      Cache
	f      *Folder
	fd     int
	dir    string
	ignore []string

	index   *index        // what the cache said; nil for nothing
	reading chan struct{} // closed once the second goroutine has read the cache; nil when it need not
	birth   time.Time

	held    []batch // listed and not given out yet: is the folder large enough?
	all     []batch
	count   int // files listed
	batches chan batch
	helped  bool // by a second goroutine
	wg      sync.WaitGroup
	mu      sync.Mutex
	missed  []*file // not in the cache as they are now
	shut    []shut
	others  map[*reqmeta.Request][]string // further names of a file
}

const (
	// maxListed is how many batches can be listed before somebody looks at one.
	maxListed = 64
	// manyStats is how many files the cache must have before asking for their
	// status takes longer than starting a second thread.
	manyStats = 8 * batchSize
	// largeCache is how many bytes take longer to read than that.
	largeCache = 1 << 20
)

// batch is some files in the order of the listing.
type batch struct {
	first int
	files []file
}

func (l *loader) load() error {
	l.open()
	li := lister{top: len(l.f.prefix()), prefix: l.f.prefix(), emit: l.emit, ignore: l.ignore}
	err := li.all(l.fd)
	l.f.Temps, l.f.NotRead, l.shut = li.temps, li.strays, li.shut
	l.finish()
	return err
}

// finish makes the folder when everything has been listed.
func (l *loader) finish() {
	l.release()
	close(l.batches)
	l.work()
	l.wg.Wait()
	l.f.read = l.count
	if l.index != nil {
		l.f.read = len(l.missed)
	}
	l.readMissed()
	l.gather()
	l.keep()
	l.tellOthers()
}

// open reads the cache. A large one is read by the second goroutine while the
// folder is listed.
func (l *loader) open() {
	p := l.c.open(l.f.Root, l.fd, l.f.prefix(), false)
	defer p.close()
	file := p.cache()
	if !l.c.isLarge(file) {
		l.batches = make(chan batch, maxListed)
		l.index = l.c.index(file, p)
		return
	}
	l.batches = make(chan batch, file.size/recordSize/batchSize)
	l.reading, l.helped = make(chan struct{}), true
	l.wg.Go(func() {
		if l.index = l.c.index(file, p); l.index == nil && l.caches() {
			l.birth = l.now()
		}
		close(l.reading)
		l.work()
	})
}

// caches reports whether a cache may be written at all.
func (l *loader) caches() bool { return l.c.Build != "" && hasTrueTimes(l.fd) }

func (l *loader) emit(files []file) {
	b := batch{l.count, files}
	l.count += len(files)
	l.all = append(l.all, b)
	l.held = append(l.held, b)
	if len(l.held)*batchSize >= l.c.atLeast() || len(l.all) > len(l.held) || l.reading != nil || !l.caches() {
		l.release()
	}
}

// release gives out what was held back. Files of a small folder are read and
// nothing else.
func (l *loader) release() {
	if len(l.all) == len(l.held) && len(l.held) > 0 && l.reading == nil {
		if l.count < l.c.atLeast() {
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
	if !l.helped && (l.count >= manyStats || l.index == nil && l.count >= batchSize) {
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
	return reader{maker: l.maker(), fd: l.fd, dir: l.dir, ask: !l.birth.IsZero(), buf: make([]byte, firstRead)}
}

func (l *loader) maker() maker { return maker{prefix: len(l.f.prefix())} }

// work looks at batches until there are no more.
func (l *loader) work() {
	if l.reading != nil {
		<-l.reading
	}
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
	m := matcher{maker: l.maker(), x: l.index, same: l.c.same, fd: l.fd}
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
	if len(l.missed) > few(l.count) || l.shrunk() {
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
