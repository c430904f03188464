package reqmeta

import (
	"bytes"
	"cmp"
	"strings"

	"aiflow/internal/fault"
)

// Parse reads one request file. It always gives a request: what is wrong with
// the file is in its Problems. path is relative to the project's root.
func Parse(path string, data []byte) *Request {
	r := newRequest(path)
	r.parse(data)
	return r
}

func newRequest(path string) *Request {
	s := Stem(path)
	r := &Request{ID: s, Path: path}
	if !CheckID(s) {
		r.fail("bad_file_name", 0, "id", s)
	}
	return r
}

func (r *Request) parse(data []byte) {
	if len(data) > MaxFile {
		r.fail("file_too_large", 0, "limit", MaxFile)
		return
	}
	d, p := cut(data)
	if p == nil {
		r.readHead(string(data[d.start:d.end]), d)
	} else {
		r.add(p)
	}
	if p != nil && p.Kind == "not_utf8" {
		return
	}
	r.checkBody(data, d.body)
	if p == nil && len(r.Meta.Steps) == 0 && !r.SaysOver() {
		r.body = readBody(data[d.body:], bytes.Count(data[:d.body], []byte("\n")))
	}
	if !r.titled() && (p == nil || p.Kind == "no_frontmatter" || p.Kind == "block_line") {
		r.heading = heading(data[d.body:])
	}
}

func (r *Request) readHead(head string, d document) {
	entries, p := d.entries(head)
	if p == nil {
		r.fill(entries)
		return
	}
	before := len(r.Problems)
	r.fill(entries) // for lists to show; only the structural problem counts
	r.Problems = r.Problems[:before]
	r.add(p)
}

// entries reads the head.
func (d document) entries(head string) ([]entry, *Problem) {
	if d.fenced {
		return readYAML(head, d.line)
	}
	return readPlain(head, d.line)
}

func duplicate(entries []entry) *Problem {
	for i := range entries {
		for j := range entries[:i] {
			if entries[i].key == entries[j].key {
				return problem(LevelError, "duplicate_key", entries[i].line, "key", entries[i].key, "first", entries[j].line)
			}
		}
		if i == maxPairwise {
			return duplicateOfMany(entries)
		}
	}
	return nil
}

const maxPairwise = 32

func duplicateOfMany(entries []entry) *Problem {
	first := make(map[string]int, len(entries))
	for _, e := range entries {
		if line, dup := first[e.key]; dup {
			return problem(LevelError, "duplicate_key", e.line, "key", e.key, "first", line)
		}
		first[e.key] = e.line
	}
	return nil
}

// readPlain reads an unfenced block line by line. A value that is not YAML is
// taken as it is written.
func readPlain(head string, line int) ([]entry, *Problem) {
	if p := checkText(head, line); p != nil {
		return nil, p
	}
	var list []entry
	for at := 0; at < len(head); line++ {
		text := restOfLine(head, at)
		e, p := plainEntry(strings.TrimSuffix(text, "\r"), line)
		if p != nil {
			return nil, p
		}
		e.colon += at
		if e.start >= 0 {
			e.start, e.end = e.start+at, e.end+at
		}
		list = append(list, e)
		at += len(text) + 1
	}
	return list, duplicate(list)
}

func plainEntry(text string, line int) (entry, *Problem) {
	list, p := readYAML(text, line)
	switch {
	case p != nil && !strings.HasPrefix(p.Kind, "yaml_") && p.Kind != "not_a_mapping":
		return entry{}, p
	case p == nil && len(list) == 1 && list[0].kind != otherValue:
		return list[0], nil
	}
	n := keyLen(text)
	colon := n + strings.IndexByte(text[n:], ':') + 1
	value := strings.Trim(text[colon:], " \t")
	start := colon + strings.Index(text[colon:], value)
	return entry{key: text[:n], line: line, text: value, colon: colon, start: start, end: start + len(value)}, nil
}

func (r *Request) titled() bool { return strings.TrimSpace(r.Meta.Title) != "" }

// Title is the `title`, else the first heading, else the id.
func (r *Request) Title() string {
	if r.titled() {
		return r.Meta.Title
	}
	return cmp.Or(r.heading, r.ID)
}

// Problem codes other than REQUEST_INVALID_FORMAT.
func (r *Request) failAs(code fault.Code, kind string, pairs ...any) {
	p := problem(LevelError, kind, 0, pairs...)
	p.Code = code
	r.add(p)
}
