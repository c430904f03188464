package reqmeta

import (
	"bytes"
	"strings"
)

// Document is a file cut by the one fence rule that reader and editor share:
//
//   - a byte order mark and blank lines may stand before the opening fence;
//   - a fence is `---` at column 0 with nothing but blanks behind it, and the
//     closing one may also be `...`;
//   - without an opening fence, a first line `key: value` opens a plain block
//     (D36), which ends at the first blank line, at a `---` line or at the end
//     of the file.
type Document struct {
	Fenced     bool
	Start, End int // of the head: the lines between the fences, or the plain block
	body       int // offset of the body
	Line       int // file line of the head's first line
}

var byteOrderMark = []byte("\ufeff")

// Split applies the rule. A problem comes without path.
func Split(data []byte) (Document, *Problem) {
	at := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		at = len(byteOrderMark)
	}
	first := at
	for line := 1; at < len(data); line++ {
		text, next := lineAt(data, at)
		if isFence(text, '-') {
			return cutFenced(data, next, line)
		}
		if !isBlank(text) {
			if at == first && isPlainLine(text) {
				return cutPlain(data, at)
			}
			return Document{body: first, Line: line}, noHead(data, text, line)
		}
		at = next
	}
	return Document{body: first, Line: 1}, noHead(data, nil, 1)
}

// noHead says what the first line is, which opens no head of ours.
func noHead(data, text []byte, line int) *Problem {
	if wide := wideEncoding(data); wide != "" {
		return NewProblem(LevelError, "not_utf8", 1, "encoding", wide)
	}
	if bytes.HasPrefix(text, []byte("---\r")) {
		return NewProblem(LevelError, "line_break", line, "char", "U+000D")
	}
	switch fence := strings.ToLower(string(bytes.TrimSpace(text))); {
	case fence == "+++", fence == "---toml", fence == "--- toml":
		return NewProblem(LevelError, "foreign_head", line, "format", "TOML")
	case fence == ";;;", fence == "---json", fence == "--- json", fence == "{", strings.HasPrefix(fence, `{"`):
		return NewProblem(LevelError, "foreign_head", line, "format", "JSON")
	case strings.HasPrefix(fence, "--") || strings.HasPrefix(fence, "\u2014") || strings.HasPrefix(fence, "\u2013"):
		return NewProblem(LevelError, "fence_text", line, "value", string(bytes.TrimSpace(text)))
	}
	return NewProblem(LevelError, "no_frontmatter", line)
}

func cutFenced(data []byte, at, line int) (Document, *Problem) {
	d := Document{Fenced: true, Start: at, Line: line + 1}
	for at < len(data) {
		text, next := lineAt(data, at)
		if isFence(text, '-') || isFence(text, '.') {
			d.End, d.body = at, next
			if d.End-d.Start > MaxHead {
				return d, tooLong(line)
			}
			return d, nil
		}
		at = next
	}
	d.End, d.body = len(data), len(data)
	return d, NewProblem(LevelError, "unclosed_fence", line)
}

func cutPlain(data []byte, at int) (Document, *Problem) {
	d := Document{Start: at, Line: 1}
	for line := 1; at < len(data); line++ {
		text, next := lineAt(data, at)
		if isBlank(text) || isFence(text, '-') {
			d.End, d.body = at, next
			break
		}
		if !isPlainLine(text) {
			d.End, d.body = at, at
			return d, NewProblem(LevelError, "block_line", line)
		}
		at = next
		d.End, d.body = at, at
	}
	if d.End-d.Start > MaxHead {
		return d, tooLong(1)
	}
	return d, nil
}

func tooLong(line int) *Problem {
	return NewProblem(LevelError, "frontmatter_too_large", line, "limit", MaxHead)
}

// lineAt gives the line that starts at at, without its end ("\n" or "\r\n"),
// and the offset of the next one.
func lineAt(data []byte, at int) (text []byte, next int) {
	i := bytes.IndexByte(data[at:], '\n')
	if i < 0 {
		return data[at:], len(data)
	}
	return bytes.TrimSuffix(data[at:at+i], []byte("\r")), at + i + 1
}

func isFence(text []byte, c byte) bool {
	return len(text) >= 3 && text[0] == c && text[1] == c && text[2] == c && isBlank(text[3:])
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r")) == 0 }

// isPlainLine reports whether text is `key: value` or `key:`.
func isPlainLine(text []byte) bool {
	n := keyLen(string(text))
	if n == 0 {
		return false
	}
	rest := bytes.TrimLeft(text[n:], " \t")
	return len(rest) > 0 && rest[0] == ':' && (len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t' || rest[1] == '\r')
}

// keyLen is the length of the simple key that s starts with; 0 for none.
func keyLen(s string) int {
	if s == "" || !isAlnum(s[0]) && s[0] != '_' {
		return 0
	}
	n := 1
	for n < len(s) && (isAlnum(s[n]) || s[n] == '_' || s[n] == '-') {
		n++
	}
	return n
}

// Body is the text below the head; all of it when there is no head.
func Body(data []byte) []byte {
	d, _ := Split(data)
	return data[d.body:]
}

// isOdd reports whether r is a character that YAML forbids or takes for the
// end of a line.
func isOdd(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// blanks is how many blanks s begins with.
func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
