package messages

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"
)

// Dictionary is every sentence of a language, for faces that fill the places
// themselves (D31's form, and the other areas beside it).
type Dictionary struct {
	Lang        string                       `json:"lang"`
	ReasonCodes map[string]DictionaryEntry   `json:"reason_codes"`
	Texts       map[string]map[string]string `json:"texts"` // area, name
}

// DictionaryEntry is the text of one reason code.
type DictionaryEntry = entry

// All gives the whole catalog.
func (c *Catalog) All() Dictionary {
	d := Dictionary{Lang: c.lang, ReasonCodes: c.entries(), Texts: map[string]map[string]string{}}
	files, _ := fs.Glob(shipped, "text/"+c.lang+"/*.json")
	for _, f := range files {
		area := strings.TrimSuffix(path.Base(f), ".json")
		if data, err := shipped.ReadFile(f); err == nil && area != "codes" {
			texts := map[string]string{}
			_ = json.Unmarshal(data, &texts)
			d.Texts[area] = texts
		}
	}
	return d
}
