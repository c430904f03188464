package reqmeta

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"aiflow/internal/fault"
)

// lazily compiles an expression when it is first asked for, not at every start.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	comment  = lazily(`(?s)<!--.*?(-->|\z)`)
	emptied  = lazily(`(?i)\b(given|when|then|and|todo|tbd|xxx)\b|<[^<>]*>|[[:punct:]\s…。、・：／]`)
	listItem = lazily(`^\s*([-*+]|[0-9]+[.)])(\s+\[[ xX]\])?(\s|$)\s*(AC-[0-9]+[::\s]*)?`)
)

// WithoutComments blanks the HTML comments of a body; lines stay where they are.
func WithoutComments(body []byte) []byte {
	if !bytes.Contains(body, []byte("<!--")) {
		return body
	}
	return comment().ReplaceAllFunc(body, func(c []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(c, []byte("\n"))) })
}

// Placeholder reports whether a text is only there to be replaced: "Given … /
// When … / Then …", dots, TODO, nothing.
func Placeholder(text string) bool { return emptied().ReplaceAllString(text, "") == "" }

// Unfilled gives the first line, in the file, of a request that still is as its
// template was: headings, comments and placeholders, and not a word about what
// is to be done. 0 is a request that says something, or whose title is all.
func Unfilled(data []byte) int {
	body := Body(data)
	first, n := 0, bytes.Count(data[:len(data)-len(body)], []byte("\n"))
	ours := templateLines()
	for line := range strings.Lines(string(WithoutComments(body))) {
		n++
		text := strings.TrimSpace(line)
		switch {
		case text == "", strings.HasPrefix(text, "# "):
			continue
		case strings.HasPrefix(text, "#"), ours[text], Placeholder(listItem().ReplaceAllString(text, "")):
			if first == 0 {
				first = n
			}
		default:
			return 0
		}
	}
	return first
}

// templateLines are the lines of the templates that are shipped.
var templateLines = sync.OnceValue(func() map[string]bool {
	lines := map[string]bool{}
	for _, template := range [][]byte{templateEN, templateJA} {
		for line := range strings.Lines(string(WithoutComments(Body(template)))) {
			lines[strings.TrimSpace(line)] = true
		}
	}
	return lines
})

// PlaceholderLine is the first line of the file, within its acceptance criteria
// or anywhere else, that is a checkbox without a text of its own; 0 is none.
func PlaceholderLine(data []byte) int {
	body := Body(data)
	n := bytes.Count(data[:len(data)-len(body)], []byte("\n"))
	for line := range strings.Lines(string(WithoutComments(body))) {
		n++
		if m := listItem().FindStringSubmatch(line); m != nil && m[2] != "" && Placeholder(line[len(m[0]):]) {
			return n
		}
	}
	return 0
}

// StillTemplate is the warning that nothing is written in r yet.
func (r *Request) StillTemplate(line int) Problem {
	p := problem(LevelWarning, "unfilled", line, "id", r.ID, "path", r.Path)
	p.Code, p.Path = fault.ACTooFew, r.Path
	return *p
}
