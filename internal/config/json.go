package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// node is a JSON value that knows where it stands.
type node struct {
	at    int // offset of its first byte
	value any // string, json.Number, bool, nil, []node or []member
}

type member struct {
	key   string
	at    int
	value node
}

// mistake is what is wrong with a JSON text, and where.
type mistake struct {
	at    int
	cause string // message key
	text  string // what the JSON reader said
	key   string
}

func (m *mistake) Error() string { return m.cause + " " + m.text }

const (
	maxFile  = 1 << 20
	maxDepth = 32
)

// parse reads one JSON value and nothing after it.
func parse(data []byte) (node, error) {
	switch {
	case len(data) > maxFile:
		return node{}, &mistake{cause: "config.too_big"}
	case len(bytes.TrimSpace(data)) == 0:
		return node{}, &mistake{cause: "config.empty"}
	case !utf8.Valid(data):
		return node{}, &mistake{at: firstInvalid(data), cause: "config.not_utf8"}
	}
	r := &reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err != nil {
		return node{}, r.mistake(err)
	}
	end := r.next()
	if _, err := r.dec.Token(); err != io.EOF {
		return node{}, &mistake{at: end, cause: "config.more_text"}
	}
	return n, nil
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return 0
}

type reader struct {
	data []byte
	dec  *json.Decoder
}

// next is the offset of the next token.
func (r *reader) next() int {
	i := int(r.dec.InputOffset())
	for i < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[i]) >= 0 {
		i++
	}
	return i
}

func (r *reader) mistake(err error) error {
	var own *mistake
	if errors.As(err, &own) {
		return own
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &mistake{at: r.next(), cause: "config.not_json", text: err.Error()}
	}
	return &mistake{at: len(r.data), cause: "config.cut_off"}
}

func (r *reader) value(depth int) (node, error) {
	n := node{at: r.next()}
	tok, err := r.dec.Token()
	if err != nil {
		return n, err
	}
	if depth > maxDepth {
		return n, &mistake{at: n.at, cause: "config.too_deep"}
	}
	switch tok {
	case json.Delim('{'):
		n.value, err = r.object(depth)
	case json.Delim('['):
		n.value, err = r.array(depth)
	default:
		n.value = tok
	}
	return n, err
}

func (r *reader) object(depth int) ([]member, error) {
	members := []member{}
	seen := map[string]bool{}
	for r.dec.More() {
		m := member{at: r.next()}
		tok, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		m.key, _ = tok.(string)
		if seen[m.key] {
			return nil, &mistake{at: m.at, cause: "config.duplicate_key", key: m.key}
		}
		seen[m.key] = true
		if m.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	_, err := r.dec.Token()
	return members, err
}

func (r *reader) array(depth int) ([]node, error) {
	items := []node{}
	for r.dec.More() {
		n, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, n)
	}
	_, err := r.dec.Token()
	return items, err
}

// position turns an offset into line and column, both from 1; the column
// counts characters.
func position(data []byte, at int) (line, column int) {
	before := data[:min(at, len(data))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}
