package reqmeta

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wanted turns an asked value into an entry, or says why it is not allowed.
func wanted(stem, key, value string) (entry, *Problem) {
	e := entry{key: key, text: value}
	if p := checkAsked(key, value); p != nil {
		return e, p
	}
	switch key {
	case "labels", "depends_on":
		return wantedList(key, value)
	case "status":
		return e, oneOf("bad_status", value, Statuses[:])
	case "priority":
		return e, oneOf("bad_priority", value, Priorities[:])
	case "id":
		if !CheckID(value) || !fitsStem(value, stem) {
			return e, problem(LevelError, "set_id", 0, "value", value, "id", stem)
		}
		return e, nil
	}
	if value == "" {
		return entry{key: key, kind: nullValue}, nil
	}
	switch key {
	case "estimate":
		return e, oneOf("bad_estimate", value, Estimates[:])
	case "created_at", "updated_at":
		if _, ok := parseDate(value); !ok {
			return e, problem(LevelError, "bad_date", 0, "key", key, "value", value)
		}
	case "base":
		if !checkBase(value) {
			return e, problem(LevelError, "bad_base", 0, "value", value)
		}
	}
	return e, nil
}

// checkAsked refuses what no value may hold.
func checkAsked(key, value string) *Problem {
	if key == "steps" {
		return problem(LevelError, "set_steps", 0, "key", key)
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || isOdd(r) }) {
		return problem(LevelError, "set_characters", 0, "key", key)
	}
	if len(value) > MaxHead/2 {
		return problem(LevelError, "frontmatter_too_large", 0, "limit", MaxHead)
	}
	return nil
}

func oneOf(kind, value string, allowed []string) *Problem {
	if slices.Contains(allowed, value) {
		return nil
	}
	return problem(LevelError, kind, 0, "value", value, "allowed", join(allowed))
}

func wantedList(key, value string) (entry, *Problem) {
	e := entry{key: key, kind: listValue}
	items, ok := ListItems(value)
	if !ok {
		return e, problem(LevelError, "want_list", 0, "key", key)
	}
	for _, text := range items {
		if key == "depends_on" && !CheckID(text) {
			return e, problem(LevelError, "bad_depends_on", 0, "value", text)
		}
		e.items = append(e.items, item{text: text, scalar: true})
	}
	return e, nil
}

// ListItems are the items of a list as it is written on a command line: with
// commas, with or without brackets and quotes. ok is false for half a bracket.
func ListItems(value string) (items []string, ok bool) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "[") != strings.HasSuffix(value, "]") {
		return nil, false
	}
	value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	for text := range strings.SplitSeq(value, ",") {
		if text = unquote(strings.TrimSpace(text)); text != "" {
			items = append(items, text)
		}
	}
	return items, true
}

func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

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

// isPlain reports whether text is a string without quotes for every reader of
// YAML, of version 1.1 too, also inside a flow list (a date, where one belongs).
// What is not surely so is quoted: it begins with a letter or is no number in
// any spelling, holds no sign that means something somewhere, and is none of the
// words for true, false and null.
func isPlain(key, text string) bool {
	if key == "created_at" || key == "updated_at" {
		_, ok := parseDate(text)
		return ok
	}
	first, _ := utf8.DecodeRuneInString(text)
	numeric := first < utf8.RuneSelf && isAlnum(byte(first)) && !unicode.IsLetter(first)
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

func flowText(items []item) string {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = scalarText("", it.text, 0)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
