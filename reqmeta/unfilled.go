package reqmeta

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// lazily compiles an expression when it is first asked for, not at every start.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	comment       = lazily(`(?s)<!--.*?(-->|\z)`)
	listItem      = lazily(`^\s*([-*+]|[0-9]+[.)])(\s+\[[ xX]\])?(\s|$)\s*(AC-[0-9]+[::\s]*)?`)
	criterionLine = lazily(`^\s*[-*] \[[ xX]\]\s*(?:\*\*)?(AC-[0-9]+)?(?:\*\*)?[::\s]*(.*)$`)
	acHeading     = lazily(`(?i)^#{1,6}\s.*(受け入れ(条件|基準)|acceptance criteria)`)
	anyHeading    = lazily(`^#{1,6}\s`)
)

// WithoutComments blanks the HTML comments of a body; lines stay where they are.
func WithoutComments(body []byte) []byte {
	if !bytes.Contains(body, []byte("<!--")) {
		return body
	}
	return comment().ReplaceAllFunc(body, func(c []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(c, []byte("\n"))) })
}

// Placeholder reports whether a text is only there to be replaced: "Given … /
// When … / Then …", "<who>", dots, TODO, nothing.
func Placeholder(text string) bool {
	for text != "" {
		c, n := utf8.DecodeRuneInString(text)
		if end := strings.IndexByte(text, '>'); c == '<' && end > 0 && strings.LastIndexByte(text[:end], '<') == 0 {
			n = end + 1
		} else if w := wordLen(text); w > 0 {
			switch n = w; strings.ToLower(text[:w]) {
			case "given", "when", "then", "and", "todo", "tbd", "xxx":
			default:
				return false
			}
		} else if !unicode.IsSpace(c) && !strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…。、・：／", c) {
			return false
		}
		text = text[n:]
	}
	return true
}

// wordLen is how long the word of ASCII letters and digits is that text starts with.
func wordLen(text string) int {
	n := strings.IndexFunc(text, func(c rune) bool { return c >= utf8.RuneSelf || c != '_' && !isAlnum(byte(c)) })
	if n < 0 {
		n = len(text)
	}
	return len(strings.TrimRight(text[:n], "_"))
}

// Criterion is one acceptance criterion of a request; ID may be "".
type Criterion struct{ ID, Text string }

// Criteria reads the acceptance criteria of a request: the checkbox items below
// its heading for them (D46). What the template put there is none.
func Criteria(body []byte) []Criterion {
	var all []Criterion
	inside := false
	for line := range strings.Lines(string(WithoutComments(body))) {
		line = strings.TrimRight(line, "\r\n")
		switch first := strings.TrimLeft(line, " \t"); {
		case strings.HasPrefix(line, "#") && anyHeading().MatchString(line):
			inside = acHeading().MatchString(line) || inside && strings.HasPrefix(line, "###")
		case inside && first != "" && (first[0] == '-' || first[0] == '*'):
			if m := criterionLine().FindStringSubmatch(line); m != nil && !Placeholder(m[2]) {
				all = append(all, Criterion{m[1], m[2]})
			}
		}
	}
	return all
}

// EnoughCriteria is how many acceptance criteria a planner needs, to know when it
// is done (D55).
const EnoughCriteria = 3

// About is told by the body of a request that has no steps: what an AI command would get.
type About struct {
	Unfilled int // first line, in the file, of one that still is as its template was; 0: it says something
	Criteria int // acceptance criteria, up to EnoughCriteria
	Empty    int // first line that is a checkbox without a text of its own, where there are fewer
}

// readBody looks at what follows the head, which has so many lines.
func readBody(text []byte, head int) (b About) {
	b.Unfilled = unfilled(text, head)
	if b.Unfilled == 0 && bytes.Contains(text, []byte(" [")) {
		b.Criteria = min(len(Criteria(text)), EnoughCriteria)
	}
	if b.Criteria < EnoughCriteria {
		b.Empty = emptyBox(text, head)
	}
	return b
}

// Unfilled is the first line, in the file, of a request without steps that still
// is as its template was: headings, comments and placeholders, and not a word
// about what is to be done. 0 is a request that says something, or whose title
// is all.
func (r *Request) Unfilled() int { return r.About.Unfilled }

// Criteria is how many acceptance criteria a request without steps has, up to
// EnoughCriteria, and the line of its file where one is still to be written.
func (r *Request) Criteria() (n, line int) { return r.About.Criteria, r.About.Empty }

func unfilled(text []byte, n int) int {
	first := 0
	for line := range strings.Lines(string(WithoutComments(text))) {
		n++
		text := strings.TrimSpace(line)
		switch {
		case text == "", strings.HasPrefix(text, "# "):
			continue
		case strings.HasPrefix(text, "#"), Placeholder(unlisted(text)), templateLines()[text]:
			if first == 0 {
				first = n
			}
		default:
			return 0
		}
	}
	return first
}

// unlisted is the text of a list item, or the text as it is.
func unlisted(text string) string {
	if strings.ContainsRune("-*+0123456789", rune(text[0])) {
		return listItem().ReplaceAllString(text, "")
	}
	return text
}

func emptyBox(text []byte, n int) int {
	if !bytes.Contains(text, []byte(" [")) {
		return 0
	}
	for line := range strings.Lines(string(WithoutComments(text))) {
		n++
		if m := listItem().FindStringSubmatch(line); m != nil && m[2] != "" && Placeholder(line[len(m[0]):]) {
			return n
		}
	}
	return 0
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
