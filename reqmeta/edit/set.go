package edit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// settable are the keys that can be added to a file, in the order in which
// they are added.
var settable = [...]string{
	"id", "title", "priority", "status", "labels", "depends_on", "estimate", "base", "touches", "created_at", "updated_at",
}

// SetValues gives data with the values of some keys changed. It changes the
// bytes of these values and no other; a key that is missing is added as a line
// at the end of the head. Lists are given as "a, b" or "[a, b]"; "" empties an
// optional value. Of a file of another tool (see reqmeta.Mapping) it changes the
// key that the tool has, to the word of the tool; where the title is the heading,
// that is changed. When something changes, updated_at is renewed in the form
// that it has, if it is there.
//
// It fails with REQUEST_INVALID_FORMAT when the head is broken or the value
// stands in a form that it cannot change safely, and with INVALID_REQUEST when
// the asked value is not allowed, or the other tool has no word for it.
func SetValues(r *reqmeta.Request, data []byte, values map[string]string, now time.Time) ([]byte, error) {
	ed, err := openEditor(r, data)
	if err != nil {
		return nil, err
	}
	for _, key := range ed.keys(values) {
		if err := ed.set(key, values[key]); err != nil {
			return nil, err
		}
	}
	if len(ed.edits) == 0 && bytes.Equal(ed.body, reqmeta.Body(data)) {
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

// GiveBack gives data the values that keys have in before, an earlier text of the
// same file, in the very words that stood there.
func GiveBack(r *reqmeta.Request, data, before []byte, keys ...string) ([]byte, error) {
	ed, err := openEditor(r, data)
	if err != nil {
		return nil, err
	}
	was, err := openEditor(r, before)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		e := was.find(key)
		if e == nil || e.Kind != reqmeta.ScalarValue {
			continue
		}
		if err := ed.change(ed.find(key), reqmeta.Entry{Key: key, Text: e.Text, Written: e.Written}); err != nil {
			return nil, err
		}
	}
	out := ed.apply()
	return out, ed.verify(out)
}

// editor collects the edits of one head.
type editor struct {
	path    string
	mapping *reqmeta.Mapping
	data    []byte
	doc     reqmeta.Document
	head    string
	body    []byte // as it is to be
	entries []reqmeta.Entry
	edits   []edit
	want    map[string]reqmeta.Entry // what the changed keys must read like afterwards
}

// edit replaces head[start:end].
type edit struct {
	start, end int
	text       string
}

func openEditor(r *reqmeta.Request, data []byte) (*editor, error) {
	path := r.Path
	if len(data) > reqmeta.MaxFile {
		return nil, reqmeta.Refuse(fault.RequestInvalidFormat, path, reqmeta.NewProblem(reqmeta.LevelError, "file_too_large", 0, "limit", reqmeta.MaxFile))
	}
	d, p := reqmeta.Split(data)
	if p != nil {
		return nil, reqmeta.Refuse(fault.RequestInvalidFormat, path, p)
	}
	head := string(data[d.Start:d.End])
	entries, p := d.Entries(head)
	if p != nil {
		return nil, reqmeta.Refuse(fault.RequestInvalidFormat, path, p)
	}
	return &editor{path: path, mapping: r.Mapping, data: data, doc: d, head: head, body: reqmeta.Body(data), entries: r.Mapping.Own(entries), want: map[string]reqmeta.Entry{}}, nil
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

func (ed *editor) find(key string) *reqmeta.Entry {
	for i := range ed.entries {
		if ed.entries[i].Key == key {
			return &ed.entries[i]
		}
	}
	return nil
}

func (ed *editor) set(key, value string) error {
	e := ed.find(key)
	want, p := reqmeta.Asked(reqmeta.Stem(ed.path), key, value)
	if word, ok := ed.mapping.Word(key, value); p == nil && !ok && value != "" {
		p = reqmeta.NewProblem(reqmeta.LevelError, "no_word", 0, "key", "values."+key, "value", value)
	} else if word != value {
		want.Written = word
	}
	if p == nil && e == nil && !slices.Contains(settable[:], key) {
		p = reqmeta.NewProblem(reqmeta.LevelError, "set_unknown_key", 0, "key", key, "allowed", reqmeta.Join(settable[:]))
	}
	if p != nil {
		return reqmeta.Refuse(fault.InvalidRequest, ed.path, p)
	}
	if key == "title" && e == nil && ed.retitle(value) {
		return nil
	}
	return ed.change(e, want)
}

// retitle writes the title where another tool has it, as the heading of the body. It
// reports false where there is none, or the heading cannot hold it.
func (ed *editor) retitle(title string) bool {
	heading, start, end := reqmeta.HeadingAt(ed.body)
	if ed.mapping == nil || ed.mapping.Name("title") != "title" || heading == "" || title == "" {
		return false
	}
	if heading == title {
		return true
	}
	body := slices.Concat(ed.body[:start], []byte("# "+title), ed.body[end:])
	if reqmeta.Heading(body) != title {
		return false
	}
	ed.body = body
	return true
}

func (ed *editor) change(e *reqmeta.Entry, want reqmeta.Entry) error {
	empty := want.Kind == reqmeta.NullValue || want.Kind == reqmeta.ListValue && len(want.Items) == 0
	if empty && (e == nil || e.Kind == reqmeta.NullValue) || e != nil && sameValue(*e, want) {
		return nil
	}
	ed.want[want.Key] = want
	if e == nil {
		return ed.append(want)
	}
	if e.Start < 0 || e.Kind == reqmeta.OtherValue || e.Block && want.Kind != reqmeta.ListValue {
		return ed.cannot(*e)
	}
	ed.edits = append(ed.edits, ed.replace(*e, want))
	if e.Below < e.BelowEnd {
		ed.edits = append(ed.edits, edit{e.Below, e.BelowEnd, ""})
	}
	return nil
}

func (ed *editor) cannot(e reqmeta.Entry) error {
	return reqmeta.Refuse(fault.InvalidRequest, ed.path, reqmeta.NewProblem(reqmeta.LevelError, "set_by_hand", e.Line, "key", cmp.Or(e.Theirs, e.Key)))
}

// replace writes want where e stands, in e's style as far as that can hold it.
func (ed *editor) replace(e, want reqmeta.Entry) edit {
	switch {
	case e.Block && len(want.Items) > 0:
		return edit{e.Start, e.End, ed.blockLines(e, want.Items)}
	case e.Block: // comments may stand between the key and the first item
		between := strings.TrimSuffix(strings.TrimSuffix(ed.head[e.Colon:e.Start], "\n"), "\r")
		return edit{e.Colon, e.End, " []" + between}
	case want.Kind == reqmeta.ListValue:
		return ed.at(e, flowText(want.Items))
	case want.Kind == reqmeta.NullValue:
		return ed.at(e, "")
	}
	quote := byte(0)
	if e.Kind == reqmeta.ScalarValue && e.Start < e.End {
		quote = ed.head[e.Start]
	}
	return ed.at(e, written(want, quote))
}

// at puts text in the place of e's value; an empty value has no blank yet.
func (ed *editor) at(e reqmeta.Entry, text string) edit {
	if e.Start == e.Colon && text != "" {
		text = " " + text
	}
	return edit{e.Start, e.End, text}
}

// blockLines keeps the lines of the items that stay.
func (ed *editor) blockLines(e reqmeta.Entry, items []reqmeta.Item) string {
	old := map[string][]string{}
	for i, line := range ed.itemLines(e) {
		old[e.Items[i].Text] = append(old[e.Items[i].Text], line)
	}
	lines := make([]string, len(items))
	for i, it := range items {
		if have := old[it.Text]; len(have) > 0 {
			lines[i], old[it.Text] = have[0], have[1:]
			continue
		}
		lines[i] = strings.Repeat(" ", e.Indent) + "- " + scalarText("", it.Text, 0)
	}
	return strings.Join(lines, newline(ed.data, ed.doc.Start+e.Start))
}

func (ed *editor) itemLines(e reqmeta.Entry) []string {
	lines := strings.Split(ed.head[e.Start:e.End], "\n")
	kept := lines[:0]
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line[indentOf(line):], "- ") {
			kept = append(kept, line)
		}
	}
	return kept
}

// append adds a line for a key that is not there.
func (ed *editor) append(want reqmeta.Entry) error {
	indent := 0
	if len(ed.entries) > 0 {
		e := ed.entries[0]
		if e.Colon == 0 {
			return ed.cannot(e)
		}
		lineStart := strings.LastIndexByte(ed.head[:e.Colon], '\n') + 1
		indent = indentOf(ed.head[lineStart:])
	}
	name := ed.mapping.Name(want.Key)
	text := name + ": " + flowText(want.Items)
	if want.Kind == reqmeta.ScalarValue {
		text = name + ": " + written(want, 0)
	}
	text = strings.Repeat(" ", indent) + text
	nl := newline(ed.data, ed.doc.Start+len(ed.head))
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
	if e == nil || e.Kind != reqmeta.ScalarValue {
		return nil
	}
	text := likeDate(e.Text, now)
	if text == "" || text == e.Text {
		return nil
	}
	return ed.change(e, reqmeta.Entry{Key: e.Key, Text: text})
}

func (ed *editor) apply() []byte {
	slices.SortStableFunc(ed.edits, func(a, b edit) int { return a.start - b.start })
	var b bytes.Buffer
	b.Write(ed.data[:ed.doc.Start])
	at := 0
	for _, e := range ed.edits {
		b.WriteString(ed.head[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(ed.head[at:])
	b.Write(ed.data[ed.doc.End : len(ed.data)-len(reqmeta.Body(ed.data))])
	b.Write(ed.body)
	return b.Bytes()
}

// verify reads the result again: the changed keys must have the asked values,
// every other key the one it had.
func (ed *editor) verify(out []byte) error {
	after, err := openEditor(&reqmeta.Request{Path: ed.path, Mapping: ed.mapping}, out)
	if err != nil {
		return err
	}
	for i, e := range after.entries {
		want, changed := ed.want[e.Key]
		switch {
		case changed && !sameValue(e, want):
			return ed.cannot(e)
		case !changed && (i >= len(ed.entries) || ed.entries[i].Key != e.Key || !sameValue(e, ed.entries[i])):
			return ed.cannot(e)
		}
		delete(ed.want, e.Key)
	}
	for _, want := range ed.want {
		return ed.cannot(want)
	}
	if len(after.entries) < len(ed.entries) || !bytes.Equal(reqmeta.Body(out), ed.body) {
		return ed.cannot(ed.entries[0])
	}
	return nil
}

// sameValue compares what two entries say, not how.
func sameValue(a, b reqmeta.Entry) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items) {
		return false
	}
	if a.Kind == reqmeta.OtherValue {
		return sameNode(a.Node, b.Node)
	}
	for i := range a.Items {
		x, y := a.Items[i], b.Items[i]
		if x.Text != y.Text || x.Scalar != y.Scalar || !x.Scalar && !sameNode(x.Node, y.Node) {
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
