package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiflow/reqmeta"
)

// tool is a command as an agent calls it.
type tool struct {
	name   string
	params []param
	writes bool
	runs   bool // only where mcp.allow_run says so
	call   func(a args) command
	shape  func(answer map[string]any, a args) // what of the answer is given
}

// param is an argument; its description is the text mcp.param_NAME, or mcp.param_SAYS.
type param struct {
	name     string
	says     string
	kind     string // string, integer, boolean, list, map
	allowed  []string
	required bool
	most     int // of a number; the least is 1
}

// command is what a person would type.
type command struct {
	program string
	args    []string
	input   string
	begins  bool // a run that goes on by itself
}

// named is what an id may look like, so that none is taken for a flag or a value.
const named = `^[A-Za-z0-9][A-Za-z0-9._/-]*$`

// What goes to a command as an argument is bounded by the system; a body is not: it
// goes by standard input.
const (
	mostID   = 500
	mostText = 30_000 // letters, of four bytes at most
)

func (p param) schema(text func(key string) string) map[string]any {
	s := map[string]any{"description": text("mcp.param_" + cmp.Or(p.says, p.name))}
	one := map[string]any{"type": "string"}
	if n := p.mostLetters(); n > 0 {
		one["maxLength"] = n
	}
	if p.allowed != nil {
		one["enum"] = p.allowed
	}
	if p.isName() {
		one["pattern"] = named
	}
	switch p.kind {
	case "list":
		s["type"], s["items"] = "array", one
	case "map":
		s["type"], s["propertyNames"] = "object", map[string]any{"pattern": named}
		s["additionalProperties"] = map[string]any{"type": []string{"string", "array"}, "items": map[string]any{"type": "string", "maxLength": mostText}, "maxLength": mostText}
	case "":
		maps.Copy(s, one)
	case "integer":
		s["type"], s["minimum"], s["maximum"] = p.kind, 1, p.most
	default:
		s["type"] = p.kind
	}
	return s
}

// isName: it is an id or the beginning of one.
func (p param) isName() bool {
	return p.name == "id" || p.name == "run" || p.name == "runs" || p.name == "explain"
}

// mostLetters is how long it may be; 0 is any length.
func (p param) mostLetters() int {
	switch {
	case p.isName():
		return mostID
	case p.name == "body":
		return 0
	}
	return mostText
}

func (t tool) schema(text func(key string) string) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, p := range t.params {
		properties[p.name] = p.schema(text)
		if p.required {
			required = append(required, p.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// args are what an agent gave, as the schema of the tool allows.
type args map[string]any

func (a args) text(name string) string { s, _ := a[name].(string); return s }

// all is a list, or one value as such.
func (a args) all(name string) []string {
	if one, ok := a[name].(string); ok {
		return []string{one}
	}
	list, _ := a[name].([]any)
	return words(list)
}

func words(list []any) []string {
	var all []string
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// flags are --name=value for each that was given.
func (a args) flags(names ...string) []string {
	var all []string
	for _, name := range names {
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		switch v := a[name].(type) {
		case bool:
			if v {
				all = append(all, flag)
			}
		case float64:
			all = append(all, fmt.Sprintf("%s=%d", flag, int(v)))
		default:
			for _, word := range a.all(name) {
				all = append(all, flag+"="+word)
			}
		}
	}
	return all
}

// labels are flags for labels, which may have commas.
func (a args) labels(name string) []string {
	var all []string
	for _, label := range a.all(name) {
		all = append(all, "--label="+reqmeta.JoinItems([]string{label}))
	}
	return all
}

func given(word string) []string {
	if word == "" {
		return nil
	}
	return []string{word}
}

// mostItems is how many requests a list gives unless it is asked for more.
const mostItems = 50

func tools() []tool {
	id := param{name: "id", required: true}
	run := param{name: "run"}
	return []tool{
		{
			name: "list", params: []param{
				{name: "status", kind: "list", allowed: reqmeta.Statuses[:]},
				{name: "priority", kind: "list", allowed: reqmeta.Priorities[:]},
				{name: "label", kind: "list"},
				{name: "runnable", kind: "boolean"},
				{name: "limit", kind: "integer", most: 100_000},
			},
			call: func(a args) command {
				return typed("aiflow-request", "list", append(a.flags("status", "priority", "runnable"), a.labels("label")...)...)
			},
			shape: cut,
		},
		{
			name: "next", params: []param{{name: "explain"}, {name: "plan", kind: "integer", most: 10_000}},
			call: func(a args) command { return typed("aiflow-next", "", a.flags("explain", "plan")...) },
		},
		{
			name: "show", params: []param{id},
			call: func(a args) command { return typed("aiflow-request", "show", a.text("id")) },
		},
		{
			name: "create", writes: true, params: []param{
				{name: "title", required: true},
				{name: "body"},
				{name: "priority", allowed: reqmeta.Priorities[:]},
				{name: "status", says: "new_status", allowed: []string{reqmeta.Draft, reqmeta.Ready}},
				{name: "depends_on", kind: "list"},
				{name: "labels", kind: "list"},
				{name: "estimate", allowed: reqmeta.Estimates[:]},
			},
			call: create,
		},
		{
			name: "set", writes: true, params: []param{id, {name: "values", kind: "map", required: true}},
			call: func(a args) command {
				values, _ := a["values"].(map[string]any)
				c := typed("aiflow-request", "set", a.text("id"))
				for _, key := range slices.Sorted(maps.Keys(values)) {
					value := args(values).text(key)
					if list, ok := values[key].([]any); ok {
						value = reqmeta.ListText(words(list))
					}
					c.args = append(c.args, key+"="+value)
				}
				return c
			},
		},
		{
			name: "run_status", params: []param{run},
			call: func(a args) command {
				if a.text("run") == "" {
					return typed("aiflow-run", "status")
				}
				return typed("aiflow-run", "show", a.text("run"))
			},
			shape: func(v map[string]any, _ args) {
				for _, key := range []string{"report", "planning", "logs", "errors"} {
					delete(v, key)
				}
			},
		},
		{
			name: "report", params: []param{run},
			call:  func(a args) command { return typed("aiflow-run", "show", given(a.text("run"))...) },
			shape: func(v map[string]any, _ args) { keep(v, "request_id", "run_id", "report") },
		},
		{
			name: "advice", params: []param{run},
			call: func(a args) command { return typed("aiflow-run", "show", given(a.text("run"))...) },
			shape: func(v map[string]any, _ args) { // why a run stands where it does, and what can be done now
				if stage, ok := v["stage"].(map[string]any); ok {
					v["state"], v["error"] = stage["state"], stage["error"]
				}
				keep(v, "request_id", "run_id", "state", "error", "advice", "interrupted", "merged", "warnings")
			},
		},
		{
			name: "run", writes: true, runs: true, params: []param{{name: "id"}, {name: "fresh", kind: "boolean"}},
			call: func(a args) command {
				c := typed("aiflow-run", "", append(a.flags("fresh"), given(a.text("id"))...)...)
				if a.text("id") == "" {
					c.args = append(c.args, "--next")
				}
				c.begins = true
				return c
			},
		},
		{
			name: "resume", writes: true, runs: true, params: []param{run, {name: "mode", allowed: []string{"resume", "retry_step", "replan"}}},
			call: func(a args) command {
				c := typed("aiflow-run", "resume", append(a.flags("mode"), given(a.text("run"))...)...)
				c.begins = true
				return c
			},
		},
		{
			name: "land", writes: true, runs: true, params: []param{{name: "runs", kind: "list"}, {name: "into"}, {name: "dry_run", kind: "boolean"}},
			call: func(a args) command {
				c := typed("aiflow-land", "", append(a.flags("into", "dry_run"), a.all("runs")...)...)
				if len(a.all("runs")) == 0 {
					c.args = append(c.args, "--all")
				}
				return c
			},
		},
	}
}

func typed(program, verb string, rest ...string) command {
	return command{program: program, args: append(given(verb), rest...)}
}

func create(a args) command {
	c := typed("aiflow-request", "new", a.flags("title", "priority", "status", "estimate")...)
	c.args = append(c.args, a.labels("labels")...)
	if ids := a.all("depends_on"); len(ids) > 0 {
		c.args = append(c.args, "--depends-on="+reqmeta.JoinItems(ids))
	}
	if c.input = a.text("body"); c.input != "" {
		c.args = append(c.args, "--body=-")
	}
	c.args = append(c.args, "--edit=no")
	return c
}

func keep(v map[string]any, keys ...string) {
	maps.DeleteFunc(v, func(key string, _ any) bool { return !slices.Contains(keys, key) })
}

// cut gives the first requests of a long list, and how many there are.
func cut(v map[string]any, a args) {
	items, _ := v["items"].([]any)
	limit := mostItems
	if n, ok := a["limit"].(float64); ok {
		limit = int(n)
	}
	v["total"] = len(items)
	v["items"] = items[:min(limit, len(items))]
}
