package reqmeta

import (
	"reflect"
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
	for _, tc := range scannerHeads {
		readsAlike(t, tc.head)
	}
	for n := range 200 {
		_, data := reqgen.File(7, n)
		if d, p := cut(data); p == nil {
			readsAlike(t, string(data[d.start:d.end]))
		}
	}
}

func FuzzLibraryReadsAlike(f *testing.F) {
	for _, tc := range scannerHeads {
		f.Add(tc.head)
		f.Add(tc.head + "\n")
	}
	f.Add("a: |\n  x\n\n\n")
	f.Add("a: |+\n  x\n\n")
	f.Add("a: \"x\n\n  y\"")
	f.Add("\ufeffa: 1")
	f.Fuzz(readsAlike)
}
