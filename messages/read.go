package messages

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
)

//go:embed text/*/*.json
var shipped embed.FS

// entry is the text of one reason code (D31).
type entry struct {
	Title   string   `json:"title"`
	Summary string   `json:"summary"`
	Actions []string `json:"actions"`
}

func readArea(lang, area string) string {
	data, err := shipped.ReadFile("text/" + lang + "/" + area + ".json")
	if err != nil {
		return ""
	}
	return string(data)
}

// sentence finds one text of an area without decoding the rest: a command says
// a handful of them and must start at once. Our files have a key on each line,
// indented by two blanks (a test holds them to it).
func sentence(area, name string) (string, bool) {
	_, rest, ok := strings.Cut(area, "\n  \""+name+"\": \"")
	if !ok {
		return "", false
	}
	end := strings.IndexAny(rest, "\"\\\n")
	if end >= 0 && rest[end] == '"' {
		return rest[:end], true
	}
	line, _, _ := strings.Cut(rest, "\n")
	var text string
	err := json.Unmarshal([]byte("\""+strings.TrimSuffix(line, ",")), &text)
	return text, err == nil
}

// codeText finds the texts of one code without decoding the rest, as sentence
// does.
func codeText(area, code string) (e entry, ok bool) {
	_, rest, ok := strings.Cut(area, "\n  \""+code+"\": {")
	text, _, whole := strings.Cut(rest, "\n  }")
	if !ok || !whole {
		return entry{}, false
	}
	return e, json.Unmarshal([]byte("{"+text+"}"), &e) == nil
}

// entry is the text of one code, with what the project has replaced of it.
func (c *Catalog) entry(code string) (entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.codes.find(code, func() (entry, bool) {
		ours, ok := codeText(c.area("codes"), code)
		own, replaced := c.replaced()[code]
		return merge(ours, own), ok || replaced
	})
}

// remembered is what was looked for, also in vain: a list of ten thousand
// requests says the same few sentences again and again.
type remembered[T any] map[string]answer[T]

type answer[T any] struct {
	text T
	ok   bool
}

// mostRemembered is more than there are sentences; what is asked for may come from anywhere.
const mostRemembered = 8192

func (m remembered[T]) find(key string, look func() (T, bool)) (T, bool) {
	a, known := m[key]
	if !known {
		a.text, a.ok = look()
		if len(m) < mostRemembered {
			m[key] = a
		}
	}
	return a.text, a.ok
}

// Dictionary is every sentence of a language, for faces that fill the places
// themselves (D31's form, and the other areas beside it).
type Dictionary struct {
	Lang        string                       `json:"lang"`
	ReasonCodes map[string]entry             `json:"reason_codes"`
	Texts       map[string]map[string]string `json:"texts"` // area, name
}

// All gives the whole catalog.
func (c *Catalog) All() Dictionary {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := Dictionary{Lang: c.lang, ReasonCodes: readCodes(c.lang), Texts: map[string]map[string]string{}}
	for code, own := range c.replaced() {
		d.ReasonCodes[code] = merge(d.ReasonCodes[code], own)
	}
	files, _ := fs.Glob(shipped, "text/"+c.lang+"/*.json")
	for _, f := range files {
		if area := strings.TrimSuffix(path.Base(f), ".json"); area != "codes" {
			texts := map[string]string{}
			_ = json.Unmarshal([]byte(c.area(area)), &texts)
			d.Texts[area] = texts
		}
	}
	return d
}

func readCodes(lang string) map[string]entry {
	codes := map[string]entry{}
	_ = json.Unmarshal([]byte(readArea(lang, "codes")), &codes)
	return codes
}

// replaced reads the project's own texts once; what they leave out stays as we
// ship it. c.mu is held.
func (c *Catalog) replaced() map[string]entry {
	if c.own == nil {
		c.own = map[string]entry{}
		c.fault = readOwn(c.override, c.lang, c.own)
	}
	return c.own
}

func readOwn(dir, lang string, into map[string]entry) error {
	if dir == "" {
		return nil
	}
	at := filepath.Join(dir, "messages.v1."+lang+".json")
	data, err := atomicfile.ReadPlain(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var own struct {
		Codes map[string]entry `json:"reason_codes"`
	}
	if err == nil {
		err = json.Unmarshal(data, &own)
	}
	if err != nil {
		return fault.Wrap(err, fault.ConfigInvalid, "path", at)
	}
	maps.Copy(into, own.Codes)
	return nil
}

func merge(ours, own entry) entry {
	if own.Title != "" {
		ours.Title = own.Title
	}
	if own.Summary != "" {
		ours.Summary = own.Summary
	}
	if len(own.Actions) > 0 {
		ours.Actions = own.Actions
	}
	return ours
}
