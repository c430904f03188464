package convert

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

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
	stem  string // of its file
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
	for _, name := range names {
		delete(r.texts, squeeze(name))
	}
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
	}
	return r
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
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
		for _, key := range []string{"name", "title", "id", "task_id", "issue", "number"} {
			switch one := v[key].(type) {
			case string, json.Number:
				return texts(one)
			}
		}
	}
	return nil
}

// head is the head of a markdown file as a record.
func (c *conv) head(where string, data []byte) (*record, string, string) {
	d, p := reqmeta.Split(data)
	if p != nil {
		return nil, p.Kind, cmp.Or(p.Facts["format"], p.Facts["encoding"])
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
		return nil, p.Kind, p.Facts["key"]
	}
	r := newRecord(where)
	r.stem = reqmeta.Stem(path.Base(where))
	for _, e := range entries {
		if _, twice := r.texts[squeeze(e.Key)]; twice {
			return nil, "duplicate_key", e.Key
		}
		switch e.Kind {
		case reqmeta.ScalarValue:
			r.put(e.Key, e.Text)
		case reqmeta.ListValue:
			r.put(e.Key)
			for _, it := range e.Items {
				if it.Scalar {
					r.put(e.Key, it.Text)
				}
			}
		default:
			r.put(e.Key)
		}
	}
	r.body = string(reqmeta.Body(data))
	return r, "", ""
}
