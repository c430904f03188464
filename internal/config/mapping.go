package config

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// IDsFromHead is the value of IDsFrom where the `id` of a head counts, whatever
// the file is called.
const IDsFromHead = "head"

// Word is a word of another tool and what it means here.
type Word struct{ Theirs, Ours string }

// mappingKeys are how files of another tool are read as requests.
func mappingKeys() []row[Config] {
	rows := []row[Config]{
		stringKey("preset", "the other tool whose files are the requests: sets fields, values, ids_from and folders that are not set here", func(c *Config) *string { return &c.Preset }).oneOf("", "backlog.md", "ticket"),
		stringKey("ids_from", "where the id of a request is: in the name of its file, or in its head whatever the file is called", func(c *Config) *string { return &c.IDsFrom }).oneOf("name", IDsFromHead),
	}
	for _, own := range []string{"title", "status", "priority", "estimate", "labels", "depends_on", "base", "created_at", "updated_at"} {
		rows = append(rows, row[Config]{
			key: "fields." + own, kind: kindList, about: "what other tools call " + own + "; the first is added where none is there",
			set: func(c *Config, _ []string, v any) { put(&c.Fields, own, v.([]string)) },
			get: func(c *Config) any { return c.Fields[own] },
		})
	}
	for _, w := range [...]struct {
		own     string
		allowed []string
	}{
		{"status", []string{"draft", "ready", "running", "blocked", "done", "archived"}},
		{"priority", []string{"P0", "P1", "P2", "P3"}},
		{"estimate", []string{"S", "M", "L"}},
	} {
		own := w.own
		rows = append(rows, row[Config]{
			key: "values." + own + ".*", kind: kindText, allowed: w.allowed, about: "what a word of another tool means as " + own + "; of several for one the first is written",
			set: func(c *Config, names []string, v any) {
				put(&c.Words, own, append(c.Words[own], Word{names[0], v.(string)}))
			},
		})
	}
	return rows
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// tool is what is known of another one.
type tool struct {
	dir, done string
	fields    map[string][]string
	values    map[string][]Word
}

var tools = map[string]tool{
	"backlog.md": {
		dir: "backlog/tasks", done: "backlog/completed",
		fields: map[string][]string{"depends_on": {"dependencies"}, "created_at": {"created_date"}, "updated_at": {"updated_date"}},
		values: map[string][]Word{
			"status":   {{"To Do", "ready"}, {"In Progress", "ready"}, {"Running", "running"}, {"Blocked", "blocked"}, {"Done", "done"}, {"Draft", "draft"}, {"Archived", "archived"}},
			"priority": {{"high", "P1"}, {"medium", "P2"}, {"low", "P3"}},
		},
	},
	"ticket": {
		dir:    ".tickets",
		fields: map[string][]string{"depends_on": {"deps"}, "created_at": {"created"}, "labels": {"tags"}},
		values: map[string][]Word{
			"status":   {{"open", "ready"}, {"in_progress", "ready"}, {"running", "running"}, {"blocked", "blocked"}, {"closed", "done"}, {"draft", "draft"}, {"archived", "archived"}},
			"priority": {{"0", "P0"}, {"1", "P1"}, {"2", "P2"}, {"3", "P3"}, {"4", "P3"}},
		},
	},
}

// Beside reports whether the requests are files of another tool.
func (c Config) Beside() bool {
	if c.Preset != "" || len(c.Fields) > 0 || len(c.Words) > 0 || c.IDsFrom == IDsFromHead {
		return true
	}
	for _, t := range tools {
		if c.Paths.RequestsDir == t.dir {
			return true
		}
	}
	return false
}

// applyPreset takes over what a preset says and the file does not. A word that the file
// names stands before those of the preset.
func (c *Config) applyPreset() {
	p, ok := tools[c.Preset]
	if !ok {
		return
	}
	if !c.isSet("paths.requests_dir") {
		c.Paths.RequestsDir = p.dir
	}
	if !c.isSet("paths.done_dirs") && p.done != "" {
		c.Paths.DoneDirs = []string{p.done}
	}
	if !c.isSet("ids_from") {
		c.IDsFrom = IDsFromHead
	}
	for own, names := range p.fields {
		if !c.isSet("fields." + own) {
			put(&c.Fields, own, names)
		}
	}
	for own, list := range p.values {
		all := slices.Clone(c.Words[own])
		for _, w := range list {
			if !slices.ContainsFunc(all, func(have Word) bool { return strings.EqualFold(have.Theirs, w.Theirs) }) {
				all = append(all, w)
			}
		}
		put(&c.Words, own, all)
	}
}

// checkMapping refuses words and keys of another tool that no file could have or that mean
// two things, and words with none for a status that runs write.
func (c *Config) checkMapping() error {
	refuse := func(key, value, why string) error {
		return unusable(nil, c.Origin(key).Where, "key", key, "value", value, "cause_key", "config."+why)
	}
	for own, list := range c.Words {
		for i, w := range list {
			key := "values." + own + "." + w.Theirs
			if !plain(w.Theirs) {
				return refuse(key, w.Theirs, "odd_word")
			}
			for _, other := range list[:i] {
				if other.Ours != w.Ours && strings.EqualFold(other.Theirs, w.Theirs) {
					return refuse(key, w.Ours, "two_meanings")
				}
			}
		}
	}
	of := map[string]string{}
	for _, row := range mappingKeys() {
		own, ok := strings.CutPrefix(row.key, "fields.")
		if !ok {
			continue
		}
		for _, name := range c.Fields[own] {
			if !plain(name) || strings.ContainsAny(name, ":#,[]{}\"'&*!|>%@`") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "?") {
				return refuse(row.key, name, "odd_key")
			}
			if slices.Contains(ownKeys, name) && name != own || of[name] != "" {
				return refuse(row.key, name, "key_taken")
			}
			of[name] = own
		}
	}
	for _, dir := range c.Paths.DoneDirs {
		if dir = path.Clean(dir); dir == "." || strings.HasPrefix(c.Paths.RequestsDir+"/", dir+"/") {
			return refuse("paths.done_dirs", dir, "done_above")
		}
	}
	list := c.Words["status"]
	for _, status := range []string{"ready", "running", "blocked", "done"} {
		if len(list) > 0 && !slices.ContainsFunc(list, func(w Word) bool { return w.Ours == status }) {
			return unusable(nil, c.Origin("values.status."+list[0].Theirs).Where, "key", "values.status", "value", status, "cause_key", "config.no_word")
		}
	}
	return nil
}

// ownKeys are the keys of a request, which no other may be called by.
var ownKeys = []string{"id", "title", "status", "priority", "estimate", "labels", "depends_on", "base", "touches", "steps", "created_at", "updated_at"}

// plain reports whether a text can stand in a line of a head as it is.
func plain(text string) bool {
	return text != "" && strings.TrimSpace(text) == text && !strings.ContainsFunc(text, unicode.IsControl)
}
