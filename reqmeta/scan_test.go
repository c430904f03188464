package reqmeta

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"aiflow/reqmeta/reqgen"
)

// head puts lines between fences.
func head(lines ...string) []byte {
	return []byte("---\n" + strings.Join(lines, "\n") + "\n---\n\n# Heading\n")
}

func parseBoth(path string, data []byte) (fast, slow *Request) {
	fast, slow = newRequest(path), newRequest(path)
	fast.parse(data, &scanner{}, true)
	slow.parse(data, &scanner{}, false)
	return fast, slow
}

var scannerHeads = []struct {
	head string
	hand bool // the scanner reads it by itself
}{
	{"status: ready", true},
	{"status: ready\n", true},
	{"status: ready # comment", true},
	{"status: ready#no", true},
	{"status:ready", false},
	{"status:", true},
	{"status: ", true},
	{"status: # c", true},
	{"status: ~", true},
	{"status: null", true},
	{"status: 'null'", true},
	{"title: \"a: b # c\"   # d", true},
	{"title: 'it''s'", false},
	{"title: \"a\\n\"", false},
	{"title: \"\"", true},
	{"title: a: b", false},
	{"title: a :b", true},
	{"title: a:", false},
	{"title: ログイン画面を直す（第2版）", true},
	{"title: a\u00a0b", true},
	{"title: \u00a0b", true},
	{"title: a\u2028b", false},
	{"title: a\ufeffb", false},
	{"title: a\tb", false},
	{"title: @x", false},
	{"title: [P0] fix", false},
	{"title: -x", false},
	{"title: a\n  b", false},
	{"labels: []", true},
	{"labels: [ ]", true},
	{"labels: [a]", true},
	{"labels: [a, b c , \"d, e\", 'f']", true},
	{"labels: [a, ]", false},
	{"labels: [a,b]", true},
	{"labels: [a", false},
	{"labels: [a:b]", false},
	{"labels: [0089, 22.10, 1e3, no, ~, null]", true},
	{"labels: [a] # c", true},
	{"labels: [a]#c", false},
	{"labels: [a] b", false},
	{"labels:\n  - a\n  - b # c\n", true},
	{"labels:\n- a\n- \"b\"\nstatus: ready", true},
	{"labels: # c\n\n  - a\n# x\n  - b", true},
	{"labels:\n  - a\n   - b", false},
	{"labels:\n  - a: b", true},
	{"labels:\n  -\n", false},
	{"labels:\n  - - a", false},
	{"labels: ~\n  - a", false},
	{"steps:\n  - title: a\n    run: echo 1\n  - title: \"b: c\"\n    run: 'x' # c\n    test: ~\n\nstatus: ready", true},
	{"steps:\n- title: a\n  run:\n- run: b # no title", true},
	{"steps:\n-   title: a\n    run: b\n#\n    test: c", true},
	{"steps:\n  - title: a\n    retries: 3", true},
	{"steps:\n  - title: a\n    title: b", false},
	{"steps:\n  - title: a\n   run: b", false},
	{"steps:\n  - title: a\n      run: b", false},
	{"steps:\n  - title: a\n    run: b\n      c", false},
	{"steps:\n  - title: a\n    run: |\n      b", false},
	{"steps:\n  - title: a\n    run: [b]", false},
	{"steps:\n  - title: a\n  - b", false},
	{"steps:\n  - a\n  - title: b", false},
	{"steps:\n  - title: a\n - title: b", false},
	{"steps:\n  - title: a\n    - b", false},
	{"steps:\n  - title:\n    - b", false},
	{"steps:\n  - title: a: b", false},
	{"steps:\n  - {title: a}", false},
	{"steps: []\n  - title: a", false},
	{"labels:\n  - a: b\n  - c: d", true},
	{"title: x\n  - title: a", false},
	{"labels: a\n- b", false},
	{"id: 0089\ndepends_on: [1e3]", true},
	{"a: 1\na: 2", true},
	{"? a\n: b", false},
	{"<<: x", false},
	{"a: &x b", false},
	{"%YAML 1.1", false},
	{"123: a\nnull: b\ntrue: c", true},
	{"a: 1\r\nb: 2\r\n", true},
	{"a: 1\r b: 2", false},
	{"a: b\n \n  \nc: d", true},
	{"a: ...\nb: .5", true},
	{"a: ~b", true},
	{"a: \"x\" y", false},
	{"a: 'x", false},
	{"", true},
	{"# only", true},
}

func TestScannerAgreesWithYAML(t *testing.T) {
	for _, tc := range scannerHeads {
		if got := (&scanner{}).scan(tc.head, 2); got != tc.hand {
			t.Errorf("scan(%q) = %v, want %v", tc.head, got, tc.hand)
		}
		agree(t, []byte("---\n"+tc.head+"\n---\nbody\n"))
	}
	for n := range 200 {
		name, data := reqgen.File(7, n)
		fast, slow := parseBoth("requests/"+name, data)
		if !reflect.DeepEqual(fast, slow) || !fast.Valid() {
			t.Fatalf("%s: %+v\n%+v", name, fast, slow)
		}
	}
}

// agree fails when scanner and YAML library do not give the same request, or
// do not see a value at the same place.
func agree(t *testing.T, data []byte) {
	t.Helper()
	fast, slow := parseBoth("requests/RQ-1.md", data)
	if !reflect.DeepEqual(fast, slow) {
		t.Errorf("%q:\nscanner %+v\nyaml    %+v", data, fast, slow)
	}
	d, p := cut(data)
	var sc scanner
	h := string(data[d.start:d.end])
	if p != nil || !sc.scan(h, d.line) || duplicate(sc.entries) != nil {
		return
	}
	other, p := document{fenced: d.fenced, line: d.line}.entries(h, &scanner{}, false)
	if p != nil || len(other) != len(sc.entries) {
		t.Fatalf("%q: %d entries, yaml %d (%v)", data, len(sc.entries), len(other), p)
	}
	for i, a := range sc.entries {
		if b := other[i]; b.start >= 0 && spans(a) != spans(b) {
			t.Errorf("%q: %s at %s, yaml at %s", data, a.key, spans(a), spans(b))
		}
	}
}

func spans(e entry) string {
	return fmt.Sprint(e.line, e.colon, e.start, e.end, e.block, e.indent)
}

func FuzzScannerAgreesWithYAML(f *testing.F) {
	for _, tc := range scannerHeads {
		f.Add([]byte(tc.head), true)
		f.Add([]byte(tc.head), false)
	}
	_, data := reqgen.File(1, 5)
	f.Add(data[4:len(data)/3], true)
	f.Fuzz(func(t *testing.T, h []byte, fenced bool) {
		if fenced {
			h = []byte("---\n" + string(h) + "\n---\n")
		}
		agree(t, h)
	})
}
