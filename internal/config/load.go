package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

// The files, relative to the project's root.
const (
	File       = ".aiflow/config.v1.json"
	RouterFile = ".aiflow/router.v1.json"
)

// Load reads the configuration of the project at root.
func Load(root string, o Sources) (Config, []Warning, error) {
	path, name := filepath.Join(root, filepath.FromSlash(File)), File
	if named := o.named(); named != "" {
		path, name = named, named
		if !filepath.IsAbs(path) {
			path = filepath.Join(cmp.Or(o.Dir, root), path)
		}
	}
	data, err := readFile(path, name, o.named() != "")
	if err != nil {
		return Default(), nil, err
	}
	return overlay(data, name, o, func(c *Config) error { return c.follow(root) })
}

// Parse reads a configuration from the bytes of a file that is called name, as
// if there were nothing else; nil is no file.
func Parse(data []byte, name string) (Config, []Warning, error) {
	return overlay(bytes.TrimPrefix(data, utf8BOM), name, Sources{}, func(*Config) error { return nil })
}

// overlay lays the values of a file, nil is none, and those of the environment and the flags
// over the defaults.
func overlay(data []byte, name string, o Sources, follow func(*Config) error) (Config, []Warning, error) {
	c := Default()
	a := applier[Config]{target: &c, path: name, data: data, origins: map[string]Origin{}}
	words := o.overrides()
	if data != nil || len(words) > 0 {
		a.rows = keys()
	}
	var err error
	if data != nil {
		err = a.file()
	}
	for _, w := range words {
		if err == nil {
			err = a.override(w)
		}
	}
	if err == nil {
		c.origins, c.file = a.origins, o.named()
		c.applyPreset()
		err = cmp.Or(follow(&c), c.checkFolders(), c.checkMapping())
	}
	if err != nil {
		return Default(), a.warnings, err
	}
	c.derive()
	return c, a.warnings, nil
}

func (o Sources) named() string {
	if o.Path != "" || o.Env == nil {
		return o.Path
	}
	return o.Env("AIFLOW_CONFIG")
}

// readFile gives the bytes of a file; nil where there is none and nobody asked for it.
func readFile(path, name string, asked bool) ([]byte, error) {
	read := atomicfile.ReadPlain
	if asked {
		read = readAny
	}
	data, err := read(path)
	switch {
	case err == nil:
		return bytes.TrimPrefix(data, utf8BOM), nil
	case errors.Is(err, fs.ErrNotExist) && !asked:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.ConfigNotFound, "path", name)
	}
	return nil, unusable(err, name)
}

// readAny also reads a pipe, as a shell's <(command) is one, and no more than tells that it
// is too much.
func readAny(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

var utf8BOM = []byte("\xef\xbb\xbf")

// override is a value that was given as one word outside the file.
type override struct {
	key, text string
	from      Origin
}

func (o Sources) overrides() []override {
	var all []override
	if o.Env != nil {
		for _, v := range [...][2]string{{"AIFLOW_HOST", "server.host"}, {"AIFLOW_LANG", "lang"}, {"AIFLOW_PORT", "server.port"}} {
			if text := o.Env(v[0]); text != "" {
				all = append(all, override{v[1], text, Origin{"env", v[0]}})
			}
		}
	}
	for _, key := range sorted(o.Flags) {
		all = append(all, override{key, o.Flags[key], Origin{"flag", "--" + strings.ReplaceAll(key[strings.LastIndexByte(key, '.')+1:], "_", "-")}})
	}
	return all
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (a *applier[T]) override(w override) error {
	r, _, ok := find(a.rows, strings.Split(w.key, "."))
	if !ok {
		return fault.New(fault.InternalError, "key", w.key)
	}
	n := node{value: w.text}
	if r.kind == kindInt {
		n.value = json.Number(w.text)
	}
	v, cause := r.convert(n)
	if cause != "" {
		return unusable(nil, w.from.Where, "key", w.key, "value", w.text,
			"allowed", r.rangeText(), "cause_key", cause)
	}
	r.set(a.target, nil, v)
	a.origins[w.key] = w.from
	return nil
}

// derive fills in what follows from other values.
func (c *Config) derive() {
	c.Tests.Unit.derive(c.isSet("tests.unit.enabled"), c.Limits.TimeoutSec)
	c.Tests.E2E.derive(c.isSet("tests.e2e.enabled"), max(c.Limits.TimeoutSec, 300))
	c.Tests.Static.derive(c.isSet("tests.static.enabled"), 600)
	c.Tests.Land.derive(c.isSet("tests.land.enabled"), c.Limits.TimeoutSec)
	if !c.isSet("limits.forbidden_paths") {
		c.Limits.ForbiddenPaths = forbiddenPaths(c.Paths.RunsDir, c.Paths.RequestsDir)
	}
}

func (c *Config) isSet(key string) bool {
	_, ok := c.origins[key]
	return ok
}

func (t *Test) derive(said bool, timeout int) {
	if !said {
		t.Enabled = t.Command != ""
	}
	if t.TimeoutSec == 0 {
		t.TimeoutSec = timeout
	}
}

// Origin says where the value of key came from.
func (c Config) Origin(key string) Origin { return origin(c.origins, key) }

func origin(origins map[string]Origin, key string) Origin {
	if o, ok := origins[key]; ok {
		return o
	}
	return Origin{Kind: "default"}
}

// Values lists every key with its value and origin, in the order of the
// published table.
func (c Config) Values() []Value {
	var all []Value
	for _, r := range keys() {
		if r.get == nil {
			own := strings.Split(r.key, ".")[1]
			for _, w := range c.Words[own] {
				key := "values." + own + "." + w.Theirs
				all = append(all, Value{Key: key, Text: asJSON(w.Ours), Origin: c.Origin(key)})
			}
			continue
		}
		all = append(all, Value{Key: r.key, Text: asJSON(r.get(&c)), Origin: c.Origin(r.key)})
	}
	return all
}

func asJSON(v any) string {
	if s, ok := v.([]string); ok && s == nil {
		v = []string{}
	}
	b, _ := json.Marshal(v)
	return string(b)
}
