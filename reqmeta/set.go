package reqmeta

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"aiflow/internal/fault"
)

// settable are the keys that can be added to a file, in the order in which
// they are added.
var settable = [...]string{
	"id", "title", "priority", "status", "labels", "depends_on", "estimate", "base", "created_at", "updated_at",
}

// SetValues gives data with the values of some keys changed. It changes the
// bytes of these values and no other; a key that is missing is added as a line
// at the end of the head. Lists are given as "a, b" or "[a, b]"; "" empties an
// optional value. When something changes, updated_at is renewed in the form
// that it has, if it is there.
//
// It fails with REQUEST_INVALID_FORMAT when the head is broken or the value
// stands in a form that it cannot change safely, and with INVALID_REQUEST when
// the asked value is not allowed.
func SetValues(path string, data []byte, values map[string]string, now time.Time) ([]byte, error) {
	ed, err := openEditor(path, data)
	if err != nil {
		return nil, err
	}
	for _, key := range ed.keys(values) {
		if err := ed.set(key, values[key]); err != nil {
			return nil, err
		}
	}
	if len(ed.edits) == 0 {
		return data, nil
	}
	if _, asked := values["updated_at"]; !asked {
		if err := ed.renew(now); err != nil {
			return nil, err
		}
	}
	out := ed.apply()
	return out, ed.verify(out)
}

// editor collects the edits of one head.
type editor struct {
	path    string
	data    []byte
	doc     document
	head    string
	entries []entry
	edits   []edit
	want    map[string]entry // what the changed keys must read like afterwards
}

// edit replaces head[start:end].
type edit struct {
	start, end int
	text       string
}

func openEditor(path string, data []byte) (*editor, error) {
	if len(data) > MaxFile {
		return nil, refuse(fault.RequestInvalidFormat, path, problem(LevelError, "file_too_large", 0, "limit", MaxFile))
	}
	d, p := cut(data)
	if p != nil {
		return nil, refuse(fault.RequestInvalidFormat, path, p)
	}
	head := string(data[d.start:d.end])
	entries, p := d.entries(head)
	if p != nil {
		return nil, refuse(fault.RequestInvalidFormat, path, p)
	}
	return &editor{path: path, data: data, doc: d, head: head, entries: entries, want: map[string]entry{}}, nil
}

// keys gives the asked keys, known ones first in their order.
func (ed *editor) keys(values map[string]string) []string {
	var list, others []string
	for _, k := range settable {
		if _, ok := values[k]; ok {
			list = append(list, k)
		}
	}
	for k := range values {
		if !slices.Contains(settable[:], k) {
			others = append(others, k)
		}
	}
	slices.Sort(others)
	return append(list, others...)
}

func (ed *editor) find(key string) *entry {
	for i := range ed.entries {
		if ed.entries[i].key == key {
			return &ed.entries[i]
		}
	}
	return nil
}

func (ed *editor) set(key, value string) error {
	e := ed.find(key)
	want, p := wanted(Stem(ed.path), key, value)
	if p == nil && e == nil && !slices.Contains(settable[:], key) {
		p = problem(LevelError, "set_unknown_key", 0, "key", key, "allowed", join(settable[:]))
	}
	if p != nil {
		return refuse(fault.InvalidRequest, ed.path, p)
	}
	return ed.change(e, want)
}

func (ed *editor) change(e *entry, want entry) error {
	empty := want.kind == nullValue || want.kind == listValue && len(want.items) == 0
	if empty && (e == nil || e.kind == nullValue) || e != nil && sameValue(*e, want) {
		return nil
	}
	ed.want[want.key] = want
	if e == nil {
		return ed.append(want)
	}
	if e.start < 0 || e.kind == otherValue || e.block && want.kind != listValue {
		return ed.cannot(*e)
	}
	ed.edits = append(ed.edits, ed.replace(*e, want))
	if e.below < e.belowEnd {
		ed.edits = append(ed.edits, edit{e.below, e.belowEnd, ""})
	}
	return nil
}

func (ed *editor) cannot(e entry) error {
	return refuse(fault.RequestInvalidFormat, ed.path, problem(LevelError, "set_by_hand", e.line, "key", e.key))
}

// replace writes want where e stands, in e's style as far as that can hold it.
func (ed *editor) replace(e, want entry) edit {
	switch {
	case e.block && len(want.items) > 0:
		return edit{e.start, e.end, ed.blockLines(e, want.items)}
	case e.block:
		return edit{e.colon, e.end, " []"}
	case want.kind == listValue:
		return ed.at(e, flowText(want.items))
	case want.kind == nullValue:
		return ed.at(e, "")
	}
	quote := byte(0)
	if e.kind == scalarValue && e.start < e.end {
		quote = ed.head[e.start]
	}
	return ed.at(e, scalarText(want.key, want.text, quote))
}

// at puts text in the place of e's value; an empty value has no blank yet.
func (ed *editor) at(e entry, text string) edit {
	if e.start == e.colon && text != "" {
		text = " " + text
	}
	return edit{e.start, e.end, text}
}

// blockLines keeps the lines of the items that stay.
func (ed *editor) blockLines(e entry, items []item) string {
	old := map[string][]string{}
	for i, line := range ed.itemLines(e) {
		old[e.items[i].text] = append(old[e.items[i].text], line)
	}
	lines := make([]string, len(items))
	for i, it := range items {
		if have := old[it.text]; len(have) > 0 {
			lines[i], old[it.text] = have[0], have[1:]
			continue
		}
		lines[i] = strings.Repeat(" ", e.indent) + "- " + scalarText("", it.text, 0)
	}
	return strings.Join(lines, newline(ed.data, ed.doc.start+e.start))
}

func (ed *editor) itemLines(e entry) []string {
	lines := strings.Split(ed.head[e.start:e.end], "\n")
	kept := lines[:0]
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line[blanks(line):], "- ") {
			kept = append(kept, line)
		}
	}
	return kept
}

// append adds a line for a key that is not there.
func (ed *editor) append(want entry) error {
	indent := 0
	if len(ed.entries) > 0 {
		e := ed.entries[0]
		if e.colon == 0 {
			return ed.cannot(e)
		}
		lineStart := strings.LastIndexByte(ed.head[:e.colon], '\n') + 1
		indent = blanks(ed.head[lineStart:])
	}
	text := want.key + ": " + flowText(want.items)
	if want.kind == scalarValue {
		text = want.key + ": " + scalarText(want.key, want.text, 0)
	}
	text = strings.Repeat(" ", indent) + text
	nl := newline(ed.data, ed.doc.start+len(ed.head))
	if n := len(ed.head); n > 0 && ed.head[n-1] != '\n' {
		text = nl + text
	} else {
		text += nl
	}
	ed.edits = append(ed.edits, edit{len(ed.head), len(ed.head), text})
	return nil
}

// renew writes now into updated_at in the form that stands there.
func (ed *editor) renew(now time.Time) error {
	e := ed.find("updated_at")
	if e == nil || e.kind != scalarValue {
		return nil
	}
	text := likeDate(e.text, now)
	if text == "" || text == e.text {
		return nil
	}
	return ed.change(e, entry{key: e.key, text: text})
}

func (ed *editor) apply() []byte {
	slices.SortStableFunc(ed.edits, func(a, b edit) int { return a.start - b.start })
	var b bytes.Buffer
	b.Write(ed.data[:ed.doc.start])
	at := 0
	for _, e := range ed.edits {
		b.WriteString(ed.head[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(ed.head[at:])
	b.Write(ed.data[ed.doc.end:])
	return b.Bytes()
}

// verify reads the result again: the changed keys must have the asked values,
// every other key the one it had.
func (ed *editor) verify(out []byte) error {
	after, err := openEditor(ed.path, out)
	if err != nil {
		return err
	}
	for i, e := range after.entries {
		want, changed := ed.want[e.key]
		switch {
		case changed && !sameValue(e, want):
			return ed.cannot(e)
		case !changed && (i >= len(ed.entries) || ed.entries[i].key != e.key || !sameValue(e, ed.entries[i])):
			return ed.cannot(e)
		}
		delete(ed.want, e.key)
	}
	for _, want := range ed.want {
		return ed.cannot(want)
	}
	if len(after.entries) < len(ed.entries) || !bytes.Equal(Body(out), Body(ed.data)) {
		return ed.cannot(ed.entries[0])
	}
	return nil
}

// sameValue compares what two entries say, not how.
func sameValue(a, b entry) bool {
	if a.kind != b.kind || a.text != b.text || len(a.items) != len(b.items) {
		return false
	}
	if a.kind == otherValue {
		return sameNode(a.node, b.node)
	}
	for i := range a.items {
		x, y := a.items[i], b.items[i]
		if x.text != y.text || x.scalar != y.scalar || !x.scalar && !sameNode(x.node, y.node) {
			return false
		}
	}
	return true
}

func sameNode(a, b *yaml.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
