package reqmeta

import (
	"strings"
	"unicode/utf8"
)

const maxKey = 512 // YAML itself allows about a thousand

// scanner reads the common flat shape of a head by hand: simple keys, one-line
// scalars, one-line flow lists, block lists of one-line scalars or of mappings
// of such (steps). It gives up on everything else, and then the YAML library
// reads the head. Where it does not give up, both give the same entries
// (FuzzScannerAgreesWithYAML).
type scanner struct {
	entries []entry
	items   []item
	dash    int // in a list of mappings: where its dashes stand,
	column  int // and the keys of the last one
}

// scan fills entries from head, whose first line is file line `line`. False
// means: not the common shape, ask YAML.
func (sc *scanner) scan(head string, line int) bool {
	sc.entries, sc.items = sc.entries[:0], sc.items[:0]
	for at := 0; at < len(head); line++ {
		text, next := head[at:], len(head)
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			text, next = strings.TrimSuffix(text[:i], "\r"), at+i+1
		}
		if !sc.line(text, at, line) {
			return false
		}
		at = next
	}
	return true
}

func (sc *scanner) line(text string, at, line int) bool {
	if text == "" {
		return true
	}
	switch c := text[0]; {
	case c == '#':
		return plainChars(text)
	case c == ' ' || c == '-':
		return strings.Trim(text, " ") == "" || plainChars(text) && (sc.blockItem(text, at, line) || sc.blockPair(text, line))
	}
	n := keyLen(text)
	if n == 0 || n > maxKey || n == len(text) || text[n] != ':' {
		return false
	}
	v := n + 1
	v += blanks(text[v:])
	if v == n+1 && v < len(text) {
		return false
	}
	sc.entries = append(sc.entries, entry{key: text[:n], line: line, colon: at + n + 1})
	return sc.value(&sc.entries[len(sc.entries)-1], text[v:], at+v)
}

// value reads what stands behind the colon and its blanks; at is its offset.
func (sc *scanner) value(e *entry, v string, at int) bool {
	if v == "" || v[0] == '#' {
		e.kind, e.start, e.end = nullValue, e.colon, e.colon
		return v == "" || plainChars(v)
	}
	var n int
	if v[0] == '[' {
		e.kind = listValue
		e.items, n = sc.flow(v, e.line)
	} else {
		e.text, n = one(v)
		if n == len(e.text) && isNull(e.text) {
			e.kind, e.text = nullValue, ""
		}
	}
	if n == 0 || !isEnd(v[n:]) {
		return false
	}
	e.start, e.end = at, at+n
	return true
}

// isEnd reports whether rest holds only blanks and a comment.
func isEnd(rest string) bool {
	if rest == "" {
		return true
	}
	n := blanks(rest)
	return n == len(rest) || rest[n] == '#' && n > 0 && plainChars(rest[n:])
}

func isNull(s string) bool {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// one reads a one-line scalar in block context: its text, and how many bytes
// it takes. 0 bytes means: not simple.
func one(v string) (string, int) {
	if v[0] == '"' || v[0] == '\'' {
		return quoted(v)
	}
	if !plainStart(v[0]) {
		return "", 0
	}
	high, n := false, len(v)
loop:
	for i := 0; i < n; i++ {
		switch class[v[i]] {
		case classHigh:
			high = true
		case classControl:
			return "", 0
		case classColon:
			if i+1 == n || v[i+1] == ' ' {
				return "", 0
			}
		case classHash:
			if v[i-1] == ' ' {
				n = i
				break loop
			}
		}
	}
	for v[n-1] == ' ' {
		n--
	}
	if v[n-1] == ':' || high && !plainRunes(v[:n]) {
		return "", 0
	}
	return v[:n], n
}

// Classes of bytes in a plain scalar; 0 is an ordinary one.
const (
	classHigh = iota + 1
	classControl
	classColon
	classHash
)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c < ' ' || c == 0x7f:
			t[c] = classControl
		case c >= utf8.RuneSelf:
			t[c] = classHigh
		}
	}
	t[':'], t['#'] = classColon, classHash
	return t
}()

// quoted reads a quoted scalar without escapes. An empty one is 2 bytes.
func quoted(v string) (string, int) {
	i := strings.IndexByte(v[1:], v[0])
	if i < 0 {
		return "", 0
	}
	text, n := v[1:1+i], i+2
	if v[0] == '"' && strings.IndexByte(text, '\\') >= 0 || n < len(v) && v[n] == v[0] || !plainChars(text) {
		return "", 0
	}
	return text, n
}

func plainStart(c byte) bool {
	return isAlnum(c) || c >= utf8.RuneSelf || c == '_' || c == '/' || c == '.' || c == '(' || c == '~'
}

// flow reads `[a, "b"]` on one line.
func (sc *scanner) flow(v string, line int) ([]item, int) {
	first := len(sc.items)
	at := 1 + blanks(v[1:])
	if at < len(v) && v[at] == ']' {
		return nil, at + 1
	}
	for at < len(v) {
		text, n := flowItem(v[at:])
		if n == 0 {
			return nil, 0
		}
		sc.items = append(sc.items, item{text: text, line: line, scalar: true})
		at += n
		at += blanks(v[at:])
		if at == len(v) {
			return nil, 0
		}
		if v[at] == ']' {
			return sc.items[first:len(sc.items):len(sc.items)], at + 1
		}
		if v[at] != ',' {
			return nil, 0
		}
		at++
		at += blanks(v[at:])
	}
	return nil, 0
}

func flowItem(v string) (string, int) {
	if v[0] == '"' || v[0] == '\'' {
		return quoted(v)
	}
	if !plainStart(v[0]) {
		return "", 0
	}
	n := 0
	for n < len(v) && v[n] != ',' && v[n] != ']' {
		if c := v[n]; !isAlnum(c) && c < utf8.RuneSelf && strings.IndexByte(" _-./()+@~", c) < 0 {
			return "", 0
		}
		n++
	}
	text := strings.TrimRight(v[:n], " ")
	if n == len(v) || !plainChars(text) {
		return "", 0
	}
	return text, len(text)
}

func blanks(s string) int {
	n := 0
	for n < len(s) && s[n] == ' ' {
		n++
	}
	return n
}

// plainChars reports whether s holds only printable characters that YAML takes
// as they are.
func plainChars(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == 0x7f {
			return false
		} else if c >= utf8.RuneSelf {
			return plainRunes(s[i:])
		}
	}
	return true
}

func plainRunes(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' || r >= 0x7f && isOdd(r) {
			return false
		}
	}
	return true
}

// isOdd reports whether r is a character that YAML forbids or takes for the
// end of a line.
func isOdd(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}
