package reqmeta

import "golang.org/x/sys/unix"

// gather makes the folder's list.
func (l *loader) gather() {
	if l.index == nil {
		list := make([]*Request, 0, l.count)
		for _, b := range l.all {
			for i := range b.files {
				list = append(list, b.files[i].r)
			}
		}
		l.f.Requests = sorted(list)
		return
	}
	var strangers []*Request
	for _, e := range l.missed {
		if e.isNew {
			strangers = append(strangers, e.r)
		}
	}
	l.f.Requests = merge(l.index.requests(), sorted(strangers), byPath)
}

// keep makes the cache that is to be written, before anybody can change the
// requests.
func (l *loader) keep() {
	if l.birth.IsZero() || l.fresh() <= few(l.count) && !l.shrunk() {
		return
	}
	place := make(map[*Request]int, l.count)
	for i, r := range l.f.Requests {
		place[r] = i
	}
	e, prefix := encoder{birth: l.birth}, l.f.prefix()
	for _, b := range l.all {
		for i := range b.files {
			f := &b.files[i]
			if at, ok := place[f.r]; ok {
				e.add(f, l.stampOf(f), f.path[len(prefix):], at)
			}
		}
	}
	c, root, dir := l.c, l.f.Root, l.dir
	l.f.keep = func() { c.keep(root, dir, prefix, &e) }
}

// shrunk reports whether most of the files that the cache has are gone.
func (l *loader) shrunk() bool { return l.index != nil && l.index.n > 2*l.count+few(l.count) }

// fresh is how many files could be kept that the cache does not have.
func (l *loader) fresh() int {
	n := 0
	for _, b := range l.all {
		for i := range b.files {
			if f := &b.files[i]; f.r != nil && f.storable(l.stampOf(f), l.birth) {
				n++
			}
		}
	}
	if l.index != nil {
		n -= l.count - len(l.missed)
	}
	return n
}

// stampOf is what a file was when it was read, now or for the cache; ino 0:
// nobody knows.
func (l *loader) stampOf(f *file) stamp {
	switch {
	case f.stamp != nil:
		return *f.stamp
	case f.record > 0:
		r, _ := l.index.record(int(f.record - 1))
		return r.stamp
	}
	return stamp{}
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
