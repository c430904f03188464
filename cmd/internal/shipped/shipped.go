// Package shipped is what `aiflow init` writes into a project, and what `aiflow
// deinit` therefore takes away again.
//
// It does not write anything itself.
package shipped

import (
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/prompts"
	"aiflow/reqmeta"
)

//go:embed files/aiflow.mk
var makefile []byte

// ConfigSchema is the schema of the configuration, for editors.
const ConfigSchema = ".aiflow/config.v1.schema.json"

// File is one that is ours: written once, and again with --force.
type File struct {
	Path string
	Text func(lang string) []byte
}

// Files are those that every project gets.
func Files(c config.Config) []File {
	return []File{
		{c.Paths.RequestsDir + "/" + reqmeta.TemplateName, reqmeta.Template},
		{ConfigSchema, func(string) []byte { return config.Schema() }},
		{".aiflow/aiflow.mk", func(string) []byte { return makefile }},
	}
}

// Prompts are what roles are told, for the project to change.
func Prompts(c config.Config) []File {
	var all []File
	for _, name := range prompts.Names() {
		all = append(all, File{c.Paths.PromptsDir + "/" + prompts.FileName(name), func(lang string) []byte {
			return []byte(prompts.Default(lang, name))
		}})
	}
	return all
}

// Is reports whether text is the file as it ships, in any language.
func (f File) Is(text []byte) bool {
	return slices.ContainsFunc([]string{"en", "ja"}, func(lang string) bool { return string(f.Text(lang)) == string(text) })
}

// Config is the few values that people set first. The file belongs to them from
// then on.
type Config struct {
	Lang   string `json:"lang"`
	Preset string `json:"preset"`
	Paths  struct {
		Runs     string `json:"runs_dir"`
		Requests string `json:"requests_dir"`
	} `json:"paths"`
	Workspace struct {
		Link []string `json:"link"`
		Root string   `json:"root"`
	} `json:"workspace"`
	Tests struct {
		Unit struct {
			Command string `json:"command"`
		} `json:"unit"`
	} `json:"tests"`
}

// Text is the configuration as init writes it.
func (c Config) Text() []byte {
	text := "{\n  \"$schema\": \"./" + path.Base(ConfigSchema) + "\",\n  \"version\": \"1.0\","
	if c.Lang != "" {
		text += "\n  \"lang\": " + quoted(c.Lang) + ","
	}
	if c.Preset != "" {
		text += "\n  \"preset\": " + quoted(c.Preset) + ","
	}
	text += group("paths", said("runs_dir", c.Paths.Runs), said("requests_dir", c.Paths.Requests))
	links := ""
	if len(c.Workspace.Link) > 0 {
		links = `"link": ` + quoted(c.Workspace.Link)
	}
	text += group("workspace", links, said("root", c.Workspace.Root))
	return []byte(text + "\n  \"tests\": {\n    \"unit\": { \"command\": " + quoted(c.Tests.Unit.Command) + " }\n  }\n}\n")
}

// said is a value that is written only when there is one.
func said(key, value string) string {
	if value == "" {
		return ""
	}
	return quoted(key) + ": " + quoted(value)
}

func group(key string, values ...string) string {
	values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	if len(values) == 0 {
		return ""
	}
	return "\n  " + quoted(key) + ": { " + strings.Join(values, ", ") + " },"
}

// RouterText is a router as init writes it: who is asked first plans and does what has
// no steps, and the next stands in. Nobody is asked to judge steps of a person.
func RouterText(providers []string) []byte {
	route := `"primary": ` + quoted(providers[0])
	if len(providers) > 1 {
		route += `, "fallback": ` + quoted(providers[1])
	}
	var routes []string
	for _, role := range []string{"planner", "implementer"} {
		routes = append(routes, "    "+quoted(role)+": { "+route+" }")
	}
	return []byte("{\n  \"version\": \"1.0\",\n  \"routing\": {\n" + strings.Join(routes, ",\n") + "\n  }\n}\n")
}

// IsRouter reports whether text is a router that init wrote.
func IsRouter(text []byte) bool {
	var r struct {
		Routing map[string]struct{ Primary, Fallback string }
	}
	if json.Unmarshal(text, &r) != nil || r.Routing["planner"].Primary == "" {
		return false
	}
	who := []string{r.Routing["planner"].Primary, r.Routing["planner"].Fallback}
	return string(RouterText(slices.DeleteFunc(who, func(name string) bool { return name == "" }))) == string(text)
}

func quoted(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // commands are full of &&
	_ = e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n")
}

// IsConfig reports whether text is a configuration that init wrote.
func IsConfig(text []byte) bool {
	_, ours := ReadConfig(text)
	return ours
}

// ReadConfig is what a configuration says that init wrote.
func ReadConfig(text []byte) (c Config, ours bool) {
	ours = json.Unmarshal(text, &c) == nil && string(c.Text()) == string(text)
	return c, ours
}
