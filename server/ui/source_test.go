package ui

import (
	"io/fs"
	"os"
	"regexp"
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
