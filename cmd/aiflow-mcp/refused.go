package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// wrong is what a tool's schema does not allow: the text mcp.wrong_KIND says it.
type wrong struct {
	kind, key, value, allowed, given string
}

func (w *wrong) text(f *face) string {
	return f.shell.Catalog().Text("mcp.wrong_"+w.kind, fault.NewFacts("key", w.key, "value", short(w.value, mostSaid), "allowed", w.allowed, "given", short(w.given, mostShown)))
}

// read gives the arguments of a call as the schema of the tool has them.
func (t tool) read(raw []byte) (args, *wrong) {
	var v any
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber() // one may be too large for every type
		if err := d.Decode(&v); err != nil {
			return nil, mistyped("", string(raw), "object")
		}
	}
	all, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, mistyped("", v, "object")
	}
	var missing, unknown []string
	a := args{}
	for _, p := range t.params {
		v, given := all[p.name]
		if !given {
			if p.required {
				missing = append(missing, p.name)
			}
			continue
		}
		var w *wrong
		if a[p.name], w = p.read(v); w != nil {
			return nil, w
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(t.params, func(p param) bool { return p.name == name }) {
			unknown = append(unknown, name)
		}
	}
	switch {
	case len(unknown) > 0:
		return nil, &wrong{kind: "unknown", value: strings.Join(unknown, ", ")}
	case len(missing) > 0:
		return nil, &wrong{kind: "missing", value: strings.Join(missing, ", ")}
	}
	return a, nil
}

// read gives one argument.
func (p param) read(v any) (any, *wrong) {
	switch p.kind {
	case "boolean":
		if _, ok := v.(bool); !ok {
			return nil, mistyped(p.name, v, "boolean")
		}
		return v, nil
	case "integer":
		return p.whole(v)
	case "list":
		list, ok := v.([]any)
		if !ok {
			return nil, mistyped(p.name, v, "array")
		}
		for _, one := range list {
			if w := p.word(p.name, one, "string"); w != nil {
				return nil, w
			}
		}
		return v, nil
	case "map":
		values, ok := v.(map[string]any)
		if !ok {
			return nil, mistyped(p.name, v, "object")
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !isNamed.MatchString(key) {
				return nil, &wrong{kind: "shape", key: p.name, value: key, allowed: named}
			}
			list, ok := values[key].([]any)
			allowed := "string"
			if reqmeta.IsList(key) {
				allowed = "string, array"
			}
			if !ok || allowed == "string" {
				list = []any{values[key]}
			}
			for _, one := range list {
				if w := p.word(p.name+"."+key, one, allowed); w != nil {
					return nil, w
				}
			}
		}
		return v, nil
	}
	return v, p.word(p.name, v, "string")
}

// whole gives a number as the commands take it.
func (p param) whole(v any) (any, *wrong) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, mistyped(p.name, v, "integer")
	}
	f, err := n.Float64() // of one that is too large it is the infinity on that side
	switch {
	case err == nil && f != float64(int64(f)) && f < float64(p.most) && f > 1:
		return nil, mistyped(p.name, v, "integer")
	case f < 1:
		return nil, &wrong{kind: "least", key: p.name, value: n.String(), allowed: "1"}
	case f > float64(p.most):
		return nil, &wrong{kind: "most", key: p.name, value: n.String(), allowed: strconv.Itoa(p.most)}
	}
	return f, nil
}

var isNamed = regexp.MustCompile(named)

// word holds one text against what is allowed.
func (p param) word(key string, v any, allowed string) *wrong {
	text, ok := v.(string)
	most := p.mostLetters()
	switch n := utf8.RuneCountInString(text); {
	case !ok:
		return mistyped(key, v, allowed)
	case p.allowed != nil && !slices.Contains(p.allowed, text):
		return &wrong{kind: "enum", key: key, value: text, allowed: strings.Join(p.allowed, ", ")}
	case most > 0 && n > most:
		return &wrong{kind: "length", key: key, value: strconv.Itoa(n), allowed: strconv.Itoa(most)}
	case p.isName() && !isNamed.MatchString(text):
		return &wrong{kind: "shape", key: key, value: text, allowed: named}
	}
	return nil
}

func mistyped(key string, v any, allowed string) *wrong {
	w := &wrong{kind: "type", key: key, allowed: allowed}
	switch v.(type) {
	case nil:
		w.value = "null"
		return w
	case bool:
		w.value = "boolean"
	case json.Number:
		w.value = "number"
	case string:
		w.value = "string"
	case []any:
		w.value = "array"
	default:
		w.value = "object"
	}
	said, _ := json.Marshal(v)
	w.given = string(said)
	return w
}
