package reqmeta

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxTried bounds the work for one broken file.
const maxTried = 500

// syntaxProblem says where the YAML is wrong, and which of the common mistakes
// it is. The library's own line is often that of a neighbour, and its words are
// about what it looked for; so the entries are tried one by one, and the first
// that cannot be read by itself is looked at.
func syntaxProblem(head string, err error, line int) *Problem {
	n, cause := errorLine(err)
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	for start := 0; start < len(lines) && len(lines) <= maxTried; {
		end := start + 1
		for end < len(lines) && !startsEntry(lines[end]) {
			end++
		}
		doc, err := unmarshal(strings.Join(lines[start:end], "\n"))
		if err != nil || len(doc.Content) > 0 && doc.Content[0].Kind != yaml.MappingNode {
			at := 0
			if err != nil {
				n, cause = errorLine(err)
				at = min(n, end-start) - 1
			}
			kind, at, facts := mistake(lines[start:end], at)
			return NewProblem(LevelError, kind, line+start+at, append(facts, "cause", cause)...)
		}
		start = end
	}
	return NewProblem(LevelError, "yaml_syntax", line+min(n, len(lines))-1, "cause", cause)
}

// startsEntry reports whether a line begins with something that can be a key.
func startsEntry(line string) bool {
	return line != "" && strings.IndexByte(" \t\r#-]},", line[0]) < 0
}

// mistake names the first mistake in the lines of one entry that cannot be
// read, and its line among them; at is the line that the library blames.
func mistake(entry []string, at int) (kind string, line int, facts []any) {
	block := -1 // where the key of a block text stands, whose lines are no YAML
	for i := 0; i < len(entry); i++ {
		s := strings.TrimSuffix(entry[i], "\r")
		column := blanks(s)
		rest := s[column:]
		switch {
		case rest == "" || block >= 0 && column > block || rest[0] == '#':
			continue
		case rest[0] == '\t':
			return "yaml_tab", i, nil
		}
		for strings.HasPrefix(rest, "- ") {
			rest = strings.TrimLeft(rest[2:], " ")
			column = len(s) - len(rest)
		}
		if rest == "" {
			continue
		}
		key, value := keyAndValue(rest)
		if key == "" && i == 0 || key != "" && value == rest {
			return noColon(rest, key), i, []any{"key", key}
		}
		tail := strings.Join(append([]string{value}, entry[i+1:]...), "\n")
		kind, more := mistakeIn(tail, value)
		if kind != "" {
			return kind, i, []any{"key", key, "char", firstChar(value)}
		}
		block = -1
		switch {
		case key != "" && value != "" && (value[0] == '|' || value[0] == '>'):
			block = column
		case key != "" && value != "" && value[0] != '#' && more == 0 && i+1 < len(entry) && isKeyBelow(entry[i+1], column):
			return "yaml_indent", i + 1, nil
		}
		i += more
	}
	return "yaml_syntax", at, nil
}

// keyAndValue cuts `key: value`. Without a colon that ends a key the value is
// all of s; the key is then what looks like one, else "".
func keyAndValue(s string) (key, value string) {
	if c := s[0]; c != '"' && c != '\'' && c != '[' && c != '{' {
		if key, value, ok := strings.Cut(s+" ", ": "); ok {
			return key, strings.Trim(value, " \t")
		}
		if i := strings.IndexAny(s, ":\uff1a"); i > 0 && !strings.Contains(s[:i], " ") && !strings.HasPrefix(s[i:], "://") {
			return s[:i], s
		}
	} else if n := quoteEnd(s); n > 0 && strings.HasPrefix(s[n:], ":") {
		return s[:n], strings.Trim(s[n+1:], " \t")
	}
	return "", s
}

func noColon(s, key string) string {
	switch {
	case key != "":
		return "yaml_colon"
	case strings.IndexByte("\"'[{@`%*&!|>", s[0]) >= 0:
		return "yaml_syntax"
	}
	return "yaml_no_colon"
}

func firstChar(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// isKeyBelow reports whether a line is `key: value` and stands further right
// than column.
func isKeyBelow(line string, column int) bool {
	n := blanks(line)
	return n > column && n < len(line) && keyLen(line[n:]) > 0 && isPlainLine([]byte(line[n:]))
}

// mistakeIn names the mistake in a value, whose first line is given besides and
// which may take more of them; "" where it shows none.
func mistakeIn(tail, first string) (kind string, more int) {
	if first == "" {
		return "", 0
	}
	end := -1
	switch c := first[0]; c {
	case '"', '\'':
		if end = quoteEnd(tail); end == 0 || !isEnd(restOfLine(tail, end)) {
			return "yaml_quote", 0
		}
	case '[', '{':
		if end = flowEnd(tail, 0); end < 0 || !isEnd(restOfLine(tail, end)) {
			if strings.Count(first, "'")%2 == 1 || strings.Count(first, `"`)%2 == 1 {
				return "yaml_quote", 0
			}
			return "yaml_bracket", 0
		}
	case '@', '`', '%', '*', '&', '!', ',', ']', '}':
		return "yaml_sign", 0
	case '|', '>':
		if !isEnd(strings.TrimLeft(first[1:], "0123456789+-")) {
			return "yaml_sign", 0
		}
	case '-', '?':
		if len(first) == 1 || first[1] == ' ' {
			return "yaml_sign", 0
		}
	default:
		if plain, _, _ := strings.Cut(first, " #"); strings.Contains(plain+" ", ": ") {
			return "yaml_value_colon", 0
		}
	}
	return "", strings.Count(tail[:max(end, 0)], "\n")
}

// isEnd reports whether rest holds only blanks and a comment.
func isEnd(rest string) bool {
	n := blanks(rest)
	return n == len(rest) || n > 0 && rest[n] == '#'
}
