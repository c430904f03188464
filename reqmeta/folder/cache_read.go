package folder

import (
	"encoding/binary"
	"sort"
	"time"
	"unsafe"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// The file: a header of headSize bytes, tag, prefix, one record of recordSize
// bytes per file in the order of their paths, and the names and heads
// that the records point to. Everything behind the sum is summed.
const (
	cacheMagic  = "aiflowRQ"
	cacheFormat = 6
	headSize    = 64
	recordSize  = 56
	sumFrom     = 16
)

var le = binary.LittleEndian

// index is a cache that has been read and found whole.
type index struct {
	birth   time.Time
	records []byte
	blob    string // strings of requests point into it
	n       int
}

// lookup takes requests out of an index, one after the other.
type lookup struct {
	*index
	at  int // where the next name should be: names come in order
	dec decoder
}

// index reads the cache; nil unless it is whole, of this build and about this
// folder.
func (c Cache) index(f *cached, p *place) *index {
	if f == nil {
		return nil
	}
	x := parseIndex(f.read(), p)
	if x == nil || c.Now != nil && c.Now().Before(x.birth) {
		return nil
	}
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
	x := &index{
		birth: time.Unix(int64(le.Uint64(data[40:])), int64(le.Uint32(data[48:]))), n: int(n),
		records: data[first:last], blob: unsafe.String(unsafe.SliceData(blob), len(blob)),
	}
	return x
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

// find looks a name up, first behind the one that was found before, and gives its
// record and the number of it.
func (x *lookup) find(name string) (r record, i int, ok bool) {
	if x.at < x.n {
		if r, ok = x.record(x.at); ok && r.name == name {
			x.at++
			return r, x.at - 1, true
		}
	}
	i = sort.Search(x.n, func(i int) bool { r, _ := x.record(i); return r.name >= name })
	if i < x.n {
		r, ok = x.record(i)
	}
	if !ok || r.name != name {
		return record{}, 0, false
	}
	x.at = i + 1
	return r, i, true
}

// decoder fills requests from encoded heads. Its lists come out of larger
// pieces of memory.
type decoder struct {
	data  string
	at    int
	bad   bool
	lists []string
}

// decode gives the request its head. False: the bytes make no sense.
func (d *decoder) decode(r *reqmeta.Request, head string) bool {
	d.data, d.at, d.bad = head, 0, false
	m, flags := &r.Meta, d.number()
	r.About.Criteria = flags >> criteriaAt
	if flags&ownID != 0 {
		r.ID = d.text()
	}
	switch {
	case flags&sameID != 0:
		m.ID = r.ID
	case flags&otherID != 0:
		m.ID = d.text()
	}
	m.Priority, m.Status, m.Estimate = d.value(), d.value(), d.value()
	m.Title, m.Base = d.text(), d.text()
	m.Labels, m.DependsOn = d.list(), d.list()
	m.CreatedAt, m.UpdatedAt = d.date(), d.date()
	if flags&hasMore != 0 {
		r.Heading, m.Steps = d.text(), d.steps()
		m.Touches, m.Unknown = d.list(), d.pairs()
		r.Problems = d.problems(r.Path)
		r.About.Unfilled, r.About.Empty = d.number(), d.number()
	}
	return !d.bad && d.at == len(d.data)
}

// number reads a number; most are one byte.
func (d *decoder) number() int {
	if d.at < len(d.data) && d.data[d.at] < 0x80 {
		d.at++
		return int(d.data[d.at-1])
	}
	return d.long()
}

func (d *decoder) long() int {
	var buf [binary.MaxVarintLen64]byte
	v, n := binary.Uvarint(buf[:copy(buf[:], d.data[d.at:])])
	if n <= 0 || v > maxCache {
		return d.fail()
	}
	d.at += n
	return int(v)
}

func (d *decoder) fail() int {
	d.bad, d.at = true, len(d.data)
	return 0
}

func (d *decoder) text() string {
	n := d.number()
	if n > len(d.data)-d.at {
		n = d.fail()
	}
	d.at += n
	return d.data[d.at-n : d.at]
}

// value reads a text that is mostly one of ours, which then stays at hand.
func (d *decoder) value() string {
	n := d.number()
	switch {
	case n == 0:
		return d.text()
	case n > len(values):
		d.fail()
		return ""
	}
	return values[n-1]
}

// count reads a number of things + 1; 0 stands for nil, here -1.
func (d *decoder) count() int {
	n := d.number() - 1
	if n > len(d.data)-d.at {
		d.fail()
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
func (d *decoder) date() reqmeta.Date {
	form, text := d.number(), d.text()
	switch form {
	case dateNone:
		return reqmeta.Date{Text: text}
	case dateUTC:
		if len(d.data)-d.at < 12 {
			d.fail()
			return reqmeta.Date{}
		}
		b := unsafe.Slice(unsafe.StringData(d.data[d.at:]), 12)
		d.at += 12
		return reqmeta.Date{Time: time.Unix(int64(le.Uint64(b)), int64(le.Uint32(b[8:]))).UTC(), Text: text}
	}
	date, ok := reqmeta.ParseDate(text)
	d.bad = d.bad || !ok
	return date
}

func (d *decoder) steps() []reqmeta.Step {
	n := d.count()
	if n < 0 {
		return nil
	}
	list := make([]reqmeta.Step, n)
	for i := range list {
		list[i] = reqmeta.Step{Title: d.text(), Run: d.text(), Test: d.text()}
	}
	return list
}

func (d *decoder) problems(path string) []reqmeta.Problem {
	n := d.count()
	if n < 0 {
		return nil
	}
	list := make([]reqmeta.Problem, n)
	for i := range list {
		list[i] = reqmeta.Problem{
			Level: reqmeta.Level(d.text()), Kind: d.text(), Code: fault.Code(d.text()), Path: path, Line: d.number(), Facts: d.pairs(),
		}
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
