package locks

import (
	"strconv"
	"strings"
	"time"
)

// decodeOwn reads the one form that encode writes: a flat object without
// blanks, escapes, unknown or repeated keys. It is ten times as fast as
// encoding/json, which reads everything else. false: not that form, and r is
// of no use.
func decodeOwn(data []byte, r *Record) bool {
	d := decoder{rest: string(data)} // the record's texts are parts of it
	if !d.skip('{') {
		return false
	}
	var seen uint32
	for {
		key, ok := d.text()
		if !ok || !d.skip(':') {
			return false
		}
		bit := d.field(r, key)
		if bit == 0 || seen&bit != 0 {
			return false
		}
		seen |= bit
		if d.skip('}') {
			return len(d.rest) == 0
		}
		if !d.skip(',') {
			return false
		}
	}
}

type decoder struct {
	rest string
	next int // the field that probably comes next
}

func (d *decoder) skip(c byte) bool {
	if len(d.rest) == 0 || d.rest[0] != c {
		return false
	}
	d.rest = d.rest[1:]
	return true
}

// text reads a string without escapes.
func (d *decoder) text() (string, bool) {
	if !d.skip('"') {
		return "", false
	}
	for i := range len(d.rest) {
		switch c := d.rest[i]; {
		case c == '"':
			s := d.rest[:i]
			d.rest = d.rest[i+1:]
			return s, true
		case c == '\\' || c < 0x20:
			return "", false
		}
	}
	return "", false
}

// field reads the value of key and says which it was; 0 is failure.
func (d *decoder) field(r *Record, key string) uint32 {
	for n := range recordFields {
		i := (d.next + n) % len(recordFields)
		if f := &recordFields[i]; f.name == key {
			d.next = i + 1
			if !f.read(d, r) {
				return 0
			}
			return 1 << i
		}
	}
	return 0
}

var recordFields = [...]struct {
	name string
	read func(*decoder, *Record) bool
}{
	{"version", func(d *decoder, r *Record) bool { return d.str(&r.Version) }},
	{"lock_type", func(d *decoder, r *Record) bool { return d.str(&r.LockType) }},
	{"request_id", func(d *decoder, r *Record) bool { return d.str(&r.RequestID) }},
	{"run_id", func(d *decoder, r *Record) bool { return d.str(&r.RunID) }},
	{"pid", func(d *decoder, r *Record) bool { return d.num(&r.PID) }},
	{"host", func(d *decoder, r *Record) bool { return d.str(&r.Host) }},
	{"created_at", func(d *decoder, r *Record) bool { return d.time(&r.CreatedAt) }},
	{"expires_at", func(d *decoder, r *Record) bool { return d.time(&r.ExpiresAt) }},
	{"name", func(d *decoder, r *Record) bool { return d.str(&r.Name) }},
	{"token", func(d *decoder, r *Record) bool { return d.str(&r.Token) }},
	{"pid_start", func(d *decoder, r *Record) bool { return d.uint(&r.PIDStart) }},
	{"pid_inode", func(d *decoder, r *Record) bool { return d.uint(&r.PIDInode) }},
	{"boot_id", func(d *decoder, r *Record) bool { return d.str(&r.BootID) }},
	{"machine", func(d *decoder, r *Record) bool { return d.str(&r.Machine) }},
	{"pid_ns", func(d *decoder, r *Record) bool { return d.str(&r.PIDNS) }},
	{"hostname", func(d *decoder, r *Record) bool { return d.str(&r.Hostname) }},
	{"beat", func(d *decoder, r *Record) bool { return d.uint(&r.Beat) }},
	{"ttl_sec", func(d *decoder, r *Record) bool { return d.int64(&r.TTLSec) }},
	{"command", func(d *decoder, r *Record) bool { return d.num(&r.Command) }},
	{"command_start", func(d *decoder, r *Record) bool { return d.uint(&r.CommandStart) }},
	{"command_group", func(d *decoder, r *Record) bool { return d.yes(&r.CommandGroup) }},
	{"sum", func(d *decoder, r *Record) bool { return d.str(&r.Sum) }},
}

func (d *decoder) str(to *string) bool {
	s, ok := d.text()
	*to = s
	return ok
}

func (d *decoder) time(to *time.Time) bool {
	s, ok := d.text()
	return ok && to.UnmarshalText([]byte(s)) == nil
}

// uint reads digits as JSON has them: no sign, no leading zero.
func (d *decoder) uint(to *uint64) bool {
	n := 0
	for n < len(d.rest) && d.rest[n] >= '0' && d.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > 1 && d.rest[0] == '0' {
		return false
	}
	v, err := strconv.ParseUint(d.rest[:n], 10, 64)
	*to, d.rest = v, d.rest[n:]
	return err == nil
}

func (d *decoder) int64(to *int64) bool {
	var v uint64
	if !d.uint(&v) || v > 1<<62 {
		return false
	}
	*to = int64(v)
	return true
}

func (d *decoder) num(to *int) bool {
	var v int64
	ok := d.int64(&v) && v <= 1<<31-1
	*to = int(v)
	return ok
}

func (d *decoder) yes(to *bool) bool {
	rest, ok := strings.CutPrefix(d.rest, "true")
	*to, d.rest = ok, rest
	return ok
}
