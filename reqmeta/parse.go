package reqmeta

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"aiflow/internal/fault"
)

// Parse reads one request file. It always gives a request: what is wrong with
// the file is in its Problems. path is relative to the project's root.
func Parse(path string, data []byte) *Request {
	r := New(path)
	r.Read(data)
	return r
}

// IsNote reports whether a file is no request: where the head says the id, one that
// says none is a note beside them.
func (r *Request) IsNote() bool {
	return r.Mapping.IDs() && slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == "missing_id" || p.Kind == "no_frontmatter" })
}

// New gives a request of which only the name is known.
func New(path string) *Request {
	s := Stem(path)
	r := &Request{ID: s, Path: path}
	if !CheckID(s) {
		r.BadName()
	}
	return r
}

// Read fills in what the bytes of the file say, and what is wrong with them.
func (r *Request) Read(data []byte) {
	if len(data) > MaxFile {
		r.Fail("file_too_large", 0, "limit", MaxFile)
		return
	}
	d, p := Split(data)
	if p == nil {
		r.readHead(string(data[d.Start:d.End]), d)
	} else {
		r.add(p)
	}
	if p != nil && p.Kind == "not_utf8" {
		return
	}
	r.checkBody(data, d.body)
	if p == nil && len(r.Meta.Steps) == 0 && !r.SaysOver() {
		r.About = readBody(data[d.body:], bytes.Count(data[:d.body], []byte("\n")))
	}
	if !r.titled() && (p == nil || p.Kind == "no_frontmatter" || p.Kind == "block_line") {
		r.Heading = Heading(data[d.body:])
	}
}

func (r *Request) readHead(head string, d Document) {
	entries, p := d.Entries(head)
	entries = r.Mapping.Own(entries)
	if p == nil {
		r.fill(entries)
		return
	}
	before := len(r.Problems)
	r.fill(entries) // for lists to show; only the structural problem counts
	r.Problems = r.Problems[:before]
	r.add(p)
}

// Entries reads the head.
func (d Document) Entries(head string) ([]Entry, *Problem) {
	if d.Fenced {
		return readYAML(head, d.Line)
	}
	return readPlain(head, d.Line)
}

func duplicate(entries []Entry) *Problem {
	first := make(map[string]int, len(entries))
	for _, e := range entries {
		if line, dup := first[e.Key]; dup {
			return NewProblem(LevelError, "duplicate_key", e.Line, "key", e.Key, "first", line)
		}
		first[e.Key] = e.Line
	}
	return nil
}

// readPlain reads an unfenced block line by line. A value that is not YAML is
// taken as it is written.
func readPlain(head string, line int) ([]Entry, *Problem) {
	if p := checkText(head, line); p != nil {
		return nil, p
	}
	var list []Entry
	for at := 0; at < len(head); line++ {
		text := restOfLine(head, at)
		e, p := plainEntry(strings.TrimSuffix(text, "\r"), line)
		if p != nil {
			return nil, p
		}
		e.Colon += at
		if e.Start >= 0 {
			e.Start, e.End = e.Start+at, e.End+at
		}
		list = append(list, e)
		at += len(text) + 1
	}
	return list, duplicate(list)
}

func plainEntry(text string, line int) (Entry, *Problem) {
	list, p := readYAML(text, line)
	switch {
	case p != nil && !strings.HasPrefix(p.Kind, "yaml_") && p.Kind != "not_a_mapping":
		return Entry{}, p
	case p == nil && len(list) == 1 && list[0].Kind != OtherValue:
		return list[0], nil
	}
	n := keyLen(text)
	colon := n + strings.IndexByte(text[n:], ':') + 1
	value := strings.Trim(text[colon:], " \t")
	start := colon + strings.Index(text[colon:], value)
	return Entry{Key: text[:n], Line: line, Text: value, Colon: colon, Start: start, End: start + len(value)}, nil
}

func (r *Request) titled() bool { return strings.TrimSpace(r.Meta.Title) != "" }

// Title is the `title`, else the first heading, else the id.
func (r *Request) Title() string {
	if r.titled() {
		return r.Meta.Title
	}
	return cmp.Or(r.Heading, r.ID)
}

// FailAs adds an error with a code other than REQUEST_INVALID_FORMAT.
func (r *Request) FailAs(code fault.Code, kind string, pairs ...any) {
	p := NewProblem(LevelError, kind, 0, pairs...)
	p.Code = code
	r.add(p)
}
