package reqmeta

import (
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"aiflow/reqmeta/reqgen"
)

// readsAlike fails where the frontmatter library reads a head otherwise than the
// YAML library alone.
func readsAlike(t *testing.T, head string) {
	t.Helper()
	if checkText(head, 2) != nil {
		return // not handed on
	}
	ours, err := unmarshal(head)
	alone, aloneErr := unmarshalAlone(head)
	if !reflect.DeepEqual(ours, alone) || (err == nil) != (aloneErr == nil) || err != nil && err.Error() != aloneErr.Error() {
		t.Errorf("%q:\nfrontmatter %+v, %v\nalone       %+v, %v", head, ours, err, alone, aloneErr)
	}
}

func unmarshalAlone(head string) (doc yaml.Node, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = errYAMLPanic
		}
	}()
	if head != "" && head[len(head)-1] != '\n' {
		head += "\n"
	}
	err = yaml.Unmarshal([]byte(head), &doc)
	return doc, err
}

func TestLibraryReadsAlike(t *testing.T) {
	for _, h := range heads {
		readsAlike(t, h)
	}
	for n := range 200 {
		_, data := reqgen.File(7, n)
		if d, p := Split(data); p == nil {
			readsAlike(t, string(data[d.Start:d.End]))
		}
	}
}

func FuzzLibraryReadsAlike(f *testing.F) {
	for _, h := range heads {
		f.Add(h)
		f.Add(h + "\n")
	}
	f.Add("a: |\n  x\n\n\n")
	f.Add("a: |+\n  x\n\n")
	f.Add("a: \"x\n\n  y\"")
	f.Add("\ufeffa: 1")
	f.Fuzz(readsAlike)
}

// head puts lines between fences.
func head(lines ...string) []byte {
	return []byte("---\n" + strings.Join(lines, "\n") + "\n---\n\n# Heading\n")
}

// heads are of every shape that people write, and some that nobody should.
var heads = []string{
	"status: ready",
	"status: ready\n",
	"status: ready # comment",
	"status: ready#no",
	"status:ready",
	"status:",
	"status: ",
	"status: # c",
	"status: ~",
	"status: null",
	"status: 'null'",
	"title: \"a: b # c\"   # d",
	"title: 'it''s'",
	"title: \"a\\n\"",
	"title: \"\"",
	"title: a: b",
	"title: a :b",
	"title: a:",
	"title: ログイン画面を直す（第2版）",
	"title: a\u00a0b",
	"title: \u00a0b",
	"title: a\u2028b",
	"title: a\ufeffb",
	"title: a\tb",
	"title: @x",
	"title: [P0] fix",
	"title: -x",
	"title: a\n  b",
	"labels: []",
	"labels: [ ]",
	"labels: [a]",
	"labels: [a, b c , \"d, e\", 'f']",
	"labels: [a, ]",
	"labels: [a,b]",
	"labels: [a",
	"labels: [a:b]",
	"labels: [0089, 22.10, 1e3, no, ~, null]",
	"labels: [a] # c",
	"labels: [a]#c",
	"labels: [a] b",
	"labels:\n  - a\n  - b # c\n",
	"labels:\n- a\n- \"b\"\nstatus: ready",
	"labels: # c\n\n  - a\n# x\n  - b",
	"labels:\n  - a\n   - b",
	"labels:\n  - a: b",
	"labels:\n  -\n",
	"labels:\n  - - a",
	"labels: ~\n  - a",
	"steps:\n  - title: a\n    run: echo 1\n  - title: \"b: c\"\n    run: 'x' # c\n    test: ~\n\nstatus: ready",
	"steps:\n- title: a\n  run:\n- run: b # no title",
	"steps:\n-   title: a\n    run: b\n#\n    test: c",
	"steps:\n  - title: a\n    retries: 3",
	"steps:\n  - title: a\n    title: b",
	"steps:\n  - title: a\n   run: b",
	"steps:\n  - title: a\n      run: b",
	"steps:\n  - title: a\n    run: b\n      c",
	"steps:\n  - title: a\n    run: |\n      b",
	"steps:\n  - title: a\n    run: [b]",
	"steps:\n  - title: a\n  - b",
	"steps:\n  - a\n  - title: b",
	"steps:\n  - title: a\n - title: b",
	"steps:\n  - title: a\n    - b",
	"steps:\n  - title:\n    - b",
	"steps:\n  - title: a: b",
	"steps:\n  - {title: a}",
	"steps: []\n  - title: a",
	"labels:\n  - a: b\n  - c: d",
	"title: x\n  - title: a",
	"labels: a\n- b",
	"id: 0089\ndepends_on: [1e3]",
	"a: 1\na: 2",
	"? a\n: b",
	"<<: x",
	"a: &x b",
	"%YAML 1.1",
	"123: a\nnull: b\ntrue: c",
	"a: 1\r\nb: 2\r\n",
	"a: 1\r b: 2",
	"a: b\n \n  \nc: d",
	"a: ...\nb: .5",
	"a: ~b",
	"a: \"x\" y",
	"a: 'x",
	"",
	"# only",
}
