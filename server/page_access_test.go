package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// pale gives the texts whose contrast with what is behind them is below 4.5
// (3 for large ones), by the rules of WCAG 2.
const pale = `(() => {
	const rgb = (c) => { const f = c.startsWith('color(') ? 255 : 1; const n = c.match(/[\d.e-]+/g)?.map(Number) ?? []; return [n[0] * f, n[1] * f, n[2] * f, n[3] ?? 1]; };
	const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => { const layers = []; for (let at = e; at; at = at.parentElement) { const c = rgb(getComputedStyle(at).backgroundColor); layers.push(c); if (c[3] === 1) break; } return layers.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]); };
	const bad = new Set();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement;
		if (!n.nodeValue.trim() || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || e.closest('svg, [aria-busy=true], .told, .skip, option, script, style')) continue;
		const s = getComputedStyle(e), back = behind(e), [a, b] = [light(over(rgb(s.color), back)), light(back)];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && Number(s.fontWeight) >= 700);
		if (ratio < (large ? 3 : 4.5)) bad.add(e.className + ' "' + n.nodeValue.trim().slice(0, 30) + '" ' + ratio.toFixed(2));
	}
	return [...bad];
})()`

// reachable are the controls that a keyboard must come to.
const reachable = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((e) => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }) && !e.closest('[inert]'))`

func (p *tab) hitKey(key string, code int64) {
	p.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Code: key, WindowsVirtualKeyCode: code}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// enter presses Enter as a person does: the browser sends the form where the focus is.
func (p *tab) enter() {
	p.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// tabThrough presses Tab through the whole page and notes which controls it
// came to and which of them did not show the focus.
func (p *tab) tabThrough(view string) {
	p.t.Helper()
	for range 10 {
		p.do("void (window.came = new Set(), window.blind = [], document.activeElement?.blur(), scrollTo(0, 0), getSelection().removeAllRanges(), " + reachable + ".forEach((e, i) => e.dataset.at = i))")
		var want int
		_ = json.Unmarshal([]byte(p.do(reachable+".length")), &want)
		for range want + 8 {
			p.hitKey("Tab", 9)
			// The key is told before the page knows whether its focus is to be shown.
			p.do(`(async () => { for (let tries = 0; tries < 200; tries++) {
			const e = document.activeElement; if (!e || e === document.body) return; came.add(e.dataset.at);
			const s = getComputedStyle(e), r = e.querySelector('rect'), shown = (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2) || (r && e.matches('svg *') && parseFloat(getComputedStyle(r).strokeWidth) >= 4);
			if (shown) return;
			await new Promise((r) => setTimeout(r, 10)); }
			blind.push(document.activeElement.outerHTML.slice(0, 120)); })()`)
		}
		// What the page painted meanwhile has no number: that is another page to go through.
		if p.do(reachable+".every((e) => 'at' in e.dataset)") == "true" {
			break
		}
	}
	if missed := p.do(reachable + ".filter((e) => !came.has(e.dataset.at)).map((e) => e.outerHTML.slice(0, 120))"); missed != "[]" {
		p.t.Errorf("%s: the keyboard does not reach %s", view, missed)
	}
	if blind := p.do("[...new Set(blind)]"); blind != "[]" {
		p.t.Errorf("%s: no visible focus on %s", view, blind)
	}
}

// twice gives the names that more than one button has; the bar of a run says again what is below.
const twice = "(() => { const all = [...document.querySelectorAll('main :is(.btn, .toggle)')].filter((e) => e.checkVisibility() && !e.closest('.spine')).map((e) => e.ariaLabel ?? e.textContent); return all.filter((x, i) => all.indexOf(x) !== i); })()"

// nameless gives the controls that a screen reader has no name for.
func (p *tab) nameless() []string {
	p.t.Helper()
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		p.t.Fatal(err)
	}
	var bad []string
	for _, n := range tree.Nodes {
		role, name := "", ""
		if n.Role != nil {
			_ = json.Unmarshal(n.Role.Value, &role)
		}
		if n.Name != nil {
			_ = json.Unmarshal(n.Name.Value, &name)
		}
		switch role {
		case "button", "link", "textbox", "searchbox", "combobox", "checkbox", "spinbutton", "progressbar", "dialog", "navigation", "DisclosureTriangle":
			if !n.Ignored && strings.TrimSpace(name) == "" {
				bad = append(bad, fmt.Sprintf("%s %d", role, n.BackendDOMNodeID))
			}
		}
	}
	return bad
}

// axe gives the source of axe-core; "" where npm ci has not brought it.
func axe(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("ui", "node_modules", "axe-core", "axe.min.js"))
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("no axe-core: run npm ci in server/ui")
	}
	return string(data)
}

// violates lets axe-core look at a view, and reports what it finds. Another theme changes
// only colours, and needs only what looks at these.
func (p *tab) violates(source, view string) {
	p.t.Helper()
	if source == "" {
		return
	}
	if p.do("typeof axe") == `"undefined"` {
		p.do("void (() => {" + source + "})()")
	}
	found := p.do(`axe.run(document, {resultTypes: ['violations'], preload: false}).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150)).join(' | ')))`)
	if found != "[]" {
		p.t.Errorf("%s: axe: %s", view, found)
	}
}

// Every view: each control is reached with Tab, shows the focus and has a
// name; each text can be told from what is behind it, light and dark.
func TestPageAccessible(t *testing.T) {
	browser := openBrowser(t)
	w, _ := queueWorld(t, "http://localhost:9")
	w.write("requests/RQ-7.md", request("title: Ring\npriority: P1\nstatus: ready\ndepends_on: [RQ-8]\n", ""))
	w.write("requests/RQ-8.md", request("title: Ring\npriority: P1\nstatus: ready\ndepends_on: [RQ-7]\n", ""))
	w.write("requests/RQ-9.md", steps("Fails", "P0", "echo one > one.txt; echo broken >&2", "echo no >&2; exit 3"))
	w.git("add", ".")
	w.git("commit", "-q", "-m", "more")
	source := axe(t)
	p := w.tab(browser, "/requests/RQ-9")
	p.press("Run")
	p.until(needsInput)
	run := strings.Trim(p.do("location.pathname"), `"`)
	for _, v := range []struct{ at, ready, also string }{
		{"/", "document.querySelector('.rq')", ""},
		{"/requests/RQ-1", "document.querySelector('.md')", ""},
		{"/requests/RQ-1/edit", "document.querySelector('textarea.text')", ""},
		{run, "document.querySelector('.log-text')", "void document.querySelector('[data-key=find]').click()"},
		{run + "/diff", "document.querySelector('.file')", ""},
		{run + "/report", "document.querySelector('.tab-body .md')", ""},
		{run + "/logs", "document.querySelector('.log-fold')", ""},
		{run + "/timeline", "document.querySelector('.timeline')", ""},
		{"/graph", "document.querySelector('.ring .node')", ""},
		{"/land", "document.querySelector('.landing p strong')", ""},
		{"/autorun", "document.querySelector('[data-key=start]')", ""},
		{"/doctor", "document.querySelector('.check')", ""},
		{"/queue", "document.querySelector('.task')", ""},
		{"/nothing/here", "document.querySelector('.missing')", ""},
	} {
		p.open(v.at)
		p.until(v.ready)
		if v.also != "" {
			p.do(v.also)
		}
		if bad := p.nameless(); len(bad) > 0 {
			t.Errorf("%s: nameless: %v", v.at, bad)
		}
		if bad := p.do(twice); bad != "[]" {
			t.Errorf("%s: buttons of one name: %s", v.at, bad)
		}
		for _, theme := range []string{"light", "dark"} {
			p.do("void (document.documentElement.dataset.theme = " + quoted(theme) + ")")
			if bad := p.do(pale); bad != "[]" {
				t.Errorf("%s, %s: pale: %s", v.at, theme, bad)
			}
		}
		p.tabThrough(v.at)
		p.do("void (document.documentElement.dataset.theme = 'light')")
		p.violates(source, v.at+", en, light")
		p.do("void document.querySelector('[data-key=lang]').click()") // the view is made anew, the page is not loaded
		p.until("document.documentElement.lang === 'ja' && (" + v.ready + ")")
		if v.also != "" {
			p.do(v.also)
		}
		p.do("void (document.documentElement.dataset.theme = 'dark')")
		p.violates(source, v.at+", ja, dark")
		p.do("void localStorage.setItem('aiflow.lang', 'en')")
	}
	p.clean()
	w.idle()
}

// Who wants no motion gets none.
func TestPageWithoutMotion(t *testing.T) {
	w := newWorld(t, nil)
	p := w.tab(openBrowser(t), "/doctor")
	p.until("document.querySelector('.btn.primary')")
	moves := "(document.querySelector('.btn.primary').setAttribute('aria-busy', 'true'), getComputedStyle(document.querySelector('.btn.primary'), '::after').animationName)"
	if got := p.do(moves); got != `"turn"` {
		t.Errorf("with motion: %s", got)
	}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		t.Fatal(err)
	}
	if got := p.do(moves); got != `"none"` {
		t.Errorf("without motion: %s", got)
	}
}
