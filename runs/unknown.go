package runs

import (
	"bytes"
	"encoding/json"
)

// unknownFields is the part of a record that a stage has no field for: what is lost when
// it is read and written again, as a tree of maps; a list becomes a map from index to what
// is unknown there. nil when everything is known.
func unknownFields(data []byte) map[string]any {
	var known Stage
	_ = json.Unmarshal(data, &known) // a field of another type is known all the same
	again, err := toTree(&known)
	tree := map[string]any{}
	if err != nil || decodeNumbers(data, &tree) != nil {
		return nil
	}
	rest, _ := strangers(tree, again).(map[string]any)
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

func strangers(v, known any) any {
	switch v := v.(type) {
	case map[string]any:
		have, ok := known.(map[string]any)
		rest := map[string]any{}
		for key, value := range v {
			if in, there := have[key]; !there {
				rest[key] = value
			} else if inner := strangers(value, in); inner != nil {
				rest[key] = inside{inner}
			}
		}
		if ok && len(rest) > 0 {
			return rest
		}
	case []any:
		have, _ := known.([]any)
		rest := atIndex{}
		for i := range min(len(v), len(have)) {
			if inner := strangers(v[i], have[i]); inner != nil {
				rest[i] = inner
			}
		}
		if len(rest) > 0 {
			return rest
		}
	}
	return nil
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
		object, ok := tree.(map[string]any)
		for key, value := range rest {
			have, there := object[key]
			in, known := value.(inside)
			switch {
			case known && there:
				object[key] = graft(have, in.rest)
			case !known && !there && ok:
				object[key] = value
			}
		}
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
