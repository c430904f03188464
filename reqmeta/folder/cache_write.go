package folder

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/reqmeta"
)

// Forms of a date in the cache.
const (
	dateNone = iota // the zero time
	dateUTC
	dateText
)

// encoder writes a cache.
type encoder struct {
	records, blob []byte
	n             int
	birth         time.Time
}

// add takes one file, what it was when it was read, and its name.
func (e *encoder) add(f *file, s stamp, name string) {
	at := len(e.blob)
	e.blob = append(e.blob, name...)
	head := 0
	if f.storable(s, e.birth) {
		body := len(e.blob)
		e.head(f.r, name)
		head = len(e.blob) - body
	}
	e.record(s, at, len(name), head)
}

// storable reports whether f may be kept: a plain file that could be read and
// that nobody had touched for a while by then.
func (f *file) storable(s stamp, birth time.Time) bool {
	return s.ino != 0 && s.settled(birth) && !slices.ContainsFunc(f.r.Problems, func(p reqmeta.Problem) bool { return p.Kind == "unreadable" })
}

func (e *encoder) record(s stamp, at, name, head int) {
	b := e.records
	b = le.AppendUint64(b, s.ino)
	b = le.AppendUint64(b, s.size)
	b = le.AppendUint64(b, uint64(s.mtime))
	b = le.AppendUint64(b, uint64(s.ctime))
	b = le.AppendUint32(b, s.mns)
	b = le.AppendUint32(b, s.cns)
	b = le.AppendUint32(b, s.mode)
	b = le.AppendUint32(b, uint32(at))
	b = le.AppendUint32(b, uint32(head))
	b = le.AppendUint16(b, uint16(name))
	stored := uint16(0)
	if head > 0 {
		stored = 1
	}
	e.records = le.AppendUint16(b, stored)
	e.n++
}

// What an encoded head begins with.
const (
	ownID   = 1 << iota // the id is not the file's name
	sameID              // the key id says the same
	otherID             // the key id says something else
	hasMore             // there are things that few requests have

	criteriaAt = 4 // the bits of body.criteria
)

// values are texts of which only the number is written.
var values = [...]string{"", "P0", "P1", "P2", "P3", reqmeta.Draft, reqmeta.Ready, reqmeta.Running, reqmeta.Blocked, reqmeta.Done, reqmeta.Archived, "S", "M", "L"}

func (e *encoder) head(r *reqmeta.Request, name string) {
	m, flags := &r.Meta, r.About.Criteria<<criteriaAt
	if r.ID != reqmeta.Stem(name) {
		flags |= ownID
	}
	switch m.ID {
	case "":
	case r.ID:
		flags |= sameID
	default:
		flags |= otherID
	}
	if r.Heading != "" || m.Steps != nil || m.Touches != nil || m.Unknown != nil || r.Problems != nil || r.About.Unfilled+r.About.Empty > 0 {
		flags |= hasMore
	}
	e.number(flags)
	if flags&ownID != 0 {
		e.text(r.ID)
	}
	if flags&otherID != 0 {
		e.text(m.ID)
	}
	for _, v := range [...]string{m.Priority, m.Status, m.Estimate} {
		e.value(v)
	}
	e.text(m.Title)
	e.text(m.Base)
	e.list(m.Labels)
	e.list(m.DependsOn)
	e.date(m.CreatedAt)
	e.date(m.UpdatedAt)
	if flags&hasMore != 0 {
		e.more(r)
	}
}

func (e *encoder) more(r *reqmeta.Request) {
	e.text(r.Heading)
	e.steps(r.Meta.Steps)
	e.list(r.Meta.Touches)
	e.pairs(r.Meta.Unknown)
	e.problems(r.Problems)
	e.number(r.About.Unfilled)
	e.number(r.About.Empty)
}

// value writes the number of a text in values, from 1, or 0 and the text.
func (e *encoder) value(s string) {
	n := slices.Index(values[:], s) + 1
	e.number(n)
	if n == 0 {
		e.text(s)
	}
}

func (e *encoder) number(n int) { e.blob = binary.AppendUvarint(e.blob, uint64(n)) }

func (e *encoder) text(s string) {
	e.number(len(s))
	e.blob = append(e.blob, s...)
}

func (e *encoder) list(list []string) {
	if list == nil {
		e.number(0)
		return
	}
	e.number(len(list) + 1)
	for _, s := range list {
		e.text(s)
	}
}

func (e *encoder) date(d reqmeta.Date) {
	switch {
	case d.Time == time.Time{}:
		e.number(dateNone)
		e.text(d.Text)
	case d.Time == time.Unix(d.Time.Unix(), int64(d.Time.Nanosecond())).UTC():
		e.number(dateUTC)
		e.text(d.Text)
		e.blob = le.AppendUint64(e.blob, uint64(d.Time.Unix()))
		e.blob = le.AppendUint32(e.blob, uint32(d.Time.Nanosecond()))
	default:
		e.number(dateText)
		e.text(d.Text)
	}
}

func (e *encoder) steps(steps []reqmeta.Step) {
	if steps == nil {
		e.number(0)
		return
	}
	e.number(len(steps) + 1)
	for _, s := range steps {
		e.text(s.Title)
		e.text(s.Run)
		e.text(s.Test)
	}
}

func (e *encoder) problems(list []reqmeta.Problem) {
	if list == nil {
		e.number(0)
		return
	}
	e.number(len(list) + 1)
	for _, p := range list {
		e.text(string(p.Level))
		e.text(p.Kind)
		e.text(string(p.Code))
		e.number(p.Line)
		e.pairs(p.Facts)
	}
}

func (e *encoder) pairs(m map[string]string) {
	if m == nil {
		e.number(0)
		return
	}
	e.number(len(m) + 1)
	for k, v := range m {
		e.text(k)
		e.text(v)
	}
}

// bytes is the whole file; nil when it is too large for its own numbers.
func (e *encoder) bytes(p *place) []byte {
	tag := p.build
	size := headSize + len(tag) + len(p.prefix) + len(e.records) + len(e.blob)
	if size > maxCache || uint64(len(e.blob)) > math.MaxUint32 {
		return nil
	}
	b := make([]byte, 0, size)
	b = append(b, cacheMagic...)
	b = le.AppendUint32(b, cacheFormat)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, uint64(size))
	b = le.AppendUint64(b, p.dev)
	b = le.AppendUint64(b, p.ino)
	b = le.AppendUint64(b, uint64(e.birth.Unix()))
	b = le.AppendUint32(b, uint32(e.birth.Nanosecond()))
	b = le.AppendUint32(b, uint32(e.n))
	b = le.AppendUint32(b, uint32(len(tag)))
	b = le.AppendUint32(b, uint32(len(p.prefix)))
	b = append(append(append(append(b, tag...), p.prefix...), e.records...), e.blob...)
	le.PutUint32(b[12:], sumOf(0, b[sumFrom:]))
	return b
}

// Keep writes the cache, if reading showed that this is worth it. What stands
// in the way does not matter: without a cache everything is only slower.
func (f *Folder) Keep() {
	if f.keep == nil {
		return
	}
	keep := f.keep
	f.keep = nil
	keep()
}

// write replaces the cache file; two writers both succeed.
func (p *place) write(data []byte, suffix string) {
	_ = atomicfile.Write(dirDisk{fd: p.fd}, cacheFile, data, atomicfile.Options{Perm: 0o600, Volatile: true, TempSuffix: suffix})
}
