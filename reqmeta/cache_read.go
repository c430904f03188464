package reqmeta

import (
	"encoding/binary"
	"path/filepath"
	"sync"
	"time"
	"unsafe"
)

// The file: a header of headSize bytes, tag, prefix, one record of recordSize
// bytes per file in the order of the folder's listing, and the names and heads
// that the records point to. Everything behind the sum is summed.
const (
	cacheMagic  = "aiflowRQ"
	cacheFormat = 2
	headSize    = 64
	recordSize  = 56
	sumFrom     = 16
)

var le = binary.LittleEndian

// index is a cache that has been read and found whole.
type index struct {
	birth   time.Time
	dir     string // absolute path of the requests folder
	records []byte
	blob    string // strings of requests point into it
	n       int

	names  map[string]int // made when the folder has changed
	byName sync.Once
}

// index reads the cache; nil unless it is whole, of this build and about this
// folder.
func (c Cache) index(p *place, dir string) *index {
	if p == nil {
		return nil
	}
	x := parseIndex(readCache(p.fd), p)
	if x == nil || c.Now != nil && c.Now().Before(x.birth) {
		return nil
	}
	x.dir = dir
	return x
}

func parseIndex(data []byte, p *place) *index {
	if len(data) < headSize || string(data[:8]) != cacheMagic || le.Uint32(data[8:]) != cacheFormat ||
		le.Uint64(data[16:]) != uint64(len(data)) || le.Uint64(data[24:]) != p.dev || le.Uint64(data[32:]) != p.ino {
		return nil
	}
	n, tag, prefix := uint64(le.Uint32(data[52:])), uint64(le.Uint32(data[56:])), uint64(le.Uint32(data[60:]))
	first := headSize + tag + prefix
	last := first + n*recordSize
	if last > uint64(len(data)) || string(data[headSize:headSize+tag]) != p.build || string(data[headSize+tag:first]) != p.prefix ||
		sumOf(0, data[sumFrom:]) != le.Uint32(data[12:]) {
		return nil
	}
	blob := data[last:]
	return &index{
		birth: time.Unix(int64(le.Uint64(data[40:])), int64(le.Uint32(data[48:]))), n: int(n),
		records: data[first:last], blob: unsafe.String(unsafe.SliceData(blob), len(blob)),
	}
}

// record is one file in the cache.
type record struct {
	stamp  stamp
	name   string
	head   string // encoded
	stored bool   // false: there is only the name
}

func (x *index) record(i int) (r record, ok bool) {
	b := x.records[i*recordSize : (i+1)*recordSize]
	at, name, head := uint64(le.Uint32(b[44:])), uint64(le.Uint16(b[52:])), uint64(le.Uint32(b[48:]))
	if at+name+head > uint64(len(x.blob)) {
		return record{}, false
	}
	r.name, r.head, r.stored = x.blob[at:at+name], x.blob[at+name:at+name+head], b[54] == 1
	r.stamp = stamp{
		ino: le.Uint64(b), size: le.Uint64(b[8:]), mtime: int64(le.Uint64(b[16:])), ctime: int64(le.Uint64(b[24:])),
		mns: le.Uint32(b[32:]), cns: le.Uint32(b[36:]), mode: le.Uint32(b[40:]),
	}
	return r, true
}

// find looks a name up, first where it stood when the cache was written.
func (x *index) find(name string, guess int) (record, int) {
	if guess < x.n {
		if r, ok := x.record(guess); ok && r.name == name {
			return r, guess + 1
		}
	}
	x.byName.Do(func() {
		x.names = make(map[string]int, x.n)
		for i := range x.n {
			if r, ok := x.record(i); ok {
				x.names[r.name] = i
			}
		}
	})
	i, ok := x.names[name]
	if !ok {
		return record{}, guess
	}
	r, _ := x.record(i)
	return r, i + 1
}

// decoder fills requests from encoded heads. Its lists come out of larger
// pieces of memory.
type decoder struct {
	rest  string
	bad   bool
	lists []string
}

// decode gives the request its head. False: the bytes make no sense.
func (d *decoder) decode(r *Request, head string, x *index, name string) bool {
	d.rest, d.bad = head, false
	m := &r.Meta
	for _, s := range [...]*string{&r.ID, &m.ID, &m.Title, &m.Priority, &m.Status, &m.Estimate, &m.Base, &r.heading} {
		*s = d.text()
	}
	m.Labels, m.DependsOn = d.list(), d.list()
	m.CreatedAt, m.UpdatedAt = d.date(), d.date()
	m.Steps, m.Unknown = d.steps(), d.pairs()
	if d.number() == 1 {
		r.source = filepath.Join(x.dir, name)
	}
	return !d.bad && d.rest == ""
}

func (d *decoder) number() int {
	if d.rest == "" {
		d.bad = true
		return 0
	}
	if c := d.rest[0]; c < 0x80 {
		d.rest = d.rest[1:]
		return int(c)
	}
	var buf [binary.MaxVarintLen64]byte
	v, n := binary.Uvarint(buf[:copy(buf[:], d.rest)])
	if n <= 0 || v > maxCache {
		d.bad, d.rest = true, ""
		return 0
	}
	d.rest = d.rest[n:]
	return int(v)
}

func (d *decoder) text() string {
	n := d.number()
	if n > len(d.rest) {
		d.bad, d.rest = true, ""
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

// count reads a number of things + 1; 0 stands for nil, here -1.
func (d *decoder) count() int {
	n := d.number() - 1
	if n > len(d.rest) {
		d.bad = true
		return -1
	}
	return n
}

func (d *decoder) list() []string {
	n := d.count()
	if n < 0 {
		return nil
	}
	if n == 0 {
		return []string{}
	}
	if n > len(d.lists) {
		d.lists = make([]string, max(n, 512))
	}
	list := d.lists[:n:n]
	d.lists = d.lists[n:]
	for i := range list {
		list[i] = d.text()
	}
	return list
}

// date takes most points in time as numbers; one with a zone of its own is
// read from its text again.
func (d *decoder) date() Date {
	form, text := d.number(), d.text()
	switch form {
	case dateNone:
		return Date{Text: text}
	case dateUTC:
		if len(d.rest) < 12 {
			d.bad = true
			return Date{}
		}
		b := unsafe.Slice(unsafe.StringData(d.rest), 12)
		d.rest = d.rest[12:]
		return Date{Time: time.Unix(int64(le.Uint64(b)), int64(le.Uint32(b[8:]))).UTC(), Text: text}
	}
	date, ok := parseDate(text)
	d.bad = d.bad || !ok
	return date
}

func (d *decoder) steps() []Step {
	n := d.count()
	if n < 0 {
		return nil
	}
	list := make([]Step, n)
	for i := range list {
		list[i] = Step{d.text(), d.text(), d.text()}
	}
	return list
}

func (d *decoder) pairs() map[string]string {
	n := d.count()
	if n < 0 {
		return nil
	}
	m := make(map[string]string, n)
	for range n {
		k := d.text()
		m[k] = d.text()
	}
	return m
}
