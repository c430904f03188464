package schema_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostLines is two screens. Tables that are made from the code may be longer.
const mostLines = 100

var (
	link   = regexp.MustCompile(`\]\(([^()\s]*)\)`)
	made   = regexp.MustCompile(`(?s)<!-- [a-z: ]*begin.*?end -->`)
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	head   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	marks  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every link of the documents leads to a file that is there, and to a heading that it has.
func TestLinksLeadSomewhere(t *testing.T) {
	links := 0
	for _, name := range pages(t, "../*.md", "../decisions/*.md", "../../*.md") {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text(t, name), ""), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			to := filepath.Join(filepath.Dir(name), path)
			if path == "" {
				to = name
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s is not there", name, m[1])
			} else if anchor != "" && !anchors(text(t, to))[anchor] {
				t.Errorf("%s: %s has no such heading", name, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

// Each guide stands in the list of all, and can be read in two screens.
func TestGuidesAreListedAndShort(t *testing.T) {
	list := text(t, "../README.md")
	for _, name := range pages(t, "../*.md") {
		base := filepath.Base(name)
		if base != "README.md" && !strings.Contains(list, "("+base+")") {
			t.Errorf("README.md does not name %s", base)
		}
		if n := strings.Count(made.ReplaceAllString(text(t, name), ""), "\n"); n > mostLines && base != "exit-codes.md" { // that one is all table
			t.Errorf("%s has %d lines, more than %d", base, n, mostLines)
		}
	}
}

func pages(t *testing.T, patterns ...string) (all []string) {
	t.Helper()
	for _, p := range patterns {
		names, err := filepath.Glob(p)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v %v", p, names, err)
		}
		all = append(all, names...)
	}
	return all
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// anchors are the headings of a page as links name them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, m := range head.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		all[strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}
