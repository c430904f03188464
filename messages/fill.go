package messages

import (
	"cmp"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/term"
)

// The rule of the sentences:
//
//	{name}     the fact called name; a missing one shows as "?"
//	{name?}    the fact, or nothing
//	{name|x}   the fact, or x
//	{!name}    nothing; counts as missing when the fact is there
//	[… {x} …]  only when every fact directly inside is there; may be nested
//	{{…}}      stays as it is, braces too
//
// Brackets without a place inside are ordinary text. Facts are escaped: a
// control character in a file name cannot reach the terminal.
func fill(s string, facts fault.Facts) string {
	if !strings.Contains(s, "{") {
		return s
	}
	f := filler{facts: facts}
	text, _, _ := f.run(s, false)
	return text
}

type filler struct{ facts fault.Facts }

// run fills s up to its end, or up to the bracket that closes the group it is
// in. It gives the text, what follows, and the verdict over the group.
func (f filler) run(s string, inGroup bool) (text, rest string, g group) {
	var b strings.Builder
	for s != "" {
		switch {
		case strings.HasPrefix(s, "{{"):
			n := len(s)
			if end := strings.Index(s, "}}"); end >= 0 {
				n = end + len("}}")
			}
			b.WriteString(s[:n])
			s = s[n:]
		case s[0] == '{':
			n := f.place(&b, s, &g)
			s = s[n:]
		case s[0] == '[':
			inner, after, ig := f.run(s[1:], true)
			f.join(&b, inner, ig, &g)
			s = after
		case s[0] == ']' && inGroup:
			g.closed = true
			return b.String(), s[1:], g
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String(), "", g
}

// group is what a pair of brackets turned out to be.
type group struct{ closed, places, missing bool }

func (f filler) join(b *strings.Builder, inner string, ig group, outer *group) {
	outer.places = outer.places || ig.places
	switch {
	case ig.closed && ig.places && ig.missing:
	case ig.closed && ig.places:
		b.WriteString(inner)
	case ig.closed:
		b.WriteString("[" + inner + "]")
	default:
		b.WriteString("[" + inner)
	}
}

// place writes the fact that s begins with and says how long the place is;
// braces that hold no name are text.
func (f filler) place(b *strings.Builder, s string, g *group) int {
	end := strings.IndexByte(s, '}')
	if end < 0 || !isPlace(s[1:end]) {
		b.WriteByte('{')
		return 1
	}
	if name, not := strings.CutPrefix(s[1:end], "!"); not {
		g.places, g.missing = true, g.missing || f.facts[name] != ""
		return end + 1
	}
	name, other, optional := cutPlace(s[1:end])
	said, known := f.facts[name]
	value := cmp.Or(said, other)
	g.places = true
	switch {
	case value != "":
		b.WriteString(term.Escape(value))
	case !optional:
		g.missing = true
		if known && (strings.HasSuffix(b.String(), `"`) || strings.HasSuffix(b.String(), "「")) {
			break // an empty value, between the quotes
		}
		b.WriteString("?")
	}
	return end + 1
}

// cutPlace takes the inside of a place apart: the fact, what stands for a
// missing one, and whether it may be missing.
func cutPlace(s string) (name, other string, optional bool) {
	if name, other, optional = strings.Cut(s, "|"); optional {
		return name, other, true
	}
	name, optional = strings.CutSuffix(s, "?")
	return name, "", optional
}

func isPlace(s string) bool {
	name, _, _ := cutPlace(strings.TrimPrefix(s, "!"))
	if name == "" {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return true
}
