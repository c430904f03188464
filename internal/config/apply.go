package config

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/near"
)

// applier lays one file's values over the defaults.
type applier[T any] struct {
	rows     []row[T]
	target   *T
	path     string // of the file, as people know it
	data     []byte
	origins  map[string]Origin
	warnings []Warning
}

func (a *applier[T]) file() error {
	root, err := parse(a.data)
	if err != nil {
		return a.mistaken(err.(*mistake))
	}
	if _, ok := root.value.([]member); !ok {
		return a.mistaken(&mistake{at: root.at, cause: "config.not_object"})
	}
	return a.group(nil, root)
}

func (a *applier[T]) mistaken(m *mistake) error {
	line, column := position(a.data, m.at)
	err := unusable(nil, a.path, "line", line, "column", column, "key", m.key, "cause_key", m.cause)
	if m.text != "" {
		err.Facts["reason"] = m.text
	}
	return err
}

// group applies the members of an object.
func (a *applier[T]) group(path []string, n node) error {
	for _, m := range n.value.([]member) {
		if m.key == "$schema" || strings.HasPrefix(m.key, "//") {
			continue
		}
		if err := a.member(append(path[:len(path):len(path)], m.key), m); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier[T]) member(path []string, m member) error {
	if r, names, ok := find(a.rows, path); ok {
		return a.set(r, names, path, m.value)
	}
	if !slices.ContainsFunc(a.rows, func(r row[T]) bool { return r.inside(path) }) {
		a.unknown(path, m.at)
		return nil
	}
	switch m.value.value.(type) {
	case nil:
		return nil
	case []member:
		return a.group(path, m.value)
	}
	return a.invalid(path, m.value, "{…}", "config.wrong_type")
}

func find[T any](rows []row[T], path []string) (row[T], []string, bool) {
	for _, r := range rows {
		if names, ok := r.match(path); ok {
			return r, names, true
		}
	}
	return row[T]{}, nil, false
}

// unknown warns about a key and names the one that was probably meant.
func (a *applier[T]) unknown(path []string, at int) {
	parent, last := path[:len(path)-1], path[len(path)-1]
	var words []string // "*" stands for names that are free
	for _, r := range a.rows {
		if r.inside(parent) {
			words = append(words, strings.Split(r.key, ".")[len(parent)])
		}
	}
	facts := a.place(path, at)
	if word := near.Word(last, words); word != "" {
		facts["near"] = strings.Join(append(parent[:len(parent):len(parent)], word), ".")
	} else if len(words) > 0 {
		words = slices.DeleteFunc(words, func(w string) bool { return w == "*" })
		slices.Sort(words)
		facts["allowed"] = strings.Join(slices.Compact(words), ", ")
	}
	a.warn("unknown_key", facts)
}

func (a *applier[T]) warn(kind string, facts fault.Facts) {
	a.warnings = append(a.warnings, Warning{Kind: kind, Facts: facts})
}

func (a *applier[T]) place(path []string, at int) fault.Facts {
	line, _ := position(a.data, at)
	return fault.Facts{"path": a.path, "line": strconv.Itoa(line), "key": strings.Join(path, ".")}
}

// set checks one value and applies it.
func (a *applier[T]) set(r row[T], names, path []string, n node) error {
	if n.value == nil {
		return nil // null: the default
	}
	v, cause := r.convert(n)
	if cause != "" {
		return a.invalid(path, n, r.rangeText(), cause)
	}
	if r.get != nil && r.ignored && r.get(a.target) != v {
		a.warn("no_effect", a.place(path, n.at))
	}
	if num, ok := v.(int); ok && num < r.low {
		facts := a.place(path, n.at)
		facts["value"], facts["allowed"] = strconv.Itoa(num), strconv.Itoa(r.low)
		a.warn("low_value", facts)
	}
	r.set(a.target, names, v)
	line, _ := position(a.data, n.at)
	a.origins[strings.Join(path, ".")] = Origin{Kind: "file", Where: a.path + ":" + strconv.Itoa(line)}
	return nil
}

func (a *applier[T]) invalid(path []string, n node, allowed, cause string) error {
	line, column := position(a.data, n.at)
	return unusable(nil, a.path, "line", line, "column", column,
		"key", strings.Join(path, "."), "value", short(n), "allowed", allowed, "cause_key", cause)
}

func unusable(err error, path string, more ...any) *fault.Error {
	return fault.Wrap(err, fault.ConfigInvalid, append(more, "path", path)...)
}

// short is a value as the message quotes it.
func short(n node) string {
	switch v := n.value.(type) {
	case []member:
		return "{…}"
	case []node:
		return "[…]"
	case nil:
		return "null"
	default:
		b, _ := json.Marshal(v)
		if len(b) > 80 {
			return string([]rune(string(b))[:40]) + "…"
		}
		return string(b)
	}
}

// convert gives the Go value of n, or the message key of what is wrong.
func (r row[T]) convert(n node) (any, string) {
	switch r.kind {
	case kindText:
		s, ok := n.value.(string)
		switch {
		case !ok:
			return nil, "config.wrong_type"
		case len(r.allowed) > 0 && !slices.Contains(r.allowed, s), r.check != nil && !r.check(s):
			return nil, "config.not_allowed"
		}
		return s, ""
	case kindBool:
		b, ok := n.value.(bool)
		if !ok {
			return nil, "config.wrong_type"
		}
		return b, ""
	case kindInt:
		num, ok := n.value.(json.Number)
		i, err := strconv.Atoi(num.String())
		switch {
		case !ok || err != nil:
			return nil, "config.wrong_type"
		case i < r.min || r.max > 0 && i > r.max:
			return nil, "config.out_of_range"
		}
		return i, ""
	case kindNum:
		num, ok := n.value.(json.Number)
		f, err := num.Float64()
		switch {
		case !ok || err != nil:
			return nil, "config.wrong_type"
		case f < 0:
			return nil, "config.out_of_range"
		}
		return f, ""
	}
	return r.texts(n)
}

func (r row[T]) texts(n node) (any, string) {
	items, ok := n.value.([]node)
	if !ok {
		return nil, "config.wrong_type"
	}
	all := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.value.(string)
		if !ok {
			return nil, "config.wrong_type"
		}
		if s == "" || r.check != nil && !r.check(s) {
			return nil, "config.not_allowed"
		}
		all = append(all, s)
	}
	return all, ""
}
