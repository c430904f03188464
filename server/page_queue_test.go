package server

import (
	"encoding/json"
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
	p.sees("Queue")
	p.key("5")
	p.until("location.pathname === '/queue' && document.querySelectorAll('.task').length === 3")
	p.sees("it broke")
	p.sees("its runner is dead")
	p.sees("dead")
	if got := p.do("document.querySelectorAll('.task [data-key^=cancel]').length"); got != "1" {
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
	p.press("English")

	// A long prompt is opened whole, as text.
	whole := strings.Repeat("a long line ", 200) + "\n" + hostile
	data, err := json.Marshal(map[string]string{"namespace": "proj-1", "task_id": "B", "status": "RUNNING", "prompt": whole, "output": "said"})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "answer.show"), string(data))
	p.press("Open whole")
	p.until("document.querySelector('dialog[open] pre')?.textContent === " + quoted(whole))
	p.until("document.querySelectorAll('dialog[open] pre')[1].textContent === 'said'")
	p.shot("queue-whole")
	p.do("void document.querySelector('dialog .btn.primary').click()")
	p.clean()
}

const namespaceIs = "document.querySelector('[data-key=namespace]')?.value === "

// A namespace that is listed nowhere can be named, is remembered and has an
// address; a large one is shown in part, with what is left and how old it is.
func TestPageQueueNamespaces(t *testing.T) {
	browser := openBrowser(t)
	w, dir := queueWorld(t, "http://localhost:9")
	put(t, filepath.Join(dir, "answer.namespaces"), `{"items":[]}`)
	put(t, filepath.Join(dir, "answer.list.sh"), `case "$*" in *namespace=old*) echo '{"namespace":"old","items":[{"namespace":"old","task_id":"Z","task_group_id":"g","session_id":"s","status":"COMPLETE","prompt":"ended","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:01:00.000Z"}]}'; exit 0;; esac`)
	p := w.tab(browser, "/queue")
	p.until(namespaceIs + "'proj-1' && document.querySelectorAll('.task').length === 3")
	another := "void (() => { const s = document.querySelector('[data-key=namespace]'); s.focus(); s.value = '\\n'; s.dispatchEvent(new Event('change')); })()"
	p.do(another)
	p.until("document.activeElement.matches('dialog[open] input')")
	p.do("void document.execCommand('insertText', false, 'not a name')")
	p.do("void document.querySelector('dialog form').requestSubmit()")
	p.sees("1–32 letters")
	p.shot("queue-namespace")
	p.do("void (document.activeElement.focus(), document.querySelector('dialog input').value = 'old', document.querySelector('dialog form').requestSubmit())")
	p.until(namespaceIs + "'old' && document.querySelectorAll('.task').length === 1 && location.search === '?namespace=old'")
	p.open("/queue")
	p.until(namespaceIs + "'proj-1' && [...document.querySelectorAll('[data-key=namespace] option')].some((o) => o.value === 'old')")
	p.open("/queue?namespace=old&status=COMPLETE")
	p.until(namespaceIs + "'old' && document.querySelector('[data-key=status]').value === 'COMPLETE'")

	put(t, filepath.Join(dir, "answer.list"), manyTasks(1200))
	p.open("/queue")
	p.sees("Older tasks that are not shown: 1100.")
	p.until("document.querySelectorAll('.task').length === 100")
	p.press("Show more")
	p.until("document.querySelectorAll('.task').length === 400")
	p.sees("Older tasks that are not shown: 800.")
	p.sees("with so many tasks the queue is read every 2.4s.")
	p.shot("queue-many")
	took(t, filepath.Join(dir, "calls"))
	put(t, filepath.Join(dir, "answer.list"), manyTasks(3))
	p.press("Read now")
	p.until("document.querySelectorAll('.task').length === 3 && !document.querySelector('[data-key=again]')")
	p.clean()
}
