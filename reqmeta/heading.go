package reqmeta

import (
	"bytes"
	"strings"
)

// Heading gives the first `# ` heading outside code fences and comments; ""
// when there is none.
func Heading(body []byte) string {
	text, _, _ := HeadingAt(body)
	return text
}

// HeadingAt gives that heading and its line, body[start:end] without the line's end.
func HeadingAt(body []byte) (heading string, start, end int) {
	var code []byte // the opening fence of the code block that we are in
	comment := false
	for at := 0; at < len(body); {
		text, next := lineAt(body, at)
		start, at = at, next
		switch {
		case comment:
			comment = !bytes.Contains(text, []byte("-->"))
			continue
		case code != nil:
			if f := codeFence(text); f != nil && f[0] == code[0] && len(f) >= len(code) && isBlank(bytes.TrimLeft(text, " ")[len(f):]) {
				code = nil
			}
			continue
		}
		if h := headingText(text); h != "" {
			return h, start, start + len(text)
		}
		code = codeFence(text)
		comment = bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte("<!--")) && !bytes.Contains(text, []byte("-->"))
	}
	return "", 0, 0
}

// codeFence gives the run of ``` or ~~~ that text starts with.
func codeFence(text []byte) []byte {
	t := bytes.TrimLeft(text, " ")
	if len(text)-len(t) > 3 || len(t) < 3 || t[0] != '`' && t[0] != '~' {
		return nil
	}
	n := 1
	for n < len(t) && t[n] == t[0] {
		n++
	}
	if n < 3 || t[0] == '`' && bytes.IndexByte(t[n:], '`') >= 0 {
		return nil
	}
	return t[:n]
}

func headingText(text []byte) string {
	t := bytes.TrimLeft(text, " ")
	if len(text)-len(t) > 3 || len(t) < 2 || t[0] != '#' || t[1] != ' ' && t[1] != '\t' {
		return ""
	}
	t = bytes.Trim(t[1:], " \t\r")
	if end := bytes.TrimRight(t, "#"); len(end) < len(t) && (len(end) == 0 || end[len(end)-1] == ' ') {
		t = bytes.TrimRight(end, " \t")
	}
	return strings.ToValidUTF8(string(t), "\ufffd")
}
