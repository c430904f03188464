package reqmeta

import (
	"bytes"
	_ "embed" // the templates
)

// TemplateName is the file in the requests folder that Create starts from.
const TemplateName = "_template.md"

//go:embed templates/ja.md
var templateJA []byte

//go:embed templates/en.md
var templateEN []byte

// Template is the built-in template, in the language ja or en.
func Template(lang string) []byte {
	if lang == "en" {
		return bytes.Clone(templateEN)
	}
	return bytes.Clone(templateJA)
}
