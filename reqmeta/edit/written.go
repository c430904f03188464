package edit

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"aiflow/reqmeta"
)

// scalarText writes text as a YAML scalar: in the quotes that stood there
// before, plain where that is safe for every reader, else in single quotes.
func scalarText(key, text string, quote byte) string {
	switch {
	case quote == '"':
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	case quote == '\'' || !isPlain(key, text):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return text
}

// written is how a scalar stands in the file: a word of another tool is as bare as
// the tool has it.
func written(e reqmeta.Entry, quote byte) string {
	if e.Written == "" {
		return scalarText(e.Key, e.Text, quote)
	}
	if quote != '"' && quote != '\'' && strings.Trim(e.Written, "0123456789") == "" {
		return e.Written
	}
	return scalarText(e.Key, e.Written, quote)
}

// isPlain reports whether text is a string without quotes for every reader of
// YAML, of version 1.1 too, also inside a flow list (a date, where one belongs).
// What is not surely so is quoted: it begins with a letter or is no number in
// any spelling, holds no sign that means something somewhere, and is none of the
// words for true, false and null.
func isPlain(key, text string) bool {
	if key == "created_at" || key == "updated_at" {
		_, ok := reqmeta.ParseDate(text)
		return ok
	}
	first, _ := utf8.DecodeRuneInString(text)
	numeric := first >= '0' && first <= '9'
	if !unicode.IsLetter(first) && !numeric || isYAMLWord(text) || strings.TrimSpace(text) != text {
		return false
	}
	for _, r := range text {
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r):
			numeric = numeric && strings.ContainsRune("abcdefxotzABCDEFXOTZ", r)
		case r < utf8.RuneSelf && !strings.ContainsRune(" 0123456789_-./()+=!~$", r):
			return false
		case r >= utf8.RuneSelf && !unicode.IsPunct(r) && !unicode.IsDigit(r):
			return false
		}
	}
	return !numeric
}

// isYAMLWord reports whether a reader may take text for true, false or null.
func isYAMLWord(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf":
		return true
	}
	return false
}

func flowText(items []reqmeta.Item) string {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = scalarText("", it.Text, 0)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// newline is the newline style of data at the end of the line before at.
func newline(data []byte, at int) string {
	if i := bytes.LastIndexByte(data[:at], '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	} else if i >= 0 {
		return "\n"
	}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indentOf is how many blanks a line begins with.
func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
