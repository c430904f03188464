package reqmeta

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Asked turns an asked value into an entry, or says why it is not allowed.
func Asked(stem, key, value string) (Entry, *Problem) {
	e := Entry{Key: key, Text: value}
	if p := checkAsked(key, value); p != nil {
		return e, p
	}
	if IsList(key) {
		return askedList(key, value)
	}
	switch key {
	case "status":
		return e, oneOf("bad_status", value, Statuses[:])
	case "priority":
		return e, oneOf("bad_priority", value, Priorities[:])
	case "id":
		if !CheckID(value) || !fitsStem(value, stem) {
			return e, NewProblem(LevelError, "set_id", 0, "value", value, "id", stem)
		}
		return e, nil
	}
	if value == "" {
		return Entry{Key: key, Kind: NullValue}, nil
	}
	switch key {
	case "estimate":
		return e, oneOf("bad_estimate", value, Estimates[:])
	case "created_at", "updated_at":
		if _, ok := ParseDate(value); !ok {
			return e, NewProblem(LevelError, "bad_date", 0, "key", key, "value", value)
		}
	case "base":
		if !checkBase(value) {
			return e, NewProblem(LevelError, "bad_base", 0, "value", value)
		}
	}
	return e, nil
}

// OneLine is text as a value may hold it: on one line, without characters that are
// not seen.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\ufffd"), func(r rune) bool { return r == ' ' || isUnseen(r) }), " ")
}

func isUnseen(r rune) bool { return unicode.IsControl(r) || isOdd(r) }

// checkAsked refuses what no value may hold.
func checkAsked(key, value string) *Problem {
	if key == "steps" {
		return NewProblem(LevelError, "set_steps", 0, "key", key)
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, isUnseen) {
		return NewProblem(LevelError, "set_characters", 0, "key", key)
	}
	if len(value) > MaxHead/2 {
		return NewProblem(LevelError, "frontmatter_too_large", 0, "limit", MaxHead)
	}
	return nil
}

func oneOf(kind, value string, allowed []string) *Problem {
	if slices.Contains(allowed, value) {
		return nil
	}
	return NewProblem(LevelError, kind, 0, "key", strings.TrimPrefix(kind, "bad_"), "value", value, "allowed", Join(allowed))
}

func askedList(key, value string) (Entry, *Problem) {
	e := Entry{Key: key, Kind: ListValue}
	items, ok := ListItems(value)
	if !ok {
		return e, NewProblem(LevelError, "want_list", 0, "key", key)
	}
	for _, text := range items {
		if key == "depends_on" && !CheckID(text) {
			return e, NewProblem(LevelError, "bad_depends_on", 0, append([]any{"value", text}, idRule(text)...)...)
		}
		if key == "touches" && !checkTouches(text) {
			return e, NewProblem(LevelError, "bad_touches", 0, "value", text)
		}
		e.Items = append(e.Items, Item{Text: text, Scalar: true})
	}
	return e, nil
}

// IsList reports whether the value of a key is a list.
func IsList(key string) bool { return key == "labels" || key == "depends_on" || key == "touches" }

// ListItems are the items of a list as it is written on a command line: see
// SplitItems, with or without brackets. ok is false for half a bracket.
func ListItems(value string) (items []string, ok bool) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "[") != strings.HasSuffix(value, "]") {
		return nil, false
	}
	return SplitItems(strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")), true
}

// SplitItems parts what has commas between. One in quotes, as YAML writes them, may
// hold commas; a quote that does not end before a comma is a letter.
func SplitItems(text string) (items []string) {
	for text != "" {
		text = strings.TrimLeft(text, " ")
		end := strings.IndexByte(text+",", ',')
		item := strings.TrimSpace(text[:end])
		if n := quoted(text); n > 0 {
			item, end = unquote(text[:n]), n+strings.IndexByte(text[n:]+",", ',')
		}
		if item != "" {
			items = append(items, item)
		}
		text = text[min(end+1, len(text)):]
	}
	return items
}

// quoted is the length of the quoted item that text begins with; 0 where it begins
// with none.
func quoted(text string) int {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return 0
	}
	n := quoteEnd(text)
	if rest := strings.TrimLeft(text[n:], " "); rest != "" && rest[0] != ',' {
		return 0
	}
	return n
}

func unquote(s string) string {
	inner := s[1 : len(s)-1]
	if s[0] == '\'' {
		return strings.ReplaceAll(inner, "''", "'")
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inner)
}

// ListText is a list as ListItems reads it.
func ListText(items []string) string { return "[" + JoinItems(items) + "]" }

// JoinItems are items as SplitItems reads them: quoted where it would read others.
func JoinItems(items []string) string {
	said := make([]string, len(items))
	for i, item := range items {
		if said[i] = item; !slices.Equal(SplitItems(item), []string{item}) {
			said[i] = "'" + strings.ReplaceAll(item, "'", "''") + "'"
		}
	}
	return strings.Join(said, ", ")
}
