package server

import (
	"os"
	"strings"
	"testing"
)

// A check says every way out, in the API as lines of its one hint (D32), on
// the page as a list.
func TestPageDoctorHints(t *testing.T) {
	w := newWorld(t, nil)
	if err := os.RemoveAll(w.path("requests")); err != nil {
		t.Fatal(err)
	}
	hint := ""
	checks, _ := w.call(200, "GET", "/api/doctor", "").at("checks").([]any)
	for _, c := range checks {
		if c := c.(map[string]any); c["id"] == "requests_dir" {
			hint = c["hint"].(string)
		}
	}
	ways := strings.Split(hint, "\n")
	if len(ways) != 2 || !strings.Contains(hint, "aiflow init") {
		t.Fatalf("hint %q", hint)
	}
	p := w.tab(openBrowser(t), "/doctor")
	p.until("document.querySelector('.check.bad')")
	shown := p.do("[...[...document.querySelectorAll('.check')].find((e) => e.textContent.includes('requests_dir')).querySelectorAll('.hint')].map((e) => e.textContent.slice(2)).join('\\n')")
	if shown != quoted(strings.ReplaceAll(hint, "`", "")) {
		t.Errorf("shown %s, not %q", shown, hint)
	}
	if got := p.do("document.querySelector('.passed li').checkVisibility()"); got != "false" {
		t.Error("what passed stands as large as what did not")
	}
	p.shot("doctor-bad")
	p.clean()
}
