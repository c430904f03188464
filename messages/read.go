package messages

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
)

//go:embed text/*/*.json
var shipped embed.FS

const maxOverride = 1 << 20

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

func (c *Catalog) entries() map[string]entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.codes == nil {
		c.codes = readCodes(c.lang)
		c.fault = override(c.codes, c.override, c.lang)
	}
	return c.codes
}

func readCodes(lang string) map[string]entry {
	codes := map[string]entry{}
	data, err := shipped.ReadFile("text/" + lang + "/codes.json")
	if err == nil {
		_ = json.Unmarshal(data, &codes)
	}
	return codes
}

// override lays the project's texts over codes; what they leave out stays.
func override(codes map[string]entry, dir, lang string) error {
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, "messages.v1."+lang+".json")
	data, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap(err, fault.ConfigInvalid, "path", path)
	}
	var own struct {
		Codes map[string]entry `json:"reason_codes"`
	}
	if err := json.Unmarshal(data, &own); err != nil {
		return fault.Wrap(err, fault.ConfigInvalid, "path", path)
	}
	for code, e := range own.Codes {
		codes[code] = merge(codes[code], e)
	}
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

func readBounded(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxOverride {
		return nil, errors.New("not a regular file of at most 1 MiB")
	}
	return os.ReadFile(path)
}
