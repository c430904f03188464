package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"aiflow/internal/term"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// DOT writes the graph for Graphviz. Arrows lead from a dependency to
// what waits for it: the order of work.
func DOT(w io.Writer, n choose.Network) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "digraph requests {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];")
	for _, node := range all(n) {
		l := lookOf(node)
		fmt.Fprintf(b, "  %s [label=%s, fillcolor=\"%s\", color=\"%s\"];\n", dotQuote(node.ID), dotQuote(label(node, "\n")), l.fill, l.stroke)
	}
	for _, e := range n.Edges {
		style := "solid"
		if e.State != choose.EdgeDone {
			style = "dashed"
		}
		fmt.Fprintf(b, "  %s -> %s [color=\"%s\", style=%s];\n", dotQuote(e.To), dotQuote(e.From), colorOf(e), style)
	}
	fmt.Fprintln(b, "}")
	return b.Flush()
}

// Mermaid writes the graph as a Mermaid flowchart.
func Mermaid(w io.Writer, n choose.Network) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "flowchart LR")
	number := map[string]int{}
	for i, node := range all(n) {
		number[node.ID] = i
		fmt.Fprintf(b, "  n%d[\"%s\"]:::%s\n", i, mermaidEscape(label(node, "\n")), lookOf(node).name)
	}
	for _, e := range n.Edges {
		arrow := "-->"
		if e.State != choose.EdgeDone {
			arrow = "-.->"
		}
		fmt.Fprintf(b, "  n%d %s n%d\n", number[e.To], arrow, number[e.From])
	}
	for _, node := range []choose.Node{{Derived: "DONE"}, {Derived: "RUNNABLE"}, {Derived: "ARCHIVED"}, {Status: reqmeta.Running}, {Derived: "DEPENDS_NOT_DONE"}, {}} {
		l := lookOf(node)
		fmt.Fprintf(b, "  classDef %s fill:%s,stroke:%s,color:#111\n", l.name, l.fill, l.stroke)
	}
	return b.Flush()
}

// maxLabel is how many columns of a title are drawn.
const maxLabel = 28

// label is what stands in the box: id, title, and what state it is in.
func label(n choose.Node, sep string) string {
	parts := []string{visible(n.ID)}
	if n.Title != "" && n.Title != n.ID {
		parts = append(parts, shorten(visible(n.Title), maxLabel))
	}
	state := strings.TrimSpace(n.Priority + " " + n.Status)
	if n.Derived != "" && !strings.EqualFold(n.Derived, n.Status) {
		state = strings.TrimSpace(state + " " + n.Derived)
	}
	return strings.Join(append(parts, visible(state)), sep)
}

// visible replaces what could change how the text around it reads: controls,
// direction marks, zero-width characters, broken UTF-8.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Zl, unicode.Zp) || r == 0xfffe || r == 0xffff {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// shorten cuts s to so many columns; wide characters take two.
func shorten(s string, columns int) string {
	used := 0
	for i, r := range s {
		if used += term.RuneWidth(r); used > columns {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

func mermaidEscape(s string) string {
	return strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", "`", "#96;", `\`, "#92;", "\n", "<br/>").Replace(s)
}
