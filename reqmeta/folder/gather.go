package folder

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aiflow/reqmeta"
)

// gather makes the folder's list.
func (l *loader) gather() {
	list := make([]*reqmeta.Request, len(l.files))
	for i := range l.files {
		list[i] = l.files[i].r
	}
	for _, s := range l.shut {
		r := reqmeta.New(s.path)
		r.Fail("unreadable", 0, "cause", s.cause)
		list = append(list, r)
	}
	if len(l.shut) > 0 {
		slices.SortFunc(list, byPath)
	}
	l.f.Requests = l.oneEach(list)
	slices.SortFunc(l.f.NotRead, func(a, b Stray) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(l.f.Temps)
}

func byPath(a, b *reqmeta.Request) int { return strings.Compare(a.Path, b.Path) }

// oneEach drops all names of a file but one. Of the names that are as good the
// one that fits the head stays, else the first.
// A link that leads to no request of the folder is told as one that is broken.
func (l *loader) oneEach(list []*reqmeta.Request) []*reqmeta.Request {
	var links []*reqmeta.Request
	same := map[uint64][]*reqmeta.Request{}
	for i := range l.files {
		switch f := &l.files[i]; {
		case f.kind == fs.ModeSymlink:
			links = append(links, f.r)
		case f.ino != 0:
			same[f.ino] = append(same[f.ino], f.r)
		}
	}
	if len(links) == 0 && len(same) == 0 {
		return list
	}
	others, hard := map[*reqmeta.Request][]string{}, map[*reqmeta.Request][]string{}
	instead := map[*reqmeta.Request]*reqmeta.Request{} // of one that is dropped
	for _, names := range same {
		slices.SortFunc(names, func(a, b *reqmeta.Request) int {
			return cmp.Or(cmp.Compare(len(a.Problems), len(b.Problems)), byPath(a, b))
		})
		for _, r := range names[1:] {
			if l.isSame(names[0], r) {
				instead[r] = names[0]
				hard[names[0]] = append(hard[names[0]], r.Path)
			}
		}
	}
	slices.SortFunc(links, byPath)
	for _, r := range links {
		if to := l.follow(list, r); to != nil {
			to = cmp.Or(instead[to], to)
			instead[r] = to
			others[to] = append(others[to], r.Path)
		} else {
			target, _ := os.Readlink(filepath.Join(l.f.Root, filepath.FromSlash(r.Path)))
			r.Fail("bad_link", 0, "target", target)
		}
	}
	l.f.names, l.others, l.hard = map[string]string{}, others, hard
	for _, names := range []map[*reqmeta.Request][]string{others, hard} {
		for r, paths := range names {
			slices.Sort(paths)
			for _, p := range paths {
				l.f.names[p], l.f.names[reqmeta.Stem(p)] = r.Path, r.Path
			}
		}
	}
	return slices.DeleteFunc(list, func(r *reqmeta.Request) bool { return instead[r] != nil })
}

// tellOthers says of each file that has more names which those are. Two equal names
// are an error: the next write, ours or git's, makes two files of the one. The cache
// is made before: other names come and go without a change of the file.
func (l *loader) tellOthers() {
	for r, paths := range l.hard {
		r.Fail("hard_link", 0, "paths", reqmeta.Join(paths))
	}
	for r, paths := range l.others {
		r.Warn("other_names", 0, "paths", reqmeta.Join(paths))
	}
}

// isSame reports whether two names are of one file.
func (l *loader) isSame(a, b *reqmeta.Request) bool {
	if a.Path == b.Path {
		return false // it was listed twice
	}
	x, err1 := os.Lstat(filepath.Join(l.f.Root, filepath.FromSlash(a.Path)))
	y, err2 := os.Lstat(filepath.Join(l.f.Root, filepath.FromSlash(b.Path)))
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// follow gives the request that a link leads to; nil for none.
func (l *loader) follow(list []*reqmeta.Request, link *reqmeta.Request) *reqmeta.Request {
	dir, err := filepath.EvalSymlinks(l.dir)
	if err != nil {
		return nil
	}
	to, err := filepath.EvalSymlinks(filepath.Join(l.f.Root, filepath.FromSlash(link.Path)))
	if err != nil {
		return nil
	}
	path := l.f.prefix() + strings.TrimPrefix(filepath.ToSlash(to), filepath.ToSlash(dir)+"/")
	i, ok := slices.BinarySearchFunc(list, path, func(r *reqmeta.Request, path string) int { return strings.Compare(r.Path, path) })
	if !ok {
		return nil
	}
	return list[i]
}

// keep makes the cache that is to be written, before anybody can change the
// requests.
func (l *loader) keep() {
	if l.birth.IsZero() || l.fresh() <= few(len(l.files)) && !l.shrunk() {
		return
	}
	kept := make(map[*reqmeta.Request]bool, len(l.files))
	for _, r := range l.f.Requests {
		kept[r] = true
	}
	e, prefix := encoder{birth: l.birth}, l.f.prefix()
	for i := range l.files {
		f := &l.files[i]
		if kept[f.r] {
			e.add(f, l.stampOf(f), f.path[len(prefix):])
		}
	}
	c, root, dir := l.c, l.f.Root, l.dir
	l.f.keep = func() { c.keep(root, dir, prefix, &e) }
}

// shrunk reports whether most of the files that the cache has are gone.
func (l *loader) shrunk() bool { return l.index != nil && l.index.n > 2*len(l.files)+few(len(l.files)) }

// fresh is how many files could be kept that the cache does not have.
func (l *loader) fresh() int {
	n := 0
	for i := range l.files {
		if f := &l.files[i]; f.storable(l.stampOf(f), l.birth) {
			n++
		}
	}
	if l.index != nil {
		n -= len(l.files) - len(l.missed)
	}
	return n
}

// stampOf is what a file was when it was read, now or for the cache; ino 0:
// nobody knows.
func (l *loader) stampOf(f *file) stamp {
	switch {
	case f.stamp != nil:
		return *f.stamp
	case f.taken:
		r, _ := l.index.record(int(f.record))
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
