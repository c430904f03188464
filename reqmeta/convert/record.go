package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"aiflow/reqmeta"
)

// record is one item as it stands in the source: texts by key, without case
// and the signs between words.
type record struct {
	where string
	names []string // of the keys, as they are written
	texts map[string][]string
	body  string
	json  bool
	stem  string   // of its file
	lost  []string // names of what holds more than texts
}

func newRecord(where string) *record { return &record{where: where, texts: map[string][]string{}} }

var squeezer = strings.NewReplacer("_", "", "-", "", " ", "")

func squeeze(s string) string { return strings.ToLower(squeezer.Replace(strings.TrimSpace(s))) }

func (r *record) put(name string, texts ...string) {
	key := squeeze(name)
	if _, had := r.texts[key]; !had {
		r.names = append(r.names, name)
		r.texts[key] = nil
	}
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			r.texts[key] = append(r.texts[key], text)
		}
	}
}

func (r *record) drop(names ...string) {
	dropped := func(name string) bool { return isOneOf(names, name) }
	for _, name := range names {
		delete(r.texts, squeeze(name))
	}
	r.names, r.lost = slices.DeleteFunc(r.names, dropped), slices.DeleteFunc(r.lost, dropped)
}

// set replaces what stands under a key.
func (r *record) set(name string, texts ...string) {
	r.drop(name)
	r.put(name, texts...)
}

// isOneOf reports whether a name is one of the keys.
func isOneOf(keys []string, name string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return squeeze(key) == squeeze(name) })
}

// all are the texts under the first of the keys that has some.
func (r *record) all(keys []string) []string {
	for _, key := range keys {
		if texts := r.texts[squeeze(key)]; len(texts) > 0 {
			return texts
		}
	}
	return nil
}

// every are the texts under all of the keys, each once.
func (r *record) every(keys []string) []string {
	var out []string
	for _, key := range keys {
		for _, text := range r.texts[squeeze(key)] {
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

func (r *record) one(keys ...string) string {
	if texts := r.all(keys); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// object is a JSON object as a record: numbers are texts, lists are several,
// an object in a list is what names it.
func object(where string, m map[string]any) *record {
	r := newRecord(where)
	r.json = true
	for _, name := range slices.Sorted(maps.Keys(m)) {
		r.put(name, texts(m[name])...)
		if !whole(m[name]) {
			r.lost = append(r.lost, name)
		}
	}
	return r
}

// whole reports whether texts gives all that a value says.
func whole(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool {
			_, nested := one.([]any)
			return nested || !whole(one)
		})
	case map[string]any:
		return len(v) == 0 || len(texts(v)) > 0
	}
	return true
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case int:
		return []string{strconv.Itoa(v)}
	case int64:
		return []string{strconv.FormatInt(v, 10)}
	case float64:
		return []string{strconv.FormatFloat(v, 'g', -1, 64)}
	case time.Time: // of TOML, where one without a zone says so
		switch v.Location().String() {
		case "date-local":
			return []string{v.Format(reqmeta.DayForm)}
		case "datetime-local":
			return []string{v.Format("2006-01-02T15:04:05")}
		}
		return []string{v.Format(time.RFC3339)}
	case bool:
		if v {
			return []string{"true"}
		}
		return []string{"false"}
	case []any:
		var list []string
		for _, one := range v {
			if _, nested := one.([]any); !nested {
				list = append(list, texts(one)...)
			}
		}
		return list
	case map[string]any:
		for _, key := range []string{"name", "login", "title", "id", "task_id", "issue", "number"} {
			switch one := v[key].(type) {
			case string, json.Number, int, int64:
				return texts(one)
			}
		}
	}
	return nil
}

// node puts what names an object of YAML, as object does with one of JSON.
func (r *record) node(name string, n *yaml.Node) {
	var v any
	if n != nil && n.Decode(&v) == nil {
		r.put(name, texts(v)...)
	}
	if (v == nil || !whole(v)) && !slices.Contains(r.lost, name) {
		r.lost = append(r.lost, name)
	}
}

// unreadableHead says why the head of a file cannot be read. Line is 0 where that is no line's fault.
type unreadableHead struct {
	line          int
	reason, value string
}

// head is the head of a markdown file as a record.
func (c *conv) head(where string, data []byte) (*record, *unreadableHead) {
	d, p := reqmeta.Split(data)
	if p != nil && p.Kind == "foreign_head" && p.Facts["format"] == "TOML" {
		return tomlHead(where, data)
	}
	if p != nil {
		return nil, headProblem(p)
	}
	text := string(data[d.Start:d.End])
	entries, p := d.Entries(text)
	if p != nil { // tools write names of people as @name, which YAML does not allow
		if quoted := atSign.ReplaceAllString(text, `$1'$2'`); quoted != text {
			if entries, p = d.Entries(quoted); p == nil {
				c.count("at_sign", "", where)
			}
		}
	}
	if p != nil {
		return nil, headProblem(p)
	}
	r := newRecord(where)
	r.stem = reqmeta.Stem(path.Base(where))
	for _, e := range entries {
		if _, twice := r.texts[squeeze(e.Key)]; twice {
			return nil, &unreadableHead{0, "key_twice", e.Key}
		}
		switch e.Kind {
		case reqmeta.ScalarValue:
			if isOneOf(c.m.Labels, e.Key) { // tags: a, b
				r.put(e.Key, unlisted(e.Text)...)
			} else {
				r.put(e.Key, e.Text)
			}
		case reqmeta.ListValue:
			r.put(e.Key)
			for _, it := range e.Items {
				if it.Scalar {
					r.put(e.Key, it.Text)
				} else {
					r.node(e.Key, it.Node)
				}
			}
		case reqmeta.NullValue:
			r.put(e.Key)
		default:
			r.put(e.Key)
			r.node(e.Key, e.Node)
		}
	}
	r.body = string(reqmeta.Body(data))
	return r, nil
}

// tomlHead is the head of a file between lines of +++.
func tomlHead(where string, data []byte) (*record, *unreadableHead) {
	_, rest, _ := bytes.Cut(data, []byte("+++"))
	rest = bytes.ReplaceAll(rest, []byte("\r\n"), []byte("\n"))
	head, body, ok := bytes.Cut(rest, []byte("\n+++"))
	if line, below, _ := bytes.Cut(body, []byte("\n")); ok && len(bytes.TrimSpace(line)) == 0 {
		body = below
	} else {
		ok = false
	}
	line := lineAt(data, len(data)-len(bytes.TrimLeft(data, "\ufeff \t\r\n")))
	var m map[string]any
	if !ok {
		return nil, &unreadableHead{line, "toml_open", ""}
	}
	if err := toml.Unmarshal(head, &m); err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return nil, &unreadableHead{line + at.Position.Line - 1, "toml", at.Message}
		}
		return nil, &unreadableHead{line, "toml", err.Error()}
	}
	r := object(where, m)
	r.json, r.stem, r.body = false, reqmeta.Stem(path.Base(where)), string(body)
	return r, nil
}

// headProblem is a problem of ours as the reason why a head cannot be read.
func headProblem(p *reqmeta.Problem) *unreadableHead {
	var value string
	switch p.Kind {
	case "control_char", "line_break", "yaml_bracket", "yaml_sign":
		value = p.Facts["char"]
	case "yaml_quote", "yaml_syntax":
		value = p.Facts["cause"]
	default:
		value = cmp.Or(p.Facts["key"], p.Facts["format"], p.Facts["encoding"], p.Facts["value"], p.Facts["cause"], p.Facts["limit"])
	}
	kind := p.Kind
	if kind == "duplicate_key" {
		kind = "key_twice"
	}
	return &unreadableHead{p.Line, kind, value}
}

// refuseHead is a file whose head could not be read.
func (c *conv) refuseHead(where string, bad *unreadableHead) {
	if bad.line > 0 {
		where += ":" + strconv.Itoa(bad.line)
	}
	c.refuse(where, bad.reason, bad.value)
}
