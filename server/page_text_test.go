package server

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	devtools "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A file of another encoding is shown without its text and with the reason; no
// key or address leads to an editor for it.
func TestPageGivesNoEditorForTextOfAnotherEncoding(t *testing.T) {
	latin := request("title: Latin\nstatus: ready\npriority: P1\n", "# Latin\ncaf\xe9\n")
	sjis := request("title: Sjis\nstatus: draft\npriority: P1\n", "\x83\x8d\x83\x4f\x83\x43\x83\x93\x82\xf0\x92\xbc\x82\xb7\n")
	w := newWorld(t, map[string]string{"requests/RQ-latin.md": latin, "requests/RQ-sjis.md": sjis})
	p := w.tab(openBrowser(t), "/requests/RQ-latin/edit")
	p.sees("probably ISO-8859-1")
	p.sees("REQUEST_NOT_UTF8")
	p.key("e")
	p.open("/requests/RQ-sjis/edit")
	p.sees("probably Shift_JIS")
	if p.do("document.querySelector('textarea')") != "null" || p.do("document.querySelector('[data-key=edit]')") != "null" {
		t.Error("there is an editor")
	}
	p.shot("textless")
	p.press("Set to ready")
	p.until("(await (await fetch('/api/requests/RQ-sjis/meta')).json()).meta.status === 'ready'")
	if got := w.read("requests/RQ-sjis.md"); got != strings.Replace(sjis, "draft", "ready", 1) || w.read("requests/RQ-latin.md") != latin {
		t.Errorf("%q", got)
	}
	p.clean()
}

func TestPageKeepsLineEnds(t *testing.T) {
	before := "---\r\ntitle: C\r\nstatus: ready\r\npriority: P1\r\n---\r\n\r\none\r\ntwo\nthree\r\nfour"
	w := newWorld(t, map[string]string{"requests/RQ-1.md": before})
	p := w.tab(openBrowser(t), "/requests/RQ-1/edit")
	p.until("document.activeElement.tagName === 'TEXTAREA'")
	p.write("!\nfive")
	p.saveState("saved")
	if got := w.read("requests/RQ-1.md"); got != before+"!\r\nfive" {
		t.Errorf("%q", got)
	}
	p.write("\nsix") // a head that changes below it is no conflict
	w.write("requests/RQ-1.md", strings.Replace(before, "title: C", "title: D", 1)+"!\r\nfive")
	p.saveState("saved")
	if got := w.read("requests/RQ-1.md"); got != strings.Replace(before, "title: C", "title: D", 1)+"!\r\nfive\r\nsix" {
		t.Errorf("%q", got)
	}
	p.clean()
}

// Somebody types without ever pausing, and the tab's process dies in the middle
// of it: what was typed is in the file but for the last seconds, and in the
// draft but for the last one.
func TestPageKeepsWhatIsTypedWithoutPause(t *testing.T) {
	w := newWorld(t, map[string]string{"requests/RQ-1.md": request("title: One\nstatus: ready\npriority: P1\n", "start")})
	browser := openBrowser(t)
	p := w.tab(browser, "/requests/RQ-1/edit")
	p.until("document.activeElement.tagName === 'TEXTAREA'")
	p.do(`void (() => { let n = 0; window.typing = setInterval(() => { const a = document.querySelector('textarea.text');
		a.focus(); a.setSelectionRange(a.value.length, a.value.length); document.execCommand('insertText', false, ' w' + ++n); }, 60); })()`)
	draft := "JSON.parse(Object.entries(localStorage).find(([k]) => k.startsWith('aiflow.draft.'))?.[1] ?? '{}').text"
	p.until("(" + draft + ")?.includes(' w5')")
	p.until("(await (await fetch('/api/requests/RQ-1')).json()).body_markdown.includes(' w20')")
	p.until("(" + draft + ")?.length > (await (await fetch('/api/requests/RQ-1')).json()).body_markdown.length")
	p.crash()

	again := w.tab(browser, "/requests/RQ-1/edit")
	again.sees("There is unsaved text")
	saved := "(await (await fetch('/api/requests/RQ-1')).json()).body_markdown"
	if text := again.do(saved); !strings.Contains(text, "start w1 w2") {
		t.Errorf("in the file: %s", text)
	}
	again.press("Recover it")
	again.until("document.querySelector('textarea.text').value.startsWith(" + saved + ")")
	if more := again.do("document.querySelector('textarea.text').value.length - " + saved + ".length"); strings.HasPrefix(more, "-") || more == "0" {
		t.Errorf("%s more characters than in the file", more)
	}
}

// crash kills the tab's process and waits for the browser to notice.
func (p *tab) crash() {
	p.t.Helper()
	crashed := chromedp.Events(p.ctx, inspector.TargetCrashed)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	go func() { _, _ = chromedp.Call(ctx, devtools.Crash, cdp.Empty{}) }()
	for range crashed {
		return
	}
	p.t.Fatal("the tab did not crash")
}
