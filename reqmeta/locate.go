package reqmeta

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// lineStarts gives the offset of each line of head.
func lineStarts(head string) []int {
	starts := []int{0}
	for i := 0; i < len(head); i++ {
		if head[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// offset turns a node's position into an offset; columns count runes.
func offset(head string, starts []int, line, column int) int {
	if line < 1 || line > len(starts) {
		return -1
	}
	at := starts[line-1]
	for ; column > 1; column-- {
		if at >= len(head) {
			return -1
		}
		_, n := utf8.DecodeRuneInString(head[at:])
		at += n
	}
	return at
}

// locate finds where the value's bytes are. What it does not find (lists with
// comments in them) keeps start < 0 and cannot be edited.
func (e *Entry) locate(head string, starts []int, k, v *yaml.Node) {
	colon := colonAfter(head, offset(head, starts, k.Line, k.Column), k)
	if colon < 0 {
		return
	}
	e.Colon = colon
	if e.Kind == NullValue && v.Value == "" {
		e.Start, e.End = colon, colon
		return
	}
	at := offset(head, starts, v.Line, v.Column)
	if at < colon {
		return
	}
	switch {
	case v.Kind == yaml.SequenceNode && v.Style&yaml.FlowStyle != 0:
		e.span(at, flowEnd(head, at))
	case v.Kind == yaml.SequenceNode:
		e.locateBlock(head, starts, v.Line)
	case v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		e.locateText(head, at, k.Column)
	case v.Kind == yaml.ScalarNode:
		e.span(at, scalarEnd(head, at, v))
	}
}

func (e *Entry) span(start, end int) {
	if end > start {
		e.Start, e.End = start, end
	}
}

// colonAfter gives the offset behind the colon of the key at at.
func colonAfter(head string, at int, k *yaml.Node) int {
	if at < 0 || at >= len(head) {
		return -1
	}
	end := scalarEnd(head, at, k)
	if end < 0 {
		return -1
	}
	rest := strings.TrimLeft(head[end:], " \t")
	if !strings.HasPrefix(rest, ":") {
		return -1
	}
	return len(head) - len(rest) + 1
}

// scalarEnd gives the offset behind a plain or quoted scalar, on however many
// lines it stands; -1 where that is not known.
func scalarEnd(head string, at int, v *yaml.Node) int {
	switch v.Style {
	case 0:
		return plainEnd(head, at, v.Value)
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		if n := quoteEnd(head[at:]); n > 0 {
			return at + n
		}
	}
	return -1
}

// plainEnd follows the plain scalar that reads as value: one line end and the
// blanks around it are read as a blank, more of them as one line end less.
func plainEnd(head string, at int, value string) int {
	for value != "" {
		text := head[at:]
		gap := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		part := text[:min(max(gap, 1), len(text))]
		read := part
		switch n := strings.Count(part, "\n"); {
		case n == 1:
			read = " "
		case n > 1:
			read = strings.Repeat("\n", n-1)
		}
		if read == "" || !strings.HasPrefix(value, read) {
			return -1
		}
		at, value = at+len(part), value[len(read):]
	}
	return at
}

// locateText finds a block text (`|` or `>`): its sign, and the lines below that
// belong to it. column is that of its key, from 1.
func (e *Entry) locateText(head string, at, column int) {
	sign := restOfLine(head, at)
	e.span(at, at+strings.IndexAny(sign+" ", " \t\r"))
	e.Below = at + len(strings.TrimSuffix(sign, "\r"))
	e.BelowEnd = e.Below
	indent := 0
	if i := strings.IndexAny(head[e.Start:e.End], "123456789"); i >= 0 {
		indent = column - 1 + int(head[e.Start+i]-'0')
	}
	for next := at + len(sign) + 1; next < len(head); {
		line := restOfLine(head, next)
		if text := strings.TrimRight(line, " \t\r"); text != "" {
			n := blanks(text)
			if n < max(indent, column) {
				return
			}
			if indent == 0 {
				indent = n
			}
			e.BelowEnd = next + len(strings.TrimSuffix(line, "\r"))
		}
		next += len(line) + 1
	}
}

func restOfLine(head string, at int) string {
	line, _, _ := strings.Cut(head[at:], "\n")
	return line
}

// quoteEnd gives the length of the quoted scalar that s starts with; 0 when it
// does not end in s.
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0] && s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return 0
}

// flowEnd gives the offset behind a flow list or mapping; -1 where it has no end
// or a comment, which would be lost with it.
func flowEnd(head string, at int) int {
	line := head[at:]
	depth := 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return at + i + 1
			}
		case '#':
			if strings.IndexByte(" \t\n", line[i-1]) >= 0 {
				return -1
			}
		case '"', '\'':
			if strings.IndexByte(" \t\n,:[{", line[i-1]) < 0 {
				continue
			}
			n := quoteEnd(line[i:])
			if n == 0 {
				return -1
			}
			i += n - 1
		}
	}
	return -1
}

// locateBlock finds the lines of a block list, one for each item; a list with
// other lines in between stays unknown.
func (e *Entry) locateBlock(head string, starts []int, first int) {
	for n, it := range e.Items {
		line := first + n
		if it.Node.Line != line || line > len(starts) {
			return
		}
		from := starts[line-1]
		end := from + len(strings.TrimSuffix(restOfLine(head, from), "\r"))
		at := offset(head, starts, line, it.Node.Column)
		indent := blanks(head[from:])
		if !it.Scalar || at < 0 || strings.Trim(head[from:at], " ") != "-" || n > 0 && indent != e.Indent {
			return
		}
		if last := scalarEnd(head, at, it.Node); last < 0 || last > end {
			return
		}
		e.Indent = indent
		if n == len(e.Items)-1 {
			e.span(starts[first-1], end)
			e.Block = true
		}
	}
}
