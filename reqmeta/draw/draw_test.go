package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"aiflow/reqmeta/choose"
)

func drawn(lines ...string) choose.Network { return choose.Graph(made(lines...), choose.Facts{}) }

func many() choose.Network {
	return drawn(
		"a done", "b ready a", "c ready b,nope", "d ready e", "e ready d", "f draft a,a",
		"g archived", "h blocked g",
		`x ready - title: '<b>"&amp; \ `+"`"+` # end</b>'; priority: P0`,
		"y ready - title: \"a\\e[31m\u202eb\"",
	)
}

func TestDrawings(t *testing.T) {
	n := many()
	for name, write := range map[string]func(io.Writer, choose.Network) error{"dot": DOT, "mermaid": Mermaid, "svg": SVG} {
		var a, b bytes.Buffer
		if err := errors.Join(write(&a, n), write(&b, n)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s differs from time to time", name)
		}
		if s := a.String(); name != "dot" && strings.Contains(s, "<b>") || strings.ContainsAny(s, "\x1b\u202e") {
			t.Errorf("%s lets a title through:\n%s", name, s)
		}
		if err := write(failing{}, n); err == nil {
			t.Errorf("%s hides that nothing was written", name)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestDOT(t *testing.T) {
	var b strings.Builder
	if err := DOT(&b, drawn("a done", `b ready a title: 'say "x\y"'`)); err != nil {
		t.Fatal(err)
	}
	want := `digraph requests {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fontname="sans-serif"];
  "a" [label="a\nP1 done", fillcolor="#d9f2e1", color="#2f855a"];
  "b" [label="b\nsay \"x\\y\"\nready RUNNABLE", fillcolor="#dbeafe", color="#1d4ed8"];
  "a" -> "b" [color="#2f855a", style=solid];
}
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestMermaid(t *testing.T) {
	var b strings.Builder
	if err := Mermaid(&b, drawn("a done", `b ready a,z title: 'say "<x>"'`)); err != nil {
		t.Fatal(err)
	}
	want := `flowchart LR
  n0["a<br/>P1 done"]:::done
  n1["b<br/>say #quot;#lt;x#gt;#quot;<br/>ready DEPENDS_NOT_FOUND"]:::stuck
  n2["z<br/>DEPENDS_NOT_FOUND"]:::stuck
  n0 --> n1
  n2 -.-> n1
`
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("got\n%s", b.String())
	}
}

func TestSVGIsWellFormedAndLayered(t *testing.T) {
	var b bytes.Buffer
	n := many()
	if err := SVG(&b, n); err != nil {
		t.Fatal(err)
	}
	boxes := 0
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "rect" {
			boxes++
		}
	}
	if boxes != 11 {
		t.Errorf("%d boxes", boxes)
	}
	nodes := all(n)
	at := places(layout(n, nodes))
	number := map[string]int{}
	for i, node := range nodes {
		number[node.ID] = i
	}
	for _, e := range n.Edges {
		if e.State != choose.EdgeCycle && at[number[e.To]].x >= at[number[e.From]].x {
			t.Errorf("%s is not left of %s", e.To, e.From)
		}
	}
	var empty bytes.Buffer
	if err := SVG(&empty, choose.Network{}); err != nil || !strings.Contains(empty.String(), "</svg>") {
		t.Error(err, empty.String())
	}
}
