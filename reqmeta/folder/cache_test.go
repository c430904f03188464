package folder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aiflow/reqmeta"
)

const kept = 150 // files of the folder that is cached in tests

// cacheDesk is a project whose cache was written long after its files.
type cacheDesk struct {
	t    *testing.T
	root string
	c    Cache
}

func newCacheDesk(t *testing.T) *cacheDesk {
	t.Helper()
	d := &cacheDesk{t: t, root: t.TempDir()}
	for _, dir := range []string{"requests/archive/old", ".aiflow"} {
		if err := os.MkdirAll(filepath.Join(d.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(d.root, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if !hasTrueTimes(fd) {
		t.Skip("no cache on this file system")
	}
	for i := range kept {
		d.write(fileName(i), text(i, 0))
	}
	n := 0
	var mu sync.Mutex
	d.c = Cache{least: 2 * cacheLeast, Dir: ".aiflow/cache", Build: "1 abc", Suffix: func() string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint("t", n) }}
	d.c.clock = func(int, string) (time.Time, error) { return time.Now().Add(time.Hour), nil }
	return d
}

// fileName puts some files into sub-folders.
func fileName(i int) string {
	return map[int]string{6: "archive/old/", 9: "archive/"}[i%10] + fmt.Sprintf("RQ-%04d.md", i)
}

// text has the same size whatever the version is.
func text(i, version int) string {
	extra := []string{"", "labels: []\n", "steps:\n  - title: a\n    run: b\n", "x_own: 1\n", "estimate: S\nbase: main\n"}[i%5]
	dates := []string{"2025-01-01", "2025-01-02T03:04:05Z", "2025-01-02T03:04:05.123456789+09:00", "2025-01-02T03:04:05+00:00", "0001-01-01"}[i%5]
	return fmt.Sprintf("---\nstatus: ready\npriority: P%d\ntitle: t%04d\ndepends_on: [RQ-%04d, x]\nupdated_at: %s\n%s---\n# h\n", version%4, version, i/2, dates, extra)
}

func (d *cacheDesk) path(name string) string { return filepath.Join(d.root, "requests", name) }

func (d *cacheDesk) write(name, data string) { d.put(d.path(name), data) }

func (d *cacheDesk) put(path, data string) {
	d.t.Helper()
	d.must(os.WriteFile(path, []byte(data), 0o644))
}

func (d *cacheDesk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// tick waits until the clock of the file system has gone on: without that the
// clock above, which lies, would let one step of it pass unseen.
func (d *cacheDesk) tick() {
	d.t.Helper()
	probe := filepath.Join(d.root, "probe")
	first := time.Time{}
	for {
		d.put(probe, "x")
		fi, err := os.Stat(probe)
		d.must(err)
		if first.IsZero() {
			first = fi.ModTime()
		} else if fi.ModTime().After(first) {
			return
		}
	}
}

func (d *cacheDesk) file() string { return filepath.Join(d.root, ".aiflow", "cache", cacheFile) }

func (d *cacheDesk) load() *Folder {
	d.t.Helper()
	f, err := d.c.Load(d.root, "requests")
	d.must(err)
	return f
}

// fill writes the cache and shows that it is used.
func (d *cacheDesk) fill() {
	d.t.Helper()
	d.load().Keep()
	if f := d.load(); f.read != 0 {
		d.t.Fatalf("%d files read with a full cache", f.read)
	}
	d.tick()
}

// differs says how the folder with cache differs from the one without; "" for
// not at all.
func (d *cacheDesk) differs(f *Folder) string {
	d.t.Helper()
	want, err := Cache{}.Load(d.root, "requests")
	d.must(err)
	if len(f.Requests) != len(want.Requests) {
		return fmt.Sprintf("%d requests, want %d", len(f.Requests), len(want.Requests))
	}
	for i, r := range f.Requests {
		if !reflect.DeepEqual(r, want.Requests[i]) {
			return fmt.Sprintf("%+v\nwant %+v", r, want.Requests[i])
		}
	}
	if !reflect.DeepEqual([]any{f.byID, f.twins, f.dups, f.vague, f.names, f.NotRead}, []any{want.byID, want.twins, want.dups, want.vague, want.names, want.NotRead}) {
		return "other ids"
	}
	return ""
}

// bySizeAndTime is what a careless cache compares.
func bySizeAndTime(a, b stamp) bool {
	return a.size == b.size && a.mtime == b.mtime && a.mns == b.mns
}

// restored rewrites a file with as many bytes and gives the mtime back.
func (d *cacheDesk) restored(i int, edit func(path, data string)) {
	d.t.Helper()
	path := d.path(fileName(i))
	fi, err := os.Stat(path)
	d.must(err)
	edit(path, text(i, 1))
	d.must(os.Chtimes(path, fi.ModTime(), fi.ModTime()))
}

var fooling = []struct {
	name  string
	try   func(d *cacheDesk)
	fools bool // a cache that trusts size and mtime
	read  int
}{
	{"nothing", func(*cacheDesk) {}, false, 0},
	{"same size, mtime restored", func(d *cacheDesk) { d.restored(7, d.put) }, true, 1},
	{"renamed over, mtime restored", func(d *cacheDesk) {
		d.restored(7, func(path, data string) { d.put(path+".new", data); d.must(os.Rename(path+".new", path)) })
	}, true, 1},
	{"deleted and made again", func(d *cacheDesk) {
		d.restored(7, func(path, data string) { d.must(os.Remove(path)); d.put(path, data) })
	}, true, 1},
	{"a hard link to another file", func(d *cacheDesk) {
		d.restored(7, func(path, data string) {
			other := filepath.Join(d.root, "other")
			d.put(other, data)
			d.must(os.Remove(path))
			d.must(os.Link(other, path))
		})
	}, true, 1},
	{"written through a hard link", func(d *cacheDesk) {
		d.restored(7, func(path, data string) {
			other := filepath.Join(d.root, "other")
			d.must(os.Link(path, other))
			d.put(other, data)
		})
	}, true, 1},
	{"two files swapped", func(d *cacheDesk) {
		for _, i := range []int{10, 15} {
			d.must(os.Chtimes(d.path(fileName(i)), time.Unix(1e9, 0), time.Unix(1e9, 0)))
		}
		a, b := d.path(fileName(10)), d.path(fileName(15))
		d.load()
		d.must(os.Rename(a, a+"x"))
		d.must(os.Rename(b, a))
		d.must(os.Rename(a+"x", b))
	}, false, 2},
	{"a clock put back", func(d *cacheDesk) {
		d.put(d.path(fileName(7)), text(7, 1))
		d.must(os.Chtimes(d.path(fileName(7)), time.Unix(1e8, 0), time.Unix(1e8, 0)))
	}, false, 1},
	{"a clock put forward", func(d *cacheDesk) {
		d.put(d.path(fileName(7)), text(7, 1))
		d.must(os.Chtimes(d.path(fileName(7)), time.Unix(4e9, 0), time.Unix(4e9, 0)))
	}, false, 1},
	{"mode changed", func(d *cacheDesk) { d.must(os.Chmod(d.path(fileName(7)), 0)) }, false, 1},
	{"a link in its place", func(d *cacheDesk) {
		d.must(os.Remove(d.path(fileName(7))))
		d.must(os.Symlink(fileName(8), d.path(fileName(7))))
	}, false, 1},
	{"a folder in its place", func(d *cacheDesk) {
		d.must(os.Remove(d.path(fileName(7))))
		d.must(os.Mkdir(d.path(fileName(7)), 0o755))
	}, false, 1},
	{"one more and one less", func(d *cacheDesk) { d.must(os.Remove(d.path(fileName(7)))); d.write("A.md", text(1, 1)) }, false, 1},
	{"an id that another file has", func(d *cacheDesk) { d.write("RQ-0001-x.md", "---\nid: RQ-0001\nstatus: ready\npriority: P1\n---\n") }, false, 1},
	{"a sub-folder renamed", func(d *cacheDesk) { d.must(os.Rename(d.path("archive"), d.path("done"))) }, false, kept / 5},
	{"a link in place of a sub-folder", func(d *cacheDesk) {
		d.must(os.Rename(d.path("archive/old"), filepath.Join(d.root, "old")))
		d.must(os.Symlink("../../old", d.path("archive/old")))
	}, false, 0},
	{"the folder replaced", func(d *cacheDesk) {
		d.must(os.Rename(d.path(""), filepath.Join(d.root, "old")))
		d.must(os.CopyFS(d.path(""), os.DirFS(filepath.Join(d.root, "old"))))
	}, false, kept},
}

func TestCacheIsNotFooled(t *testing.T) {
	for _, tc := range fooling {
		t.Run(tc.name, func(t *testing.T) {
			d := newCacheDesk(t)
			d.fill()
			tc.try(d)
			f := d.load()
			if diff := d.differs(f); diff != "" || f.read != tc.read {
				t.Errorf("%d read, want %d; %s", f.read, tc.read, diff)
			}
			f.Keep()
			d.tick()
			if diff := d.differs(d.load()); diff != "" {
				t.Errorf("afterwards: %s", diff)
			}
		})
		t.Run(tc.name+", carelessly", func(t *testing.T) {
			d := newCacheDesk(t)
			d.fill()
			d.c.same = bySizeAndTime
			tc.try(d)
			if fooled := d.differs(d.load()) != ""; fooled != tc.fools {
				t.Errorf("fooled: %v, want %v", fooled, tc.fools)
			}
		})
	}
}

func TestDamagedCacheIsNone(t *testing.T) {
	d := newCacheDesk(t)
	d.fill()
	whole, err := os.ReadFile(d.file())
	d.must(err)
	check := func(what string, data []byte) {
		t.Helper()
		d.must(os.WriteFile(d.file(), data, 0o600))
		if f := d.load(); f.read != kept || d.differs(f) != "" {
			t.Errorf("%s: %d read; %s", what, f.read, d.differs(f))
		}
	}
	for _, n := range []int{0, 1, 7, 8, 11, 12, 15, 16, 23, 24, 40, 52, headSize - 1, headSize, headSize + 5, 200, len(whole) / 3, len(whole) / 2, len(whole) - 1} {
		check(fmt.Sprint("cut at ", n), whole[:n])
	}
	check("longer", append(whole[:len(whole):len(whole)], 0))
	check("twice", append(whole[:len(whole):len(whole)], whole...))
	check("zeroes", make([]byte, len(whole)))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range headSize + 40 {
		at := i
		if i >= headSize {
			at = rnd.IntN(len(whole))
		}
		data := append([]byte(nil), whole...)
		data[at] ^= 1 << rnd.IntN(8)
		check(fmt.Sprint("a bit at ", at), data)
	}
	d.must(os.WriteFile(d.file(), whole, 0o600))
	if f := d.load(); f.read != 0 {
		t.Errorf("whole again: %d read", f.read)
	}
}

// Even a cache that was made to deceive must not make the program fall over.
func TestForgedCacheDoesNotPanic(t *testing.T) {
	d := newCacheDesk(t)
	d.fill()
	whole, err := os.ReadFile(d.file())
	d.must(err)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		data := append([]byte(nil), whole...)
		for range 60 {
			data[40+rnd.IntN(len(data)-40)] = byte(rnd.Uint32())
		}
		copy(data[52:64], whole[52:64])
		if rnd.IntN(4) == 0 {
			data[52+rnd.IntN(12)] = byte(rnd.Uint32())
		}
		binary.LittleEndian.PutUint32(data[12:], sumOf(0, data[sumFrom:]))
		d.must(os.WriteFile(d.file(), data, 0o600))
		d.load()
	}
}

func TestCacheOfOthersIsNone(t *testing.T) {
	for name, try := range map[string]func(d *cacheDesk){
		"another build":       func(d *cacheDesk) { d.c.Build = "1 abd" },
		"a longer build name": func(d *cacheDesk) { d.c.Build = "1 abc " },
		"another project": func(d *cacheDesk) {
			o := newCacheDesk(d.t)
			o.fill()
			data, err := os.ReadFile(o.file())
			d.must(err)
			d.must(os.WriteFile(d.file(), data, 0o600))
		},
		"from the future":    func(d *cacheDesk) { d.c.Now = time.Now },
		"others can read it": func(d *cacheDesk) { d.must(os.Chmod(d.file(), 0o640)) },
		"unreadable":         func(d *cacheDesk) { d.must(os.Chmod(d.file(), 0)) },
		"deleted":            func(d *cacheDesk) { d.must(os.RemoveAll(filepath.Dir(d.file()))) },
		"a folder":           func(d *cacheDesk) { d.must(os.Remove(d.file())); d.must(os.Mkdir(d.file(), 0o700)) },
		"a pipe":             func(d *cacheDesk) { d.must(os.Remove(d.file())); d.must(unix.Mkfifo(d.file(), 0o600)) },
		"a link":             func(d *cacheDesk) { d.elsewhere(d.file(), "elsewhere.idx") },
		"a linked folder":    func(d *cacheDesk) { d.elsewhere(filepath.Dir(d.file()), "elsewhere") },
		"a linked .aiflow":   func(d *cacheDesk) { d.elsewhere(filepath.Join(d.root, ".aiflow"), "elsewhere") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newCacheDesk(t)
			d.fill()
			try(d)
			before := d.tree("elsewhere")
			f := d.load()
			if diff := d.differs(f); diff != "" || f.read != kept {
				t.Errorf("%d read; %s", f.read, diff)
			}
			f.Keep()
			if diff := d.differs(d.load()); diff != "" {
				t.Error(diff)
			}
			if after := d.tree("elsewhere"); after != before {
				t.Errorf("elsewhere was\n%s\nis\n%s", before, after)
			}
		})
	}
}

// elsewhere moves path away and leaves a link to it.
func (d *cacheDesk) elsewhere(path, name string) {
	to := filepath.Join(d.root, name)
	d.must(os.Rename(path, to))
	d.must(os.Symlink(to, path))
}

// tree is every file whose name begins with prefix, and when it was changed.
func (d *cacheDesk) tree(prefix string) string {
	var b strings.Builder
	_ = filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(path, filepath.Join(d.root, prefix)) {
			var st unix.Stat_t
			d.must(unix.Lstat(path, &st))
			fmt.Fprintln(&b, path, st.Ino, st.Size, st.Mtim, e.IsDir())
		}
		return nil
	})
	return b.String()
}

// afterFirst is a clock that stands still, that long after the first file was
// written, however long the others took.
func (d *cacheDesk) afterFirst(age time.Duration) func(int, string) (time.Time, error) {
	fi, err := os.Stat(d.path(fileName(0)))
	d.must(err)
	return func(int, string) (time.Time, error) { return fi.ModTime().Add(age), nil }
}

func TestCacheIsNotWritten(t *testing.T) {
	for name, try := range map[string]func(d *cacheDesk){
		"fewer than needed": func(d *cacheDesk) { d.c.least = 0; d.shrink(cacheLeast - 1) },
		"no build":          func(d *cacheDesk) { d.c.Build = "" },
		"no .aiflow":        func(d *cacheDesk) { d.must(os.Remove(filepath.Join(d.root, ".aiflow"))) },
		"files too fresh":   func(d *cacheDesk) { d.c.clock = d.afterFirst(0) },
		"just not settled":  func(d *cacheDesk) { d.c.clock = d.afterFirst(settling) },
		"a clock put back": func(d *cacheDesk) {
			d.c.clock = func(int, string) (time.Time, error) { return time.Now().Add(-time.Hour), nil }
		},
		"no clock": func(d *cacheDesk) {
			d.c.clock = func(int, string) (time.Time, error) { return time.Time{}, errors.New("full") }
		},
		"a small folder": func(d *cacheDesk) { d.shrink(2*cacheLeast - 1) },
		".aiflow is a file": func(d *cacheDesk) {
			d.must(os.Remove(filepath.Join(d.root, ".aiflow")))
			d.put(filepath.Join(d.root, ".aiflow"), "")
		},
		"a path upwards":     func(d *cacheDesk) { d.c.Dir = ".aiflow/../../x" },
		"an absolute folder": func(d *cacheDesk) { d.c.Dir = d.root + "/.aiflow/cache" },
	} {
		t.Run(name, func(t *testing.T) {
			d := newCacheDesk(t)
			try(d)
			f := d.load()
			if diff := d.differs(f); diff != "" {
				t.Error(diff)
			}
			f.Keep()
			if _, err := os.Lstat(d.file()); err == nil {
				t.Error("there is a cache")
			}
			if left := d.tree(".aiflow/cache/.requests"); left != "" {
				t.Error("left over:", left)
			}
		})
	}
}

func (d *cacheDesk) shrink(n int) {
	for i := n; i < kept; i++ {
		if err := os.Remove(d.path(fileName(i))); !errors.Is(err, fs.ErrNotExist) {
			d.must(err)
		}
	}
}

// Folders on both sides of each limit are read, kept and read from the cache.
func TestCacheOfEverySize(t *testing.T) {
	for _, n := range []int{cacheLeast, cacheLeast + 1, 2*manyFiles - 1, 2 * manyFiles, 2*manyFiles + 1, 1000} {
		d := newCacheDesk(t)
		d.c.least = 0
		d.shrink(n)
		for i := kept; i < n; i++ {
			d.write(fileName(i), text(i, 0))
		}
		d.fill()
		if diff := d.differs(d.load()); diff != "" {
			t.Errorf("%d files: %s", n, diff)
		}
	}
}

// A cache that is mostly of files that are gone is written anew: it would be
// read as a whole each time.
func TestCacheShrinks(t *testing.T) {
	d := newCacheDesk(t)
	d.c.least = 16
	d.fill()
	before, err := os.Stat(d.file())
	d.must(err)
	d.shrink(kept/2 + 1)
	if f := d.load(); f.read != 0 || f.keep != nil {
		t.Errorf("half is gone: %d read, kept anew: %v", f.read, f.keep != nil)
	}
	d.shrink(40)
	f := d.load()
	f.Keep()
	after, err := os.Stat(d.file())
	d.must(err)
	if f.read != 0 || after.Size() > before.Size()/3 {
		t.Errorf("%d read, %d bytes of %d", f.read, after.Size(), before.Size())
	}
	if f = d.load(); f.read != 0 || f.keep != nil || d.differs(f) != "" {
		t.Errorf("afterwards %d read; %s", f.read, d.differs(f))
	}
}

// What is written as a number is read as the same text.
func TestCacheKnowsAllValues(t *testing.T) {
	ours := slices.Concat(reqmeta.Priorities[:], reqmeta.Statuses[:], reqmeta.Estimates[:], []string{""})
	for _, s := range append(ours, "P9", "weird") {
		var e encoder
		e.value(s)
		d := decoder{data: string(e.blob)}
		if got := d.value(); got != s || d.bad || d.at != len(d.data) || (len(e.blob) == 1) != slices.Contains(ours, s) {
			t.Errorf("%q: %q, %x", s, got, e.blob)
		}
	}
}

func TestCacheFolderIsHiddenFromGit(t *testing.T) {
	d := newCacheDesk(t)
	d.fill()
	data, err := os.ReadFile(filepath.Join(d.root, ".aiflow", "cache", ".gitignore"))
	if err != nil || string(data) != "*\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestReadOnlyCacheFolder(t *testing.T) {
	d := newCacheDesk(t)
	d.must(os.Chmod(filepath.Join(d.root, ".aiflow"), 0o500))
	f := d.load()
	f.Keep()
	if diff := d.differs(f); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Lstat(d.file()); os.Geteuid() != 0 && err == nil {
		t.Error("there is a cache")
	}
}

// What is wrong with files is kept with them, but for what lies between two files
// and for one that could not be read.
func TestProblemsAreKept(t *testing.T) {
	d := newCacheDesk(t)
	d.write(fileName(3), "---\nstatus: weird\n---\n")
	d.write(fileName(4), "---\nstatus: ready\nupdated_at: 2025-12-14T15:01\n---\n") // warnings
	d.write(fileName(5), "---\nid: "+strings.TrimSuffix(fileName(6), ".md")+"\nstatus: ready\n---\ncaf\xe9\n")
	d.write(fileName(7), "no head")
	for range 3 {
		d.load().Keep()
	}
	f := d.load()
	if f.read != 0 || f.keep != nil || d.differs(f) != "" {
		t.Errorf("%d read, %s", f.read, d.differs(f))
	}
}

// A status that was only judged (the file could not be written) is not kept.
func TestWhatOthersChangeInTheFolderIsNotKept(t *testing.T) {
	d := newCacheDesk(t)
	f := d.load()
	f.Requests[5].Meta.Status = reqmeta.Blocked
	f.Keep()
	if diff := d.differs(d.load()); diff != "" {
		t.Error(diff)
	}
}

func TestManyWritersAndReaders(t *testing.T) {
	d := newCacheDesk(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 5 {
				f, err := d.c.Load(d.root, "requests")
				if err != nil {
					t.Error(err)
					return
				}
				if diff := d.differs(f); diff != "" {
					t.Error(diff)
				}
				if i%3 == 0 {
					_ = os.Remove(d.file())
				}
				f.Keep()
			}
		})
	}
	wg.Wait()
	d.load().Keep()
	if f := d.load(); f.read != 0 {
		t.Errorf("%d read", f.read)
	}
}

func TestSettled(t *testing.T) {
	birth := time.Unix(1000, 500)
	for _, tc := range []struct {
		ctime, mtime time.Time
		want         bool
	}{
		{birth.Add(-settling - 1), birth.Add(-settling - 1), true},
		{birth.Add(-settling), birth.Add(-time.Hour), false},
		{birth.Add(-time.Hour), birth.Add(-settling), false},
		{birth, birth, false},
		{birth.Add(time.Hour), birth.Add(-time.Hour), false}, // a clock put back
		{birth.Add(-time.Hour), birth.Add(time.Hour), false},
	} {
		s := stamp{
			ctime: tc.ctime.Unix(), cns: uint32(tc.ctime.Nanosecond()),
			mtime: tc.mtime.Unix(), mns: uint32(tc.mtime.Nanosecond()),
		}
		if s.settled(birth) != tc.want {
			t.Errorf("%v %v: %v", tc.ctime, tc.mtime, !tc.want)
		}
	}
}

// Whatever happens between two loads, the cache changes nothing. A cache that
// trusts size and mtime does not get through this.
func TestCacheEqualsNoCache(t *testing.T) {
	if i, diff := play(t, nil); diff != "" {
		t.Errorf("round %d: %s", i, diff)
	}
	if i, diff := play(t, bySizeAndTime); diff == "" {
		t.Errorf("a careless cache got through all %d rounds", i)
	}
}

// play edits at random and gives the round in which the cache was wrong.
func play(t *testing.T, same func(a, b stamp) bool) (int, string) {
	t.Helper()
	d := newCacheDesk(t)
	d.c.same = same
	d.fill()
	rnd := rand.New(rand.NewPCG(5, 6))
	const rounds = 20
	for i := range rounds {
		for range 1 + rnd.IntN(30) {
			d.edit(rnd)
		}
		f := d.load()
		if diff := d.differs(f); diff != "" {
			return i, diff
		}
		f.Keep()
		d.tick()
	}
	return rounds, ""
}

func (d *cacheDesk) edit(rnd *rand.Rand) {
	name := fileName(rnd.IntN(kept + 20))
	path := d.path(name)
	old := time.Unix(int64(1e9+rnd.IntN(2)), 0)
	data := text(rnd.IntN(10), rnd.IntN(10))
	switch rnd.IntN(9) {
	case 0, 1:
		_ = os.WriteFile(path, []byte(data), 0o644)
	case 2, 3:
		_ = os.WriteFile(path, []byte(data), 0o644)
		_ = os.Chtimes(path, old, old)
	case 4:
		_ = os.Remove(path)
	case 5:
		_ = os.Rename(path, d.path(fileName(rnd.IntN(kept+20))))
	case 6:
		_ = os.Chtimes(path, old, old)
	case 7:
		_ = os.Remove(path)
		_ = os.Link(d.path(fileName(rnd.IntN(kept))), path)
	case 8:
		_ = os.WriteFile(path, []byte("---\nbroken"), 0o644)
	}
}

// A link to a file leaves that file as it is, so the cache must not remember it.
func TestOtherNamesAreNotKept(t *testing.T) {
	d := newCacheDesk(t)
	d.must(os.Symlink(fileName(3), d.path("other.md")))
	for range 3 {
		d.load().Keep()
	}
	f := d.load()
	if diff := d.differs(f); diff != "" || f.read > 1 {
		t.Errorf("with a link %d read; %s", f.read, diff)
	}
	d.must(os.Remove(d.path("other.md")))
	if diff := d.differs(d.load()); diff != "" {
		t.Errorf("without it: %s", diff)
	}
}

// What was read by one mapping is not believed by another.
func TestCacheOfAMapping(t *testing.T) {
	d := newCacheDesk(t)
	d.fill()
	d.c.Mapping = reqmeta.NewMapping(map[string][]string{"title": {"x_own"}}, nil, false)
	if f := d.load(); f.read != kept {
		t.Errorf("%d files read, want all", f.read)
	}
}
