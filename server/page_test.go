package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	devtools "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"aiflow/server/ui"
)

// The page of aiflow in a real browser, with real runs behind it.

const maxBundle = 150_000 // bytes, compressed

func TestPageIsSmall(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, name := range []string{"index.html", "page.js", "page.css", "icon.svg"} {
		data, err := fs.ReadFile(ui.Assets(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil || b.Len() > maxBundle {
		t.Errorf("%d bytes, at most %d are wanted (%v)", b.Len(), maxBundle, err)
	}
}

// The page is sent packed to who takes that; each form has its own tag.
func TestAssetsArePacked(t *testing.T) {
	w := newWorld(t, nil)
	want, err := fs.ReadFile(ui.Assets(), "page.js")
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for accept, packed := range map[string]string{"identity": "", "gzip": "gzip", "br;q=1.0, gzip;q=0.5": "gzip", "gzip; q=0": "", "deflate, gzip;q=x": ""} {
		r := w.call(200, "GET", "/page.js", "", "Accept-Encoding", accept)
		h := r.header
		if h.Get("Content-Encoding") != packed || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", accept, h)
		}
		got := r.body
		if packed != "" {
			z, err := gzip.NewReader(bytes.NewReader(r.body))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = io.ReadAll(z); err != nil || len(r.body) > len(want)/2 {
				t.Errorf("%d of %d bytes, %v", len(r.body), len(want), err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%q: other bytes", accept)
		}
		tags[packed] = h.Get("ETag")
		w.call(304, "GET", "/page.js", "", "Accept-Encoding", accept, "If-None-Match", tags[packed])
	}
	if tags[""] == tags["gzip"] {
		t.Errorf("one tag for two forms: %v", tags)
	}
	w.call(200, "GET", "/page.js", "", "Accept-Encoding", "identity", "If-None-Match", tags["gzip"])
}

type tab struct {
	t     *testing.T
	w     *world
	ctx   context.Context
	close context.CancelFunc
}

// openBrowser gives t a profile of its own in the browser that all tests share.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	if theBrowser == nil {
		theBrowser = startBrowser(t)
	}
	ctx, cancel := context.WithTimeout(theBrowser, 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// theBrowser is started by the first test that needs it and ended by TestMain.
var (
	theBrowser  context.Context
	endsBrowser = func() {}
)

func startBrowser(t *testing.T) context.Context {
	t.Helper()
	bin := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if at, err := exec.LookPath(name); err == nil {
			bin = at
			break
		}
	}
	switch {
	case bin != "":
	case os.Getenv("CI") == "true":
		t.Fatal("chromium is missing")
	default:
		t.Skip("chromium is missing")
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(bin), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("lang", "en"),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	var err error
	for range 3 { // now and then it ends at once on a busy machine
		allocator, end := chromedp.NewExecAllocator(context.Background(), flags...)
		ctx, cancel := chromedp.NewContext(allocator)
		if err = chromedp.Do(ctx); err == nil {
			endsBrowser = func() { cancel(); end() }
			return ctx
		}
		cancel()
		end()
	}
	t.Fatalf("the browser does not start: %v", err)
	return nil
}

// watched notes what a page must never have: a script of strangers that ran,
// a breach of the policy, an error that nobody caught.
const watched = `window.odd = [];
addEventListener('securitypolicyviolation', (e) => odd.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI));
addEventListener('error', (e) => odd.push('error: ' + e.message));
addEventListener('unhandledrejection', (e) => odd.push('rejection: ' + e.reason));`

func (w *world) tab(browser context.Context, at string) *tab {
	t := w.t.(*testing.T)
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	tab := &tab{t, w, ctx, cancel}
	if _, err := chromedp.Call(ctx, devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{Source: watched}); err != nil {
		t.Fatal(err)
	}
	// A tab is focused only when the browser comes to it; without this a focus may not show yet.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	tab.size(1280, 900)
	tab.open(at)
	return tab
}

func (p *tab) open(at string) {
	p.t.Helper()
	sep := "?"
	if strings.Contains(at, "?") {
		sep = "&"
	}
	if err := chromedp.Do(p.ctx, chromedp.Navigate(p.w.ts.URL+at+sep+"token="+token)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) size(width, height int64) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		p.t.Fatal(err)
	}
}

// do gives the JSON of js.
func (p *tab) do(js string) string {
	p.t.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("(async () => JSON.stringify(await ("+js+") ?? null))()", chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return text
}

// until waits in the page: a tab in the background paints nothing that could
// be waited for.
func (p *tab) until(js string) {
	p.t.Helper()
	seen := p.do(`(async () => { for (const end = Date.now() + 120000; Date.now() < end;) {
		if (` + js + `) return ''; await new Promise((r) => setTimeout(r, 20)); }
		return document.title + ' ' + location.pathname + '\n' + document.body.innerText.slice(0, 3000); })()`)
	if seen != `""` {
		p.t.Fatalf("never: %s\n%s", js, strings.ReplaceAll(seen, `\n`, "\n"))
	}
}

func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (p *tab) sees(text string) {
	p.t.Helper()
	p.until("document.body.innerText.includes(" + quoted(text) + ")")
}

// press presses the button or link that says text, as soon as it is there.
func (p *tab) press(text string) {
	p.t.Helper()
	find := "[...document.querySelectorAll('button, a, summary')].find((e) => e.textContent.trim() === " + quoted(text) + " && e.checkVisibility())"
	p.until(find)
	p.do("void " + find + ".click()")
}

// key presses a key where the focus is.
func (p *tab) key(key string) {
	p.t.Helper()
	p.do("void document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: " + quoted(key) + ", bubbles: true, cancelable: true}))")
}

// write puts text at the end of the editor, as a person who types does.
func (p *tab) write(text string) {
	p.t.Helper()
	p.do(`void (() => { const a = document.querySelector('textarea.text'); a.focus(); a.setSelectionRange(a.value.length, a.value.length);
		document.execCommand('insertText', false, ` + quoted(text) + `); })()`)
}

func (p *tab) saveState(want string) {
	p.t.Helper()
	p.until("document.querySelector('.editor')?.dataset.state === " + quoted(want))
}

// shot keeps a picture for a person to look at.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		return
	}
	for _, look := range []struct {
		kind, theme   string
		width, height int64
	}{{"", "light", 1440, 900}, {"-dark", "dark", 1440, 900}, {"-tablet", "light", 1024, 768}, {"-phone", "light", 390, 844}, {"-phone-dark", "dark", 390, 844}} {
		p.size(look.width, look.height)
		p.do("void (document.documentElement.dataset.theme = " + quoted(look.theme) + ")")
		data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+look.kind+".png"), data, 0o644)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		if wide := p.do("document.documentElement.scrollWidth > innerWidth + 1"); wide == "true" {
			p.t.Errorf("%s%s is wider than its window", name, look.kind)
		}
	}
	p.size(1280, 900)
	p.do("void (document.documentElement.dataset.theme = 'auto')")
}

func (p *tab) clean() {
	p.t.Helper()
	if odd := p.do("odd"); odd != "[]" {
		p.t.Errorf("in the page: %s", odd)
	}
	if p.do("typeof window.pwned") != `"undefined"` {
		p.t.Error("a script of strangers ran")
	}
	if out := p.do("performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin + '/'))"); out != "[]" {
		p.t.Errorf("asked others for %s", out)
	}
}

const hostile = `<img src=x onerror=window.pwned=1><script>window.pwned=1</script>`

func walkFiles() map[string]string {
	step := "steps:\n  - title: 'Write <b>out</b>'\n    run: |\n" +
		"      printf '\\033[31mred\\033[0m \\033]0;title\\007" + hostile + "\\n'\n" +
		"      echo '" + hostile + "' > 'out <b>.html'\n" +
		"      echo go > \"$AIFLOW_ROOT/gate\"\n" +
		"      test -f fix.txt || { echo 'fix.txt is missing' >&2; exit 3; }\n"
	return map[string]string{
		".gitignore": "runs/\n.aiflow/\ngate\n",
		"requests/RQ-1.md": request("title: '"+hostile+" first'\npriority: P0\nstatus: ready\nlabels: [ui, <b>x</b>]\nupdated_at: 2026-01-02\n"+step,
			"# Head\n\n"+hostile+"\n\n[bad](javascript:window.pwned=1) and [good](https://example.invalid/)\n\n![i](https://example.invalid/x.png)\n\n- [x] done\n- [ ] open\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```sh\nmake test\n```\n"),
		"requests/RQ-2.md": request("title: The second one\npriority: P1\nstatus: ready\ndepends_on: [RQ-1]\nsteps:\n  - title: Nothing\n    run: 'true'\n", "Text\n"),
		"requests/RQ-3.md": request("title: Broken\nstatus: nonsense\n", ""),
		"requests/RQ-4.md": request("title: 下書きの長いタイトルで、表示がどうなるかを見るためのもの\npriority: P2\nstatus: draft\nlabels: [docs]\ndepends_on: [RQ-2]\n", "本文\n"),
	}
}

func TestPageWalk(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, walkFiles())
	w.gate()
	one, two := w.tab(browser, "/"), w.tab(browser, "/")

	// The list: what is next, and why the others are not.
	one.until("document.querySelectorAll('.rq').length === 4")
	one.until("document.querySelector('.rq.next .id')?.textContent === 'RQ-1'")
	one.sees(hostile + " first")
	one.sees("waits for RQ-1")
	one.sees("requests/RQ-3.md:3")
	one.shot("list")
	two.until("document.querySelectorAll('.rq').length === 4")

	// Open by keyboard, edit, save by itself.
	one.key("j")
	one.until("document.activeElement.className === 'title'")
	one.do("void document.activeElement.click()")
	one.until("location.pathname === '/requests/RQ-1' && document.querySelector('.md h2')?.textContent === 'Head'")
	one.until("document.querySelector('.md .deadlink')?.textContent === 'bad'")
	one.until("[...document.querySelectorAll('li .small-head')].map((e) => e.textContent).join() === 'Command'")
	one.shot("request")
	one.key("e")
	one.until("document.activeElement.tagName === 'TEXTAREA'")
	one.write("\nwritten in tab one\n")
	one.saveState("saved")
	one.sees("Saved ")
	if text := w.read("requests/RQ-1.md"); !strings.Contains(text, "\nwritten in tab one\n") {
		t.Errorf("not saved: %s", text)
	}
	one.shot("editor")

	// A second tab may not write meanwhile, and says why; then it may.
	two.open("/requests/RQ-1/edit")
	two.until("document.querySelector('textarea.text')?.value.includes('written in tab one')")
	two.write("from tab two\n")
	two.saveState("readonly")
	two.sees("another tab, browser or command is editing")
	two.until("document.querySelector('.save').textContent === 'Read-only'")
	two.until("document.querySelector('textarea.text').readOnly")
	two.shot("readonly")
	one.press("Done editing")
	two.press("Try again")
	two.saveState("saved")
	if text := w.read("requests/RQ-1.md"); !strings.Contains(text, "written in tab one\nfrom tab two\n") {
		t.Errorf("not saved: %s", text)
	}

	// The file changes below an editor that has unsaved text: a conflict.
	two.write("mine\n")
	w.write("requests/RQ-1.md", strings.Replace(w.read("requests/RQ-1.md"), "from tab two", "from vim", 1))
	two.saveState("conflict")
	two.until("[...document.querySelectorAll('.sides .tx')].map((e) => e.className + ' ' + e.textContent).join().includes('tx old from vim,tx new from tab two,')")
	two.until("[...document.querySelectorAll('.sides .dr.add .tx.new')].map((e) => e.textContent).join() === 'mine'")
	two.shot("conflict")
	two.press("Keep mine")
	two.saveState("saved")
	if text := w.read("requests/RQ-1.md"); !strings.Contains(text, "from tab two\nmine\n") {
		t.Errorf("not saved: %s", text)
	}
	two.press("History")
	two.until("[...document.querySelectorAll('.history pre')].some((e) => e.textContent.includes('from vim'))")
	two.press("Done editing")

	// Run, and watch; a second start leads to the run that is in the way.
	one.press("Run")
	one.until("/^.requests.RQ-1.runs.RUN-/.test(location.pathname)")
	one.until("document.querySelector('.log-text')?.textContent.includes('red " + hostile + "')")
	one.until("document.querySelector('.log-text .c-red')?.textContent === 'red'")
	one.sees("Locks held")
	one.shot("run")
	two.until("document.body.innerText.includes('Watch the run')")
	two.key("r")
	two.answerDialog("Run") // one stray key starts nothing
	two.until("location.pathname.startsWith('/requests/RQ-1/runs/')")
	two.sees("This is the run that is in the way.")
	w.openGate()

	// It needs a person: the reason stands first. Fix, resume, done.
	one.until("document.querySelector('.reason .code-name')?.textContent === 'STEP_COMMAND_FAILED'")
	one.shot("needs-input")
	one.press("Diff")
	one.until("document.querySelector('.kept h3')?.textContent === 'Not committed: S01, attempt 1'")
	one.until("document.querySelector('.kept .file-name')?.textContent === 'out <b>.html'")
	w.write(".aiflow/worktrees/RQ-1/fix.txt", "fixed\n")
	one.press("Resume")
	one.answerDialog("Resume")
	go func() { _, _ = os.ReadFile(w.path("gate")) }() // should the command be done again
	one.sees("Merge the branch to finish the request")
	one.shot("done")
	one.press("Diff")
	one.until("[...document.querySelectorAll('.file-name')].map((e) => e.textContent).join() === 'fix.txt,out <b>.html'")
	one.until("[...document.querySelectorAll('.tx.new')].some((e) => e.textContent.includes(" + quoted(hostile) + "))")
	one.shot("diff")
	one.press("Report")
	one.until("document.querySelector('.tab-body .md')")
	one.shot("report")
	one.press("Timeline")
	one.until("document.querySelector('svg.timeline .bar')")
	one.shot("timeline")
	one.press("Logs")
	one.until("document.querySelector('.log-fold')")
	one.clean()

	// The merge makes the next request next, by itself.
	two.press("Requests")
	two.until("document.querySelector('.rq .plain .chip')")
	branch := one.do("document.querySelector('.branch code').textContent")
	w.git("merge", "-q", "--no-edit", strings.Trim(branch, `"`))
	two.until("document.querySelector('.rq.next .id')?.textContent === 'RQ-2'")
	two.shot("list-after")

	// Graph, auto-run, doctor.
	two.key("2")
	two.until("document.querySelectorAll('.node').length === 4")
	two.shot("graph")
	two.key("3")
	two.press("Start")
	two.until("document.querySelector('.card.reason')")
	two.until("document.querySelector('.counter.good b')?.textContent === '1'")
	two.shot("autorun")
	two.key("4")
	two.until("document.querySelectorAll('.checks li').length > 5")
	two.shot("doctor")
	two.press("日本語")
	two.until("document.documentElement.lang === 'ja'")
	two.sees("簡易診断")
	two.until("[...document.querySelectorAll('.doctor .chip')].map((c) => c.textContent).includes('警告') && !document.querySelector('.doctor').innerText.includes('WARN')")
	two.shot("doctor-ja")
	two.key("1")
	two.sees("次を実行")
	two.shot("list-ja")
	two.key("n")
	two.until("document.querySelector('dialog[open] input')")
	two.do("void (document.querySelector('dialog input').value = '新しいリクエスト')")
	two.shot("new-ja")
	two.do("void document.querySelector('dialog input').focus()")
	two.enter()
	two.until("/^.requests.RQ-/.test(location.pathname) && document.querySelector('h1')?.textContent === '新しいリクエスト'")
	two.shot("request-ja")

	// An address where nothing is says so, and leads home; who asks for no page gets none.
	two.open("/nothing/here")
	two.until("document.querySelector('.missing h1')?.textContent === 'このアドレスには何もありません。'")
	two.shot("missing-ja")
	two.do("void document.querySelector('.missing [data-key=home]').click()")
	two.until("location.pathname === '/' && document.querySelector('.rq')")
	for accept, want := range map[string]bool{"text/html,application/xhtml+xml,*/*;q=0.8": true, "*/*": false} {
		if got := w.call(404, "GET", "/nothing/here", "", "Accept", accept); strings.Contains(string(got.body), "/page.js") != want {
			t.Errorf("%s: %s", accept, got.body)
		}
		w.call(404, "GET", "/api/nothing", "", "Accept", accept).wants("error.reason_code", "NOT_FOUND")
	}
	two.clean()
	w.idle()
}

// Ten thousand rows: few are drawn, wherever one looks.
func TestPageManyRows(t *testing.T) {
	browser := openBrowser(t)
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf("requests/RQ-%05d.md", i)] = request(fmt.Sprintf("title: Number %d\npriority: P%d\nstatus: ready\n", i, i%4), "")
	}
	w := newWorld(t, files)
	p := w.tab(browser, "/")
	p.until("document.querySelectorAll('.rq').length > 10")
	p.do("void scrollTo(0, 5000 * 40)")
	p.until("[...document.querySelectorAll('.rq')].some((e) => e.ariaPosInSet === '5001')")
	if n := p.do("document.querySelectorAll('.rq').length"); len(n) > 2 {
		t.Errorf("%s rows are drawn", n)
	}
	const sixtyFrames = `(async () => { const worst = []; let at = performance.now();
		for (let i = 1; i <= 60; i++) { scrollTo(0, i * 9000); await new Promise((r) => requestAnimationFrame(r)); worst.push(Math.round(performance.now() - at)); at = performance.now(); }
		return worst.sort((a, b) => a - b)[30]; })()`
	t.Logf("half of the frames while scrolling took at most %s ms", p.do(sixtyFrames))
	p.do("void scrollTo(0, 0)")

	// One changed request is sent, not the list; and one has changed its place, though a thousand slid.
	change := func(n int) {
		t.Helper()
		w.write(fmt.Sprintf("requests/RQ-%05d.md", n), request(fmt.Sprintf("title: Changed %d\npriority: P0\nstatus: ready\n", n), ""))
	}
	p.do("void performance.clearResourceTimings()")
	change(1)
	p.sees("Changed 1")
	const received = "performance.getEntriesByType('resource').reduce((sum, e) => sum + e.transferSize, 0)"
	if got, err := strconv.Atoi(p.do(received)); err != nil || got == 0 || got > 200_000 {
		t.Errorf("%d bytes for one changed request, at most 200000 are wanted (%v)", got, err)
	}
	p.key("j")
	change(2)
	p.press("1 changed – show the new order")
	p.sees("Changed 2")
	p.key("/")
	p.do("void document.execCommand('insertText', false, 'number 9999')")
	p.until("document.querySelectorAll('.rq').length === 1 && location.search === '?q=number+9999'")
	p.until("document.querySelector('.rq').getBoundingClientRect().bottom < innerHeight") // it is seen
	p.clean()
}

// One stream for all tabs: the next tab reads it when the first one goes, and
// the page comes back by itself when the server does.
func TestPageComesBack(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{"requests/RQ-1.md": request("title: First\nstatus: ready\n", "")})
	one, two := w.tab(browser, "/"), w.tab(browser, "/")
	shows := func(title string) string {
		return "[...document.querySelectorAll('.rq .title')].some((e) => e.textContent === " + quoted(title) + ")"
	}
	one.until(shows("First"))
	two.until(shows("First"))
	w.write("requests/RQ-2.md", request("title: Second\nstatus: ready\n", ""))
	one.until(shows("Second"))
	two.until(shows("Second"))
	w.s.mu.Lock()
	if w.s.open.Load() != 1 {
		t.Errorf("%d streams for one browser", w.s.open.Load())
	}
	w.s.mu.Unlock()
	one.close()
	w.write("requests/RQ-3.md", request("title: Third\nstatus: ready\n", ""))
	two.until(shows("Third"))
	editor := w.tab(browser, "/requests/RQ-1/edit")
	editor.until("document.activeElement.tagName === 'TEXTAREA'")

	if err := w.ts.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	w.ts.CloseClientConnections()
	two.sees("No connection since")
	two.shot("lost")
	editor.do("void document.execCommand('insertText', false, 'typed meanwhile')")
	editor.sees("Read-only: ")
	two.press("Doctor")
	two.until("document.querySelector('.doctor .reason h2')?.textContent === 'The server does not answer.'")
	two.press("Requests") // what was read of the list stays
	two.until(shows("Third"))
	two.press("Doctor")
	w.write("requests/RQ-4.md", request("title: Fourth\nstatus: ready\n", ""))
	w.again()
	two.press("Try now")
	two.until("document.querySelector('.check')") // what could not be read is read now
	two.press("Requests")
	two.until(shows("Fourth"))
	two.until("!document.body.innerText.includes('No connection since')")
	two.clean()
	// Who typed meanwhile is the writer again.
	editor.until("(await (await fetch('/api/requests/RQ-1')).json()).body_markdown.includes('typed meanwhile') && !document.querySelector('textarea').readOnly")
	// Who goes to another tab writes there.
	turn := func(p *tab, to string) {
		p.do("void (Object.defineProperty(document, 'visibilityState', {value: '" + to + "', configurable: true}), document.dispatchEvent(new Event('visibilitychange')))")
	}
	turn(editor, "hidden")
	other := w.tab(browser, "/requests/RQ-2/edit")
	other.until("document.activeElement.tagName === 'TEXTAREA'")
	other.do("void document.execCommand('insertText', false, 'typed there')")
	other.until("(await (await fetch('/api/requests/RQ-2')).json()).body_markdown.includes('typed there')")
	turn(other, "hidden")
	turn(editor, "visible")
	editor.do("void document.execCommand('insertText', false, 'and here')")
	editor.until("(await (await fetch('/api/requests/RQ-1')).json()).body_markdown.includes('and here')")
}

// again serves the same project at the same address, as after a restart.
func (w *world) again() {
	w.t.Helper()
	l, err := net.Listen("tcp", w.ts.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := New(w.s.Options)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ctx, l)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-served
		s.surveying.Lock()
	})
}

// While something runs: the banner, the badge, a log that is followed only by
// who stands at its end, a stop, and text that outlives its tab.
func TestPageWhileRunning(t *testing.T) {
	browser := openBrowser(t)
	loop := "i=0; while [ $i -lt %d ]; do echo %s $i; i=$((i+1)); done; "
	gate := "echo go > \"$AIFLOW_ROOT/gate\"; "
	last := "echo go > \"$AIFLOW_ROOT/gate2\"" // nobody opens it
	w := newWorld(t, map[string]string{
		".gitignore": "runs/\n.aiflow/\ngate*\n",
		"requests/RQ-1.md": request("title: Talks\npriority: P0\nstatus: ready\nsteps:\n  - title: Talk\n    run: "+
			quoted(fmt.Sprintf(loop, 400, "line")+gate+fmt.Sprintf(loop, 100, "more")+last)+"\n  - title: Later\n    run: 'true'\n", "Text\n"),
		"requests/RQ-2.md": request("title: Waits\npriority: P1\nstatus: draft\ndepends_on: [RQ-1]\n", ""),
	})
	w.gate()
	if err := syscall.Mkfifo(w.path("gate2"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.tab(browser, "/")
	atEnd := "document.querySelector('.log-end').getBoundingClientRect().bottom <= innerHeight + 60"
	p.press("Run next")
	p.until("document.querySelector('.log-text')?.textContent.includes('line 399')")
	p.until(atEnd)
	p.do("void scrollTo(0, 0)")
	p.until("scrollY === 0 && !(" + atEnd + ")")
	w.openGate()
	p.until("document.querySelector('.jump')?.textContent === 'new lines: 100 ↓'")
	if y := p.do("scrollY"); y != "0" {
		t.Errorf("the page moved by itself to %s", y)
	}
	p.press("new lines: 100 ↓")
	p.until(atEnd + " && document.querySelector('.log-text').textContent.includes('more 99')")
	p.shot("log")

	p.open("/")
	p.sees("The queue is running")
	p.until("[...document.querySelectorAll('.rq .state .chip')].some((c) => c.textContent === 'running')")
	p.until("document.querySelector('.lane.next .last-line')?.textContent === 'more 99'")
	p.until("document.querySelector('.lane.next .card-more').innerText.includes('step 1/2 Talk') && document.querySelector('.lane.next .btn')?.textContent === 'Stop this run now'")
	p.shot("running")
	p.open("/autorun")
	p.until("document.querySelector('h1')?.textContent === 'Auto-run'")
	p.open("/requests/RQ-2/edit")
	p.until("document.activeElement.tagName === 'TEXTAREA'")
	p.write("never saved")
	p.until("Object.entries(localStorage).some(([k, v]) => k.startsWith('aiflow.draft.') && v.includes('never saved'))")
	p.do("void document.querySelector('.editor').remove()")
	saved := "(await (await fetch('/api/requests/RQ-2')).json()).body_markdown"
	lost := w.tab(browser, "/doctor") // the first tab is gone with its text
	p.close()
	if text := lost.do(saved); strings.Contains(text, "never saved") {
		t.Skip("the machine was so slow that it was saved")
	}
	lost.sees("aiflow run stop RUN-")
	if got := lost.do("document.body.innerText.includes('--force')"); got != "false" {
		t.Error("it is offered to take the lock from who is at work")
	}
	lost.open("/requests/RQ-2/edit")
	lost.sees("There is unsaved text")
	lost.shot("recover")
	lost.press("Recover it")
	lost.until("document.querySelector('textarea.text').value.includes('never saved')")

	lost.open("/")
	lost.press("Open the run")
	lost.press("Stop this run now")
	lost.until("document.querySelector('.chip.ask')?.textContent === 'interrupted'")
	lost.sees("It was stopped as asked. Nothing is lost: Resume goes on")
	lost.until("document.querySelector('.step .chip')?.textContent === 'interrupted'")
	lost.shot("interrupted")
	lost.clean()
	w.idle()
}
