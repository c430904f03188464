package server

import (
	"path/filepath"
	"strings"
	"testing"
)

// The page has a place for the queue only where one is configured.
func TestPageQueue(t *testing.T) {
	browser := openBrowser(t)
	none, _ := queueWorld(t, "")
	bare := none.tab(browser, "/")
	bare.sees("Doctor")
	if got := bare.do("document.querySelectorAll('nav a').length"); got != "4" {
		t.Errorf("%s places", got)
	}
	bare.close()

	w, dir := queueWorld(t, "http://localhost:9")
	p := w.tab(browser, "/")
	p.sees("Doctor")
	p.key("5")
	p.until("location.pathname === '/queue' && document.querySelectorAll('.task').length === 3")
	p.sees("it broke")
	p.sees("its runner is dead")
	p.sees("dead")
	if got := p.do("document.querySelectorAll('.task button').length"); got != "1" {
		t.Errorf("%s tasks can be cancelled, not only the running one", got)
	}
	p.shot("queue")

	// Cancelling asks first; the two-second look shows what changed elsewhere.
	calls := filepath.Join(dir, "calls")
	p.press("Cancel task")
	p.until("document.querySelector('dialog[open]')")
	p.do("void document.querySelector('dialog .btn:not(.primary)').click()")
	p.until("!document.querySelector('dialog')")
	if got := took(t, calls); strings.Contains(got, "cancel") {
		t.Errorf("cancelled without a yes: %s", got)
	}
	p.press("Cancel task")
	p.until("document.querySelector('dialog[open]')")
	p.do("void document.querySelector('dialog .btn.primary').click()")
	p.sees("B was cancelled.")
	if got := took(t, calls); !strings.Contains(got, "cancel B --namespace=proj-1") {
		t.Errorf("called %s", got)
	}
	put(t, filepath.Join(dir, "answer.runners"), `{"namespace":"proj-1","items":[]}`)
	p.sees("No runner works here.")

	p.do("void (document.querySelector('.taskqueue textarea').value = 'say <b>hello</b>')")
	p.press("Add prompt")
	p.sees("N was put in.")
	if got := took(t, filepath.Join(dir, "input")); got != "say <b>hello</b>" {
		t.Errorf("input %q", got)
	}
	p.do("void (document.querySelectorAll('.taskqueue input')[1].value = 'RQ-1')")
	p.press("Push requests")
	p.sees("RQ-1 is there already.")
	p.press("日本語")
	p.sees("プロンプトを追加")
	p.shot("queue-ja")
	p.clean()
}
