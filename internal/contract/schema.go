package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// flaw is one thing that is wrong with an answer. Wrong names the sentence
// "contract.<wrong>", the rest are its facts.
type flaw struct {
	Key     string `json:"key,omitempty"`
	Wrong   string `json:"wrong"`
	Value   string `json:"value,omitempty"`
	Allowed string `json:"allowed,omitempty"`
}

// check holds a value against a schema and gives all that is wrong with it. Of
// JSON Schema it knows type, enum, required, properties, items, minItems,
// minLength, minimum and pattern; other words are left out of account.
func check(schema []byte, value json.RawMessage) []flaw {
	var s node
	if err := json.Unmarshal(schema, &s); err != nil {
		return []flaw{{Wrong: "own"}}
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return []flaw{{Wrong: "unread", Value: err.Error()}}
	}
	return s.check("", v)
}

// node is one part of a schema.
type node struct {
	Type       types           `json:"type"`
	Enum       []any           `json:"enum"`
	Required   []string        `json:"required"`
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	MinItems   int             `json:"minItems"`
	MinLength  int             `json:"minLength"`
	Minimum    *float64        `json:"minimum"`
	Pattern    string          `json:"pattern"`
}

// types is "string" or ["string", "null"].
type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func (n node) check(key string, v any) []flaw {
	if len(n.Type) > 0 && !slices.ContainsFunc(n.Type, func(t string) bool { return isOf(v, t) }) {
		return []flaw{{key, "type", typeOf(v), strings.Join(n.Type, " | ")}}
	}
	if len(n.Enum) > 0 && !slices.Contains(n.Enum, v) {
		return []flaw{{key, "enum", fmt.Sprint(v), fmt.Sprint(n.Enum)}}
	}
	switch x := v.(type) {
	case string:
		return n.checkText(key, x)
	case json.Number:
		if f, err := x.Float64(); n.Minimum != nil && (err != nil || f < *n.Minimum) {
			return []flaw{{key, "minimum", x.String(), strconv.FormatFloat(*n.Minimum, 'g', -1, 64)}}
		}
	case []any:
		return n.checkList(key, x)
	case map[string]any:
		return n.checkObject(key, x)
	}
	return nil
}

func (n node) checkText(key, s string) []flaw {
	if len(strings.TrimSpace(s)) < n.MinLength {
		return []flaw{{Key: key, Wrong: "empty"}}
	}
	if n.Pattern == "" {
		return nil
	}
	if re, err := regexp.Compile(n.Pattern); err != nil || !re.MatchString(s) {
		return []flaw{{key, "pattern", strconv.Quote(s), n.Pattern}}
	}
	return nil
}

func (n node) checkList(key string, list []any) (all []flaw) {
	if len(list) < n.MinItems {
		return []flaw{{key, "items", strconv.Itoa(len(list)), strconv.Itoa(n.MinItems)}}
	}
	for i, v := range list {
		if n.Items != nil && len(all) <= maxFlaws {
			all = append(all, n.Items.check(key+"["+strconv.Itoa(i)+"]", v)...)
		}
	}
	return all
}

func (n node) checkObject(key string, o map[string]any) (all []flaw) {
	for _, name := range n.Required {
		if _, ok := o[name]; !ok {
			all = append(all, flaw{Key: join(key, name), Wrong: "missing"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if v, ok := o[name]; ok {
			all = append(all, n.Properties[name].check(join(key, name), v)...)
		}
	}
	return all
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func isOf(v any, t string) bool {
	if t == "integer" {
		n, ok := v.(json.Number)
		_, err := strconv.Atoi(n.String())
		return ok && err == nil
	}
	return typeOf(v) == t
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
