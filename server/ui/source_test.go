package ui

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Text becomes nodes only as text: nothing in the page makes HTML or code of
// it, and nothing names another server.
func TestPageMakesNoHTMLOfText(t *testing.T) {
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|\beval\(|new Function|import\(`)
	files := 0
	err := fs.WalkDir(os.DirFS("src/page"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".ts") {
			return err
		}
		files++
		text, err := os.ReadFile("src/page/" + name)
		if found := bad.FindString(string(text)); found != "" {
			t.Errorf("%s has %s", name, found)
		}
		return err
	})
	if err != nil || files < 20 {
		t.Fatal(files, err)
	}
	if !bad.MatchString("el.innerHTML = text") {
		t.Error("the search finds nothing")
	}
}

func TestBuiltPageNeedsNobodyElse(t *testing.T) {
	for _, name := range []string{"index.html", "page.js", "page.css"} {
		text, err := fs.ReadFile(Assets(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range regexp.MustCompile(`https?://[\w.-]+`).FindAllString(string(text), -1) {
			if at != "http://www.w3.org" { // the name of SVG, not an address
				t.Errorf("%s names %s", name, at)
			}
		}
	}
	page, _ := fs.ReadFile(Assets(), "index.html")
	if regexp.MustCompile(`(?i)<style|\son\w+=|\sstyle=|<script[^>]*>[^<]`).Match(page) {
		t.Error("index.html has script or style of its own, which the policy forbids")
	}
}

// What the API says in one word has a name in words, and no text is there for nobody.
func TestEveryWordHasAName(t *testing.T) {
	data, err := os.ReadFile("../../messages/text/en/page.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ kind, file, constant, but string }{
		{"event", "runs/runs.go", `Event\w+ +=`, ""},
		{"state", "runs/runs.go", `\w+ +State =`, ""},
		{"step", "runs/runs.go", `\w+ +Status =`, ""},
		{"test", "runs/runs.go", `\w+ +TestStatus =`, "NOT_RUN"},
		{"warning", "runs/warnings.go", `\w+ +Warning =`, ""},
		{"session", "runner/session.go", `\w+ +SessionState =`, ""},
		{"check", "doctor/report.go", `\w+ +Status =`, ""},
		{"lock_type", "locks/key.go", `Type\w+ +=`, ""},
		{"diff", "gitops/gitops.go", `\w+ +Status =`, "untracked unmerged"},
	} {
		source, err := os.ReadFile("../../" + of.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^\t`+of.constant+` "(\w+)"`).FindAllSubmatch(source, -1)
		if len(found) == 0 {
			t.Errorf("%s has no %s", of.file, of.kind)
		}
		for _, m := range found {
			if value := string(m[1]); !strings.Contains(of.but, value) && texts[of.kind+"."+value] == "" {
				t.Errorf("%s of %s has no text", value, of.file)
			}
		}
	}

	var sources strings.Builder
	files, err := filepath.Glob("src/page/*.ts")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		sources.Write(text)
	}
	made := []string{}
	for _, m := range regexp.MustCompile("word\\('(\\w+)'|[`']([a-z_]+\\.[a-z_]*)(?:\\$\\{|' \\+)").FindAllStringSubmatch(sources.String(), -1) {
		if m[1] != "" {
			m[2] = m[1] + "."
		}
		made = append(made, m[2])
	}
	for key := range texts {
		if !strings.Contains(sources.String(), "'"+key+"'") && !slices.ContainsFunc(made, func(part string) bool { return strings.HasPrefix(key, part) }) {
			t.Errorf("nobody says %s", key)
		}
	}
	if len(files) == 0 || err != nil {
		t.Error(files, err)
	}
}
