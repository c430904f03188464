package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"aiflow/internal/fault"
)

// The files, relative to the project's root.
const (
	File       = ".aiflow/config.v1.json"
	RouterFile = ".aiflow/router.v1.json"
)

// Load reads the configuration of the project at root.
func Load(root string, o Sources) (Config, []Warning, error) {
	c := Default()
	data, name, err := o.read(root)
	if err != nil {
		return c, nil, err
	}
	a := applier[Config]{target: &c, path: name, data: data, origins: map[string]Origin{}}
	if data != nil {
		a.rows = keys()
		if err := a.file(); err != nil {
			return Default(), a.warnings, err
		}
	}
	if err := o.override(&a); err != nil {
		return Default(), a.warnings, err
	}
	c.origins, c.file = a.origins, o.named()
	c.adopt()
	if err := cmp.Or(c.follow(root), c.apart(), c.spoken()); err != nil {
		return Default(), a.warnings, err
	}
	c.derive()
	return c, a.warnings, nil
}

// Parse reads a configuration from the bytes of a file that is called name, as
// if there were nothing else; nil is no file.
func Parse(data []byte, name string) (Config, []Warning, error) {
	c := Default()
	a := applier[Config]{target: &c, path: name, data: bytes.TrimPrefix(data, utf8BOM), origins: map[string]Origin{}, rows: keys()}
	if data != nil {
		if err := a.file(); err != nil {
			return Default(), a.warnings, err
		}
	}
	c.origins = a.origins
	c.adopt()
	if err := cmp.Or(c.apart(), c.spoken()); err != nil {
		return Default(), a.warnings, err
	}
	c.derive()
	return c, a.warnings, nil
}

// read gives the bytes of the config file and its name; nil when there is none
// and nobody asked for one.
func (o Sources) read(root string) ([]byte, string, error) {
	if name := o.named(); name != "" {
		return readNamed(o.absolute(root, name), name, true)
	}
	return readNamed(filepath.Join(root, filepath.FromSlash(File)), File, false)
}

func (o Sources) named() string {
	if o.Path != "" || o.Env == nil {
		return o.Path
	}
	return o.Env("AIFLOW_CONFIG")
}

func (o Sources) absolute(root, name string) string {
	switch {
	case filepath.IsAbs(name):
		return name
	case o.Dir != "":
		return filepath.Join(o.Dir, name)
	}
	return filepath.Join(root, name)
}

func readNamed(path, name string, required bool) ([]byte, string, error) {
	open := openPlain
	if required {
		open = os.Open // a shell's <(command) is a pipe
	}
	data, err := readBounded(path, open)
	switch {
	case err == nil:
		return data, name, nil
	case errors.Is(err, fs.ErrNotExist) && !required:
		return nil, name, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, name, fault.New(fault.ConfigNotFound, "path", name)
	}
	return nil, name, unusable(err, name)
}

var utf8BOM = []byte("\xef\xbb\xbf")

// readBounded reads at most one byte more than a file may have; the result is
// not nil.
func readBounded(path string, open func(string) (*os.File, error)) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return bytes.TrimPrefix(data, utf8BOM), err
}

// openPlain does not wait for somebody who writes into a pipe: that a file has
// its name does not say what it is.
func openPlain(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && fi.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a plain file")}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// override applies environment and flags, which beat the file.
func (o Sources) override(a *applier[Config]) error {
	for _, w := range o.words() {
		if a.rows == nil {
			a.rows = keys()
		}
		if err := a.word(w); err != nil {
			return err
		}
	}
	return nil
}

// word is a value that was given as one word outside the file.
type word struct {
	key, text string
	from      Origin
}

func (o Sources) words() []word {
	var all []word
	if o.Env != nil {
		for _, v := range [...][2]string{{"AIFLOW_HOST", "server.host"}, {"AIFLOW_LANG", "lang"}, {"AIFLOW_PORT", "server.port"}} {
			if text := o.Env(v[0]); text != "" {
				all = append(all, word{v[1], text, Origin{"env", v[0]}})
			}
		}
	}
	for _, key := range sorted(o.Flags) {
		all = append(all, word{key, o.Flags[key], Origin{"flag", "--" + strings.ReplaceAll(key[strings.LastIndexByte(key, '.')+1:], "_", "-")}})
	}
	return all
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

func (a *applier[T]) word(w word) error {
	r, _, ok := find(a.rows, strings.Split(w.key, "."))
	if !ok {
		return fault.New(fault.InternalError, "key", w.key)
	}
	v, cause := r.convert(r.node(w.text))
	if cause != "" {
		return unusable(nil, w.from.Where, "key", w.key, "value", w.text,
			"allowed", r.rangeText(), "cause_key", cause)
	}
	r.set(a.target, nil, v)
	a.origins[w.key] = w.from
	return nil
}

// node is the JSON value that a word stands for.
func (r row[T]) node(word string) node {
	switch {
	case r.kind == kindInt, r.kind == kindNum:
		return node{value: json.Number(word)}
	case r.kind == kindBool:
		if b, err := strconv.ParseBool(word); err == nil {
			return node{value: b}
		}
	case r.kind == kindList:
		var items []node
		for _, s := range strings.Split(word, ",") {
			items = append(items, node{value: strings.TrimSpace(s)})
		}
		return node{value: items}
	}
	return node{value: word}
}

// derive fills in what follows from other values.
func (c *Config) derive() {
	c.Tests.Unit.derive(c.said("tests.unit.enabled"), c.Limits.TimeoutSec)
	c.Tests.E2E.derive(c.said("tests.e2e.enabled"), max(c.Limits.TimeoutSec, 300))
	c.Tests.Static.derive(c.said("tests.static.enabled"), 600)
	c.Tests.Land.derive(c.said("tests.land.enabled"), c.Limits.TimeoutSec)
	if !c.said("limits.forbidden_paths") {
		c.Limits.ForbiddenPaths = forbiddenPaths(c.Paths.RunsDir, c.Paths.RequestsDir)
	}
}

func (c *Config) said(key string) bool {
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
