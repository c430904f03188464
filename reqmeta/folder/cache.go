package folder

import (
	"hash/crc32"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/reqmeta"
)

// Cache keeps the heads of a large folder's files between calls, in one file
// that may be deleted at any time. What it says of a file is believed only as
// long as everything that the file system knows about that file is as it was
// (see stamp and settled); everything odd counts as no cache at all. The zero
// Cache keeps nothing.
type Cache struct {
	Dir     string           // folder of the cache, relative to the root, with slashes; the first part must exist
	Mapping *reqmeta.Mapping // by which the files are read
	Build   string           // names the program that reads the files, to the byte of its sources; "" keeps nothing
	Now     func() time.Time // a cache from the future is not believed; nil: not asked
	Suffix  func() string    // tells the temporary files of writers apart

	clock func(dirfd int, suffix string) (time.Time, error) // nil: clockOf
	same  func(a, b stamp) bool                             // nil: isSame
	least int                                               // 0: cacheLeast
}

const (
	// cacheFile is the name of the cache in its folder.
	cacheFile = "requests.idx"
	// cacheLeast is how many files a folder has at least to be worth a cache.
	cacheLeast = 64
	// settling is how long a file must have been left alone when it was read.
	// No local file system keeps coarser times than a second.
	settling = 1200 * time.Millisecond
	// maxCache bounds what is read into memory.
	maxCache = 1 << 30
)

// few is how many files of n are rather read each time than make the cache
// worth writing again.
func few(n int) int { return min(16, n/64) }

// stamp is all that the file system tells about a file that changes with it.
type stamp struct {
	ino, size    uint64
	mtime, ctime int64 // seconds
	mns, cns     uint32
	mode         uint32
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{
		ino: uint64(st.Ino), size: uint64(st.Size), mode: uint32(st.Mode),
		mtime: int64(st.Mtim.Sec), mns: uint32(st.Mtim.Nsec),
		ctime: int64(st.Ctim.Sec), cns: uint32(st.Ctim.Nsec),
	}
}

func isSame(a, b stamp) bool { return a == b }

// settled reports whether the file had been left alone for a while at birth.
// Whoever changes it after birth gives it another ctime, then: nobody can set a
// ctime, the clock has gone on, and it has gone on by more than one step of the
// coarsest clock that a file system has.
func (s stamp) settled(birth time.Time) bool {
	limit := birth.Add(-settling)
	return time.Unix(s.ctime, int64(s.cns)).Before(limit) && time.Unix(s.mtime, int64(s.mns)).Before(limit)
}

func (c Cache) atLeast() int {
	if c.least > 0 {
		return c.least
	}
	return cacheLeast
}

// place is an opened cache folder and the folder whose files it is about.
type place struct {
	fd       int
	dev, ino uint64 // of the requests folder
	prefix   string
	build    string
}

// sumOf goes on with a sum. The tables of CRC-32C would take as long to make as
// a hundred files to read.
func sumOf(sum uint32, data []byte) uint32 {
	return crc32.Update(sum, crc32.IEEETable, data)
}

// open opens the cache folder, following no link; nil when there is none that
// can be trusted. With create it makes the folder, but never the first part of
// its path.
func (c Cache) open(root string, dirfd int, prefix string, create bool) *place {
	if c.Build == "" || c.Dir == "" || c.Suffix == nil || path.IsAbs(c.Dir) {
		return nil
	}
	fd, err := openParts(root, c.Dir, create)
	if err != nil {
		return nil
	}
	var dir, cache unix.Stat_t
	if unix.Fstat(dirfd, &dir) != nil || unix.Fstat(fd, &cache) != nil || dir.Dev != cache.Dev || !hasTrueTimes(dirfd) {
		unix.Close(fd)
		return nil
	}
	return &place{fd: fd, dev: uint64(dir.Dev), ino: uint64(dir.Ino), prefix: prefix, build: c.Build + c.Mapping.Print()}
}

func (p *place) close() {
	if p != nil {
		unix.Close(p.fd)
	}
}
