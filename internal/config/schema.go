package config

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Schema is the JSON Schema of config.v1.json, written from the table that the
// reader uses.
func Schema() []byte {
	c := Default()
	return schema("aiflow config.v1.json", keys(), &c)
}

// RouterSchema is the JSON Schema of router.v1.json.
func RouterSchema() []byte { return schema[Router]("aiflow router.v1.json", routerKeys(), nil) }

func schema[T any](title string, rows []row[T], defaults *T) []byte {
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "type": "object",
		"properties": map[string]any{"$schema": map[string]any{"type": "string"}},
	}
	for _, r := range rows {
		place(root, strings.Split(r.key, "."), r.schema(defaults))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(root)
	return b.Bytes()
}

// place puts leaf into the tree of objects; a star becomes
// additionalProperties.
func place(object map[string]any, path []string, leaf map[string]any) {
	name, rest := path[0], path[1:]
	slot, key := object, "additionalProperties"
	if name != "*" {
		if object["properties"] == nil {
			object["properties"] = map[string]any{}
		}
		slot, key = object["properties"].(map[string]any), name
	}
	if len(rest) == 0 {
		slot[key] = leaf
		return
	}
	next, ok := slot[key].(map[string]any)
	if !ok {
		next = map[string]any{"type": "object"}
		slot[key] = next
	}
	place(next, rest, leaf)
}

func (r row[T]) schema(defaults *T) map[string]any {
	s := map[string]any{"type": string(r.kind), "description": r.about}
	switch {
	case r.kind == kindList:
		s["items"] = map[string]any{"type": "string", "minLength": 1}
	case len(r.allowed) > 0:
		s["enum"] = r.allowed
	case r.kind == kindNum:
		s["minimum"] = 0
	case r.kind == kindInt:
		s["minimum"] = r.min
		if r.max > 0 {
			s["maximum"] = r.max
		}
	}
	if defaults != nil && r.get != nil && !strings.HasPrefix(r.key, "tests.") {
		s["default"] = json.RawMessage(asJSON(r.get(defaults)))
	}
	return s
}
