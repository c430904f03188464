package reqmeta

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mapping says what another tool calls our keys and words, so that its files are
// requests as they are. nil maps nothing.
type Mapping struct {
	keys  map[string]string   // theirs: ours
	names map[string][]string // ours: theirs, the one that is added to a file first
	words map[string][]Word   // by key of ours; of several for one of ours the first is written
	ids   bool
	print string
}

// Word is one word of another tool and what it means.
type Word struct{ Theirs, Ours string }

// NewMapping makes a mapping; names are the keys of others by ours, and with ids
// the `id` of a head counts whatever its file is called. It is nil where nothing
// is mapped.
func NewMapping(names map[string][]string, words map[string][]Word, ids bool) *Mapping {
	if len(names) == 0 && len(words) == 0 && !ids {
		return nil
	}
	m := &Mapping{keys: map[string]string{}, names: names, words: words, ids: ids}
	for own, list := range names {
		for _, name := range list {
			m.keys[name] = own
		}
	}
	m.print = fmt.Sprint(ids)
	for _, own := range slices.Sorted(maps.Keys(names)) {
		m.print += fmt.Sprintf(" %s%q", own, names[own])
	}
	for _, own := range slices.Sorted(maps.Keys(words)) {
		m.print += fmt.Sprintf(" %s%q", own, words[own])
	}
	return m
}

// Print names the mapping: two that read a file differently have two.
func (m *Mapping) Print() string {
	if m == nil {
		return ""
	}
	return m.print
}

// IDs reports whether an id is found in the head rather than in the name.
func (m *Mapping) IDs() bool { return m != nil && m.ids }

// Parse is the function Parse for files of that tool.
func (m *Mapping) Parse(path string, data []byte) *Request {
	r := m.New(path)
	r.Read(data)
	return r
}

// New is the function New for files of that tool.
func (m *Mapping) New(path string) *Request {
	r := New(path)
	r.Mapping = m
	if m.IDs() { // see BadName
		r.Problems = nil
	}
	return r
}

// Parse reads other bytes of the same file.
func (r *Request) Parse(data []byte) *Request { return r.Mapping.Parse(r.Path, data) }

// Names are what a key of ours may be called in a file.
func (m *Mapping) Names(own string) []string {
	if m == nil {
		return []string{own}
	}
	return append([]string{own}, m.names[own]...)
}

// Name is what a key of ours is called where it is added to a file.
func (m *Mapping) Name(own string) string {
	if m == nil || len(m.names[own]) == 0 {
		return own
	}
	return m.names[own][0]
}

// Word is the word of that tool for one of ours; false where it has none.
func (m *Mapping) Word(key, own string) (string, bool) {
	if m == nil || len(m.words[key]) == 0 {
		return own, true
	}
	for _, w := range m.words[key] {
		if w.Ours == own {
			return w.Theirs, true
		}
	}
	return "", false
}

// allowed are the words that a key may have in a file.
func (m *Mapping) allowed(key string, own []string) string {
	if m == nil || len(m.words[key]) == 0 {
		return Join(own)
	}
	list := make([]string, len(m.words[key]))
	for i, w := range m.words[key] {
		list[i] = w.Theirs
	}
	return Join(list)
}

// Own gives the entries of a head with keys and words of ours. A key of theirs
// beside ours is left as it is.
func (m *Mapping) Own(entries []Entry) []Entry {
	if m == nil {
		return entries
	}
	have := make(map[string]bool, len(entries))
	for i := range entries {
		have[entries[i].Key] = true
	}
	for i := range entries {
		e := &entries[i]
		if own := m.keys[e.Key]; own != "" && own != e.Key {
			if have[own] {
				e.beside = own
				continue
			}
			have[own] = true
			e.Theirs, e.Key = e.Key, own
		}
		if e.Kind != ScalarValue {
			continue
		}
		for _, w := range m.words[e.Key] {
			if strings.EqualFold(w.Theirs, e.Text) {
				e.Written, e.Text = e.Text, w.Ours
				break
			}
		}
	}
	return entries
}

// LineOf is the function LineOf for a key of ours.
func (m *Mapping) LineOf(data []byte, key, item string) int {
	for _, name := range m.Names(key) {
		if line := LineOf(data, name, item); line > 0 {
			return line
		}
	}
	return 0
}
