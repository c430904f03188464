package runs

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// unknownFields is the part of data that the type of v has no field for: a
// tree of maps; a list becomes a map from index to what is unknown there. nil
// when everything is known.
func unknownFields(data []byte, v any) map[string]any {
	tree := map[string]any{}
	if decodeNumbers(data, &tree) != nil {
		return nil
	}
	rest, _ := strangers(tree, reflect.TypeOf(v)).(map[string]any)
	return rest
}

func decodeNumbers(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// inside marks what is unknown inside the value of a known key: it goes only
// where that value still is.
type inside struct{ rest any }

// atIndex are the unknown fields inside the elements of a list.
type atIndex map[int]any

func strangers(v any, t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case map[string]any:
		return strangersOfObject(v, t)
	case []any:
		return strangersOfList(v, t)
	}
	return nil
}

func strangersOfObject(v map[string]any, t reflect.Type) any {
	known, open := fields(t)
	if open {
		return nil
	}
	rest := map[string]any{}
	for key, value := range v {
		ft, ok := known(key)
		switch {
		case !ok:
			rest[key] = value
		default:
			if inner := strangers(value, ft); inner != nil {
				rest[key] = inside{inner}
			}
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}

func strangersOfList(v []any, t reflect.Type) any {
	if t.Kind() != reflect.Slice {
		return nil
	}
	rest := atIndex{}
	for i, one := range v {
		if inner := strangers(one, t.Elem()); inner != nil {
			rest[i] = inner
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// fields looks up the type of a JSON key in t. open: t takes any key or has a
// form of its own (a time).
func fields(t reflect.Type) (known func(key string) (reflect.Type, bool), open bool) {
	switch {
	case t.Kind() == reflect.Map:
		return func(string) (reflect.Type, bool) { return t.Elem(), true }, t.Elem().Kind() != reflect.Struct
	case t.Kind() != reflect.Struct || t.PkgPath() == "time":
		return nil, true
	}
	return func(key string) (reflect.Type, bool) {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name == key && name != "-" {
				return t.Field(i).Type, true
			}
		}
		return nil, false
	}, false
}

func toTree(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	tree := map[string]any{}
	return tree, decodeNumbers(data, &tree)
}

// graft puts the unknown fields back; what we wrote ourselves wins.
func graft(tree any, rest any) any {
	switch rest := rest.(type) {
	case map[string]any:
		graftObject(tree, rest)
	case atIndex:
		list, _ := tree.([]any)
		for i, inner := range rest {
			if i < len(list) {
				list[i] = graft(list[i], inner)
			}
		}
	}
	return tree
}

func graftObject(tree any, rest map[string]any) {
	object, ok := tree.(map[string]any)
	if !ok {
		return
	}
	for key, value := range rest {
		have, ok := object[key]
		in, known := value.(inside)
		switch {
		case known && ok:
			object[key] = graft(have, in.rest)
		case !known && !ok:
			object[key] = value
		}
	}
}
