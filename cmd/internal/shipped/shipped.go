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
	Lang  string `json:"lang"`
	Paths struct {
		Runs     string `json:"runs_dir"`
		Requests string `json:"requests_dir"`
	} `json:"paths"`
}

// Text is the configuration as init writes it.
func (c Config) Text() []byte {
	text := "{\n  \"$schema\": \"./" + path.Base(ConfigSchema) + "\",\n  \"version\": \"1.0\","
	if c.Lang != "" {
		text += "\n  \"lang\": " + quoted(c.Lang) + ","
	}
	var said []string
	if c.Paths.Runs != "" {
		said = append(said, `"runs_dir": `+quoted(c.Paths.Runs))
	}
	if c.Paths.Requests != "" {
		said = append(said, `"requests_dir": `+quoted(c.Paths.Requests))
	}
	if len(said) > 0 {
		text += "\n  \"paths\": { " + strings.Join(said, ", ") + " },"
	}
	return []byte(text + "\n  \"tests\": {\n    \"unit\": { \"command\": \"\" }\n  }\n}\n")
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// IsConfig reports whether text is a configuration that init wrote.
func IsConfig(text []byte) bool {
	var c Config
	return json.Unmarshal(text, &c) == nil && string(c.Text()) == string(text)
}
