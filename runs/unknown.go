package runs

import (
	"bytes"
	"encoding/json"
)

// withUnknown is a stage as a tree, with what its record had and a stage has no field
// for: what is lost when a record is read and written again. found: there is such.
func withUnknown(s *Stage) (tree any, found bool, err error) {
	var read Stage
	_ = json.Unmarshal(s.raw, &read) // it was read from there
	trees := make([]any, 3)
	for i, v := range []any{s, json.RawMessage(s.raw), &read} {
		if trees[i], err = toTree(v); err != nil {
			return nil, false, err
		}
	}
	return trees[0], keepUnknown(trees[0], trees[1], trees[2]), nil
}

// keepUnknown puts into a tree what raw has and known lacks, and reports whether there
// is any. What we wrote ourselves wins; what is unknown inside the value of a known key,
// or at a place of a list, goes only where that still is.
func keepUnknown(tree, raw, known any) (found bool) {
	switch raw := raw.(type) {
	case map[string]any:
		into, _ := tree.(map[string]any)
		have, _ := known.(map[string]any)
		for key, value := range raw {
			was, isKnown := have[key]
			is, there := into[key]
			if isKnown {
				found = keepUnknown(is, value, was) || found
				continue
			}
			found = true
			if into != nil && !there {
				into[key] = value
			}
		}
	case []any:
		into, _ := tree.([]any)
		have, _ := known.([]any)
		into = append(into, make([]any, len(have))...) // never shorter than what was read
		for i := range min(len(raw), len(have)) {
			found = keepUnknown(into[i], raw[i], have[i]) || found
		}
	}
	return found
}

func toTree(v any) (tree any, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return tree, d.Decode(&tree)
}
