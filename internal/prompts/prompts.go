// Package prompts holds what the roles are told, as it ships: one text for
// each role, a common beginning and two ways to hand work over, in Japanese and
// English, with places {{name}} (D28; docs/roles.md lists them).
//
// It does not know where a project keeps its own texts, and it does not ask
// anybody anything.
package prompts

import (
	"bytes"
	"embed"
	"strings"
	"unicode/utf8"
)

//go:embed text
var shipped embed.FS

// Header is the name of the text that the others begin with.
const Header = "common_header"

// HowEdit and HowPatch are the names of the texts that tell an implementer how
// to hand its work over.
const (
	HowEdit  = "how_edit"
	HowPatch = "how_patch"
)

// Names are the texts there are.
func Names() []string { return []string{Header, "planner", "implementer", HowEdit, HowPatch, "qa"} }

// FileName is what a text is called in a project's folder of prompts.
func FileName(name string) string { return name + ".v1.md" }

// MaxSize is the largest text of a project's own, in bytes.
const MaxSize = 1 << 20

// Mistake names what is wrong with a text as a key of the messages, "" for
// nothing: a model would be told something else than what was written.
func Mistake(text []byte) string {
	switch {
	case len(text) > MaxSize:
		return "config.too_big"
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "config.not_utf8"
	}
	return ""
}

// Default is a text as it ships; any language but Japanese is English.
func Default(lang, name string) string {
	if lang != "ja" {
		lang = "en"
	}
	data, err := shipped.ReadFile("text/" + lang + "/" + FileName(name))
	if err != nil {
		panic(err) // the names and the files are both ours
	}
	return string(data)
}

// Fill puts values into a text. Places that have no value stay as they are,
// and what is put in is not looked through for places again.
func Fill(text string, values map[string]string) string {
	pairs := make([]string, 0, 2*len(values))
	for name, value := range values {
		pairs = append(pairs, "{{"+name+"}}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Has reports whether a text has a place of this name.
func Has(text, name string) bool { return strings.Contains(text, "{{"+name+"}}") }
