package reqmeta

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/adrg/frontmatter"
	"go.yaml.in/yaml/v3"
)

// readYAML reads a head. line is the file line of its first line.
func readYAML(head string, line int) ([]Entry, *Problem) {
	if p := checkText(head, line); p != nil {
		return nil, p
	}
	doc, err := unmarshal(head)
	var rest *restError
	switch {
	case errors.As(err, &rest):
		return nil, NewProblem(LevelError, "after_document", line+rest.line()-1)
	case err != nil:
		return nil, syntaxProblem(head, err, line)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	p := checkNodes(root, line)
	if root.Kind != yaml.MappingNode {
		if p == nil && root.ShortTag() != "!!null" {
			p = NewProblem(LevelError, "not_a_mapping", line+root.Line-1)
		}
		return nil, p
	}
	return entriesOf(root, head, line), p
}

// unmarshal reads a head as a tree. A last line without an end gets one: the
// library tells the place of a mistake otherwise.
func unmarshal(head string) (doc yaml.Node, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = errYAMLPanic
		}
	}()
	if head != "" && head[len(head)-1] != '\n' {
		head += "\n"
	}
	err = parseHead(head, &doc)
	return doc, err
}

var errYAMLPanic = errors.New("yaml: this text cannot be read")

// decodeWhole is yaml.Unmarshal that reads on behind the first document: what
// stands there would otherwise be dropped without a word.
func decodeWhole(data []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(v); err != nil {
		if err == io.EOF {
			return nil
		}
		return err
	}
	switch err := d.Decode(new(yaml.Node)); {
	case err == io.EOF:
		return nil
	case err == nil || strings.Contains(err.Error(), "<document start>"):
		return &restError{err}
	default:
		return err
	}
}

// restError is what follows the end of a document. The library counts its line
// from zero, and leaves out line zero.
type restError struct{ cause error }

func (e *restError) Error() string { return "there is more behind the end of the document" }

func (e *restError) line() int {
	if e.cause == nil || !strings.HasPrefix(e.cause.Error(), "yaml: line ") {
		return 1
	}
	n, _ := errorLine(e.cause)
	return n + 1
}

// checkText refuses what must not stand in a head at all.
func checkText(head string, line int) *Problem {
	start := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRuneInString(head[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			_, encoding := Foreign([]byte(head))
			return NewProblem(LevelError, "not_utf8", line, "encoding", encoding)
		case r == '\n':
			if isMarker(head[start:i]) {
				return NewProblem(LevelError, "document_marker", line)
			}
			line, start = line+1, i+1
		case r == '\r' && strings.HasPrefix(head[i:], "\r\n"), r == '\t':
		case r == '\r', r == 0x85, r == 0x2028, r == 0x2029:
			return NewProblem(LevelError, "line_break", line, "char", fmt.Sprintf("%U", r))
		case r < ' ', isOdd(r):
			return NewProblem(LevelError, "control_char", line, "char", fmt.Sprintf("%U", r))
		}
		i += n
	}
	if isMarker(head[start:]) {
		return NewProblem(LevelError, "document_marker", line)
	}
	return nil
}

// isMarker reports whether a line starts or ends a YAML document.
func isMarker(text string) bool {
	return (strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...")) &&
		(len(text) == 3 || strings.IndexByte(" \t\r", text[3]) >= 0)
}

// errorLine takes the line out of "yaml: line 3: …".
func errorLine(err error) (line int, cause string) {
	cause = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(cause, "line "); ok {
		number, text, _ := strings.Cut(rest, ": ")
		if v, err := strconv.Atoi(number); err == nil {
			return max(v, 1), text
		}
	}
	return 1, cause
}

// checkNodes refuses anchors, aliases, merge keys, explicit tags and duplicate
// keys, wherever they stand.
func checkNodes(n *yaml.Node, line int) *Problem {
	at := line + n.Line - 1
	switch {
	case n.Kind == yaml.AliasNode:
		return NewProblem(LevelError, "alias", at, "value", n.Value)
	case n.Anchor != "":
		return NewProblem(LevelError, "anchor", at, "value", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		return NewProblem(LevelError, "tag", at, "value", n.Tag)
	}
	if n.Kind == yaml.MappingNode {
		if p := checkKeys(n, line); p != nil {
			return p
		}
	}
	for _, c := range n.Content {
		if p := checkNodes(c, line); p != nil {
			return p
		}
	}
	return nil
}

func checkKeys(n *yaml.Node, line int) *Problem {
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		at := line + k.Line - 1
		switch {
		case k.Kind == yaml.AliasNode:
			return NewProblem(LevelError, "alias", at, "value", k.Value)
		case k.Kind != yaml.ScalarNode:
			return NewProblem(LevelError, "complex_key", at)
		case k.Tag == "!!merge":
			return NewProblem(LevelError, "merge_key", at)
		}
		if f, dup := first[k.Value]; dup {
			return NewProblem(LevelError, "duplicate_key", at, "key", k.Value, "first", f)
		}
		first[k.Value] = at
	}
	return nil
}

func entriesOf(root *yaml.Node, head string, line int) []Entry {
	starts := lineStarts(head)
	list := make([]Entry, 0, len(root.Content)/2)
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		e := Entry{Key: k.Value, Line: line + k.Line - 1, Node: v, Start: -1}
		e.fill(v, line)
		e.locate(head, starts, k, v)
		list = append(list, e)
	}
	return list
}

func (e *Entry) fill(v *yaml.Node, line int) {
	switch {
	case v.Kind == yaml.ScalarNode && v.Tag == "!!null":
		e.Kind = NullValue
	case v.Kind == yaml.ScalarNode:
		e.Text = v.Value
	case v.Kind == yaml.SequenceNode:
		e.Kind = ListValue
		for _, c := range v.Content {
			e.Items = append(e.Items, Item{
				Text: c.Value, line: line + c.Line - 1, Node: c, pairs: pairsOf(c, line),
				Scalar: c.Kind == yaml.ScalarNode, mapping: c.Kind == yaml.MappingNode,
			})
		}
	default:
		e.Kind = OtherValue
	}
}

func pairsOf(n *yaml.Node, line int) (list []pair) {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		p := pair{key: k.Value, line: line + k.Line - 1, scalar: v.Kind == yaml.ScalarNode}
		if v.Tag != "!!null" {
			p.text = v.Value
		}
		list = append(list, p)
	}
	return list
}

// fence never stands in a head that passed checkText, so that the library
// cannot see another end of the head than our own rule.
const fence = "\x00"

func parseHead(head string, doc *yaml.Node) error {
	text := io.MultiReader(strings.NewReader(fence+"\n"), strings.NewReader(head), strings.NewReader(fence+"\n"))
	_, err := frontmatter.MustParse(text, doc, frontmatter.NewFormat(fence, fence, decodeWhole))
	return err
}
