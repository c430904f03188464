package server

import (
	"strings"
	"testing"
)

// The details of a request are edited as a person does: Enter saves, no other byte
// changes, and what is refused is said in words at the form.
func TestPageDetails(t *testing.T) {
	before := "---\r\ntitle:   'One '  # kept\nlabels: ['a, b', c]\nstatus: ready\ntouches: [ \"src/**\", docs/a.md ]  # and this\nodd_key: {a: 1}\npriority: P1\n---\r\n\r\ntext \n"
	w := newWorld(t, map[string]string{"requests/RQ-1.md": before, "requests/RQ-2.md": request("title: Two\nstatus: ready\n", "")})
	p := w.tab(openBrowser(t), "/requests/RQ-1")
	p.until("document.querySelector('.touches')?.innerText === 'Files it may change: src/** docs/a.md'")
	change := func(key, value string) {
		t.Helper()
		p.press("Edit details")
		p.until("document.querySelector('form.meta [data-key=" + key + "]')")
		p.do("void ((e) => { e.focus(); e.value = " + quoted(value) + "; })(document.querySelector('form.meta [data-key=" + key + "]'))")
		p.enter()
	}
	change("touches", "src/**, docs/[ab]*.md")
	p.sees("Details saved.")
	after := strings.Replace(before, `[ "src/**", docs/a.md ]`, w.between("requests/RQ-1.md", "touches: ", "  # and this"), 1)
	if got := w.read("requests/RQ-1.md"); got != after || !strings.Contains(got, "docs/[ab]*.md") {
		t.Errorf("%q", got)
	}
	w.call(200, "GET", "/api/requests/RQ-1/meta", "").wants("meta.touches.0", "src/**", "meta.touches.1", "docs/[ab]*.md")
	p.shot("details")

	change("base", "no such branch..")
	p.until("document.querySelector('form.meta .wrong')?.textContent")
	p.shot("details-refused")
	if said := p.do("document.querySelector('form.meta .wrong').innerText"); !strings.HasPrefix(said, `"base: `) || strings.Contains(said, "openapi") || strings.Contains(said, "INVALID") || strings.Contains(said, "null") {
		t.Errorf("it says %s", said)
	}
	p.press("Cancel")
	change("touches", "../outside")
	p.until("document.querySelector('form.meta .wrong')?.textContent.includes('touches')")
	p.press("Cancel")
	if got := w.read("requests/RQ-1.md"); got != after {
		t.Errorf("what was refused changed it: %q", got)
	}
	change("touches", "")
	p.until("!document.querySelector('.touches')")
	p.clean()
}

// between is what stands between two texts in a file.
func (w *world) between(name, from, to string) string {
	w.t.Helper()
	_, rest, _ := strings.Cut(w.read(name), from)
	text, _, _ := strings.Cut(rest, to)
	return text
}
