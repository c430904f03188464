package agent

import (
	"bytes"

	"aiflow/internal/contract"
)

// What is kept of one line, and of one string in it. A line of an answer has the
// answer as a string, hardly longer.
const (
	maxLine   = contract.MaxAnswer + 1<<20
	maxString = contract.MaxAnswer + 1
)

// splitter cuts a stream into lines. A string of an event that is too long is
// cut at its end, so that the event itself is still whole; what is longer all
// the same is cut off.
type splitter struct {
	people bool // lines are for people: no events, and the beginning is enough
	buf    []byte
	lost   int

	any     bool // the line has begun
	events  bool // it begins as an event does
	in      bool // inside a string
	escape  int  // how many bytes still belong to an escape
	dropped bool // the string is cut
	length  int  // of the string
}

// feed tells f each whole line without its end. The bytes are f's until it
// returns.
func (s *splitter) feed(p []byte, f func(line []byte, lost int)) {
	for len(p) > 0 {
		part := p
		i := bytes.IndexByte(p, '\n')
		if i >= 0 {
			part = p[:i]
		}
		s.take(part)
		if i < 0 {
			s.any = s.any || len(part) > 0
			return
		}
		s.any = true
		s.end(f)
		p = p[i+1:]
	}
}

// end ends the line, if one is open.
func (s *splitter) end(f func(line []byte, lost int)) {
	if s.any {
		f(bytes.TrimSuffix(s.buf, []byte("\r")), s.lost)
	}
	buf := s.buf[:0]
	if cap(buf) > 1<<20 {
		buf = nil
	}
	*s = splitter{people: s.people, buf: buf}
}

func (s *splitter) take(p []byte) {
	if !s.any && len(p) > 0 {
		s.events = !s.people && bytes.HasPrefix(bytes.TrimLeft(p, " \t"), []byte("{"))
		s.any = true
	}
	if !s.events || len(p) <= maxString && len(s.buf)+len(p) <= maxString {
		for _, c := range p {
			if s.events { // strings are counted also in what is kept whole
				s.step(c)
			}
		}
		s.keep(p)
		return
	}
	for i := range p {
		s.one(p[i : i+1])
	}
}

// keep adds to the line, up to its limit.
func (s *splitter) keep(p []byte) {
	most := maxLine
	if s.people {
		most = maxWords
	}
	room := min(max(0, most-len(s.buf)), len(p))
	s.buf = append(s.buf, p[:room]...)
	s.lost += len(p) - room
}

// one keeps or drops one byte.
func (s *splitter) one(b []byte) {
	inside, atom := s.in, s.escape > 0
	s.step(b[0])
	switch {
	case !inside || !s.in || atom && !s.dropped: // not in a string, its end, or the rest of an escape
		s.keep(b)
	case s.dropped || s.length > maxString:
		s.dropped = true
		s.lost++
	default:
		s.keep(b)
	}
}

// step moves on by one byte of JSON.
func (s *splitter) step(c byte) {
	switch {
	case !s.in:
		if c == '"' {
			s.in, s.length, s.dropped = true, 0, false
		}
		return
	case s.escape > 0:
		s.escape--
		if c == 'u' && s.escape == 0 {
			s.escape = 4
			s.length++
			return
		}
	case c == '\\':
		s.escape = 1
	case c == '"':
		s.in = false
		return
	}
	s.length++
}
