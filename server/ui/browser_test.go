package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"aiflow/editlock"
	"aiflow/internal/fault"
	"aiflow/server/ui/lockapi"
)

// These tests run the built library in a real browser: its Web Locks, its
// private file system, its ways of putting a tab away.

// clock is what all tabs and the server take for the time: real, plus what a
// test lets pass. It is told to the tabs by local storage, synchronously.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
	start time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) Boot() time.Duration { return c.Now().Sub(c.start) }

const blank = `<!doctype html><meta charset="utf-8"><title>lock</title><script type="module">
import * as lib from '/lib/locks.js';
const ahead = () => Number(localStorage.getItem('ahead') ?? 0);
const now = () => Date.now() + ahead();
window.lib = lib;
window.now = now;
window.events = [];
window.store = (kind) => kind === 'opfs' ? lib.opfsStore({ now }) : lib.httpStore('/api/project-lock');
window.open_ = (kind, webLocks) => {
  window.api = lib.createProjectLockApi({
    store: window.store(kind), now, monotonic: () => performance.now() + ahead(),
    ...(webLocks ? {} : { lockManager: null }),
  });
  window.api.subscribeLockEvents((e) => window.events.push(e.type.slice(5) + (e.info ? ' ' + e.info.reason : '')));
};
const told = (e) => ({ error: e.code ?? String(e), retryable: e.retryable, verdict: e.context?.verdict, cause: String(e.cause ?? '') });
window.acquire = async (opts) => {
  try { window.lease = await window.api.acquireProjectLock(opts); return { strategy: window.lease.strategy }; } catch (e) { return told(e); }
};
window.release = async () => { try { await window.api.releaseProjectLock(window.lease); return {}; } catch (e) { return told(e); } };
window.write = () => { try { window.lease.assertWritable(); return {}; } catch (e) { return told(e); } };
window.ready = true;
</script>`

// answer is what the page's own functions give.
type answer struct{ Strategy, Error, Verdict, Cause string }

type browser struct {
	t     *testing.T
	ctx   context.Context
	url   string
	clock *clock
}

func openBrowser(t *testing.T) *browser {
	path := needBrowser(t)
	b := &browser{t: t, clock: &clock{start: time.Now()}}
	b.url = b.serve()
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, flags...)
	t.Cleanup(cancel)
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(b.ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return b
}

func needBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return need(t, "chromium")
}

func (b *browser) serve() string {
	dir := filepath.Join(b.t.TempDir(), "project")
	fail := func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), fault.HTTPStatus(err))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /lib/", http.FileServerFS(Assets()))
	mux.Handle("/api/project-lock", http.StripPrefix("/api/project-lock",
		slash(lockapi.Record(editlock.Open(editlock.Options{Dir: dir, Clock: b.clock}), fail))))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(blank))
	})
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("elsewhere")) })
	s := httptest.NewServer(mux)
	b.t.Cleanup(s.Close)
	return s.URL
}

func slash(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/"
		h.ServeHTTP(w, r)
	})
}

// pass lets time pass for the server and for every tab.
func (b *browser) pass(any *tab, d time.Duration) {
	b.clock.mu.Lock()
	b.clock.ahead += d
	ahead := b.clock.ahead.Milliseconds()
	b.clock.mu.Unlock()
	any.do(fmt.Sprintf("localStorage.setItem('ahead', '%d')", ahead), nil)
}

type tab struct {
	b     *browser
	ctx   context.Context
	close context.CancelFunc
}

func (b *browser) open(store string, webLocks bool) *tab {
	b.t.Helper()
	t := &tab{b: b}
	t.ctx, t.close = chromedp.NewContext(b.ctx)
	b.t.Cleanup(t.close)
	t.run(chromedp.Navigate(b.url + "/"))
	t.until("window.ready === true")
	t.do(fmt.Sprintf("open_(%q, %v)", store, webLocks), nil)
	return t
}

func (t *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	t.b.t.Helper()
	if err := chromedp.Do(t.ctx, actions...); err != nil {
		t.b.t.Fatal(err)
	}
}

// call sends a command of the DevTools protocol.
func call[P, R any](t *tab, command cdp.Command[P, R], params P) {
	t.b.t.Helper()
	if _, err := chromedp.Call(t.ctx, command, params); err != nil {
		t.b.t.Fatal(err)
	}
}

func (t *tab) lifecycle(s page.SetWebLifecycleStateState) {
	t.b.t.Helper()
	call(t, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: s})
}

// until waits for js to be true, in the page: a tab in the background paints
// nothing that could be waited for.
func (t *tab) until(js string) {
	t.b.t.Helper()
	t.do(fmt.Sprintf("(async () => { while (!(%s)) await new Promise((r) => setTimeout(r, 10)); })()", js), nil)
}

// crash kills the tab's process and waits for the browser to notice.
func (t *tab) crash() {
	t.b.t.Helper()
	crashed := chromedp.Events(t.ctx, inspector.TargetCrashed)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	go func() { _, _ = chromedp.Call(ctx, page.Crash, cdp.Empty{}) }()
	for range crashed {
		return
	}
	t.b.t.Fatal("the tab did not crash")
}

func (t *tab) do(js string, into any) {
	t.b.t.Helper()
	code := fmt.Sprintf("(async () => JSON.stringify(await (%s) ?? null))()", js)
	text, err := chromedp.Run(t.ctx, chromedp.Evaluate[string](code, chromedp.EvalAwaitPromise))
	if err != nil {
		t.b.t.Fatal(err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.b.t.Fatalf("%s gave %s", js, text)
	}
}

func (t *tab) wants(js string, want answer) {
	t.b.t.Helper()
	var have answer
	t.do(js, &have)
	cause := have.Cause
	have.Cause = ""
	if have != want {
		t.b.t.Fatalf("%s: %+v (%s), want %+v", js, have, cause, want)
	}
}

func (t *tab) events() string {
	var words []string
	t.do("events.splice(0)", &words)
	return strings.Join(words, ", ")
}

func (t *tab) hears(want string) {
	t.b.t.Helper()
	if have := t.events(); have != want {
		t.b.t.Fatalf("heard %q, want %q", have, want)
	}
}

var (
	webLocked  = answer{Strategy: "web-lock"}
	fileLocked = answer{Strategy: "file-lock"}
	conflict   = answer{Error: "fallback-conflict", Verdict: "held"}
)

func holding(webLocks bool) answer {
	if webLocks {
		return webLocked
	}
	return fileLocked
}

func TestBrowserTwoTabs(t *testing.T) {
	b := openBrowser(t)
	for _, store := range []string{"opfs", "http"} {
		for _, first := range []bool{true, false} {
			for _, second := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, Web Locks %v and %v", store, first, second), func(t *testing.T) {
					one, two := b.open(store, first), b.open(store, second)
					defer one.close()
					defer two.close()
					one.wants("acquire()", holding(first))
					two.wants("acquire({retryLimit: 1})", conflict)
					one.wants("write()", answer{})
					one.wants("release()", answer{})
					two.wants("acquire()", holding(second))
					one.wants("write()", answer{Error: "lease-stale"})
					two.wants("release()", answer{})
				})
			}
		}
	}
}

func TestBrowserHeldAndPending(t *testing.T) {
	b := openBrowser(t)
	one := b.open("opfs", true)
	one.wants("acquire()", webLocked)
	var held []string
	one.do("navigator.locks.query().then((q) => q.held.map((l) => l.name + ' ' + l.mode))", &held)
	if fmt.Sprint(held) != "[imgponic:project exclusive]" {
		t.Fatal(held)
	}
	one.wants("release()", answer{})
	one.do("navigator.locks.query().then((q) => q.held.map((l) => l.name))", &held)
	if len(held) != 0 {
		t.Fatal(held)
	}
}

func TestBrowserTabCrash(t *testing.T) {
	b := openBrowser(t)
	for _, store := range []string{"opfs", "http"} {
		one, two := b.open(store, true), b.open(store, true)
		one.wants("acquire()", webLocked)
		one.crash()
		two.wants("acquire({retryLimit: 1})", conflict) // the record outlives the tab
		b.pass(two, 25*time.Second)
		two.wants("acquire()", webLocked) // the browser let go of the Web Lock itself
		two.wants("release()", answer{})
		two.close()
	}
}

func TestBrowserSteal(t *testing.T) {
	b := openBrowser(t)
	one, two := b.open("opfs", true), b.open("opfs", true)
	one.wants("acquire()", webLocked)
	one.events()
	two.do("void navigator.locks.request('imgponic:project', { steal: true }, () => new Promise(() => undefined))", nil)
	one.until("events.length > 0")
	one.hears("readonly-entered lease-stale")
	one.wants("write()", answer{Error: "lease-stale"})
}

func TestBrowserFreeze(t *testing.T) {
	b := openBrowser(t)
	for _, store := range []string{"opfs", "http"} {
		one, two := b.open(store, true), b.open(store, true)
		one.wants("acquire()", webLocked)
		one.events()
		one.lifecycle(page.SetWebLifecycleStateStateFrozen)
		two.wants("acquire({retryLimit: 1})", conflict)
		b.pass(two, 25*time.Second)
		two.wants("acquire()", fileLocked) // the frozen tab still has the Web Lock
		one.lifecycle(page.SetWebLifecycleStateStateActive)
		one.wants("write()", answer{Error: "lease-stale"})
		one.hears("readonly-entered lease-stale")
		two.wants("write()", answer{})
		two.wants("release()", answer{})
		one.close()
		two.close()
	}
}

func TestBrowserPageGoesAway(t *testing.T) {
	b := openBrowser(t)
	one, two := b.open("http", true), b.open("http", true)
	one.wants("acquire()", webLocked)
	one.run(chromedp.Navigate(b.url + "/elsewhere"))
	two.wants("acquire()", webLocked)
	two.wants("release()", answer{})
}

// A page from the back/forward cache has lost its lease and knows it.
func TestBrowserBackForwardCache(t *testing.T) {
	b := openBrowser(t)
	one := b.open("http", true)
	one.wants("acquire()", webLocked)
	one.events()
	one.run(chromedp.Navigate(b.url + "/elsewhere"))
	two := b.open("http", true)
	two.wants("acquire()", webLocked) // nothing was kept from others
	two.wants("release()", answer{})
	two.close()
	if !one.back() {
		t.Skip("this browser did not keep the page")
	}
	one.hears("release-requested, released, readonly-entered lease-stale")
	one.wants("write()", answer{Error: "lease-stale"})
	one.wants("acquire()", webLocked)
	one.wants("release()", answer{})
}

// back goes back in history; false when the page was loaded anew.
func (t *tab) back() (kept bool) {
	t.b.t.Helper()
	t.do("void setTimeout(() => history.back())", nil)
	const asked = "JSON.stringify([location.pathname, window.lease !== undefined])"
	for {
		have, err := chromedp.Run(t.ctx, chromedp.Evaluate[string](asked))
		if t.ctx.Err() != nil {
			t.b.t.Fatal(t.ctx.Err())
		}
		if err == nil && strings.HasPrefix(have, `["/",`) {
			return strings.HasSuffix(have, "true]")
		}
	}
}

// takeOver makes both tabs take over a record that is over, four at once each,
// round after round. It gives the first round that had not exactly one winner.
func takeOver(t *testing.T, b *browser, store, before string, rounds int) string {
	one, two := b.open(store, false), b.open(store, false)
	defer one.close()
	defer two.close()
	for _, tab := range []*tab{one, two} {
		tab.do("(() => {"+before+"})()", nil)
	}
	const claim = `(async (tab) => {
		const s = store('%s');
		const found = await s.read();
		if (!found || Date.parse(JSON.parse(found.text).expiresAt) > now()) return []; // too late: the other tab has it, or is writing it
		const at = (ms) => new Date(now() + ms).toISOString();
		const record = (id) => ({ version: 1, leaseId: id, ownerId: tab, strategy: 'file-lock', acquiredAt: at(0), expiresAt: at(30000), mtime: at(0), ttlSeconds: 30, beat: 1 });
		const ids = [1, 2, 3, 4].map((n) => tab + n + '-' + %d);
		const results = await Promise.all(ids.map((id) => s.put(record(id), found)));
		return ids.filter((_, i) => results[i]);
	})('%s')`
	one.do("acquire()", nil)
	for round := range rounds {
		b.pass(one, 35*time.Second)
		var won [2][]string
		var both sync.WaitGroup
		both.Go(func() { one.do(fmt.Sprintf(claim, store, round, "one"), &won[0]) })
		both.Go(func() { two.do(fmt.Sprintf(claim, store, round, "two"), &won[1]) })
		both.Wait()
		if len(won[0])+len(won[1]) != 1 {
			return fmt.Sprintf("round %d: %v", round, won)
		}
	}
	return ""
}

func TestBrowserTakeoverHasOneWinner(t *testing.T) {
	b := openBrowser(t)
	for _, store := range []string{"opfs", "http"} {
		if odd := takeOver(t, b, store, "", 25); odd != "" {
			t.Errorf("%s: %s", store, odd)
		}
	}
}

// A browser that does not know exclusive writing guards with a Web Lock.
func TestBrowserTakeoverWithoutExclusiveWriting(t *testing.T) {
	const old = `const p = FileSystemFileHandle.prototype, f = p.createWritable; p.createWritable = function () { return f.call(this); };`
	if odd := takeOver(t, openBrowser(t), "opfs", old, 25); odd != "" {
		t.Error(odd)
	}
}

// Negative control: where the guard only pretends to be exclusive, the race
// shows more than one winner.
func TestBrowserTakeoverNeedsTheGuard(t *testing.T) {
	const pretend = `const p = FileSystemFileHandle.prototype, f = p.createWritable; p.createWritable = function (o) { void o?.mode; return f.call(this); };`
	if odd := takeOver(t, openBrowser(t), "opfs", pretend, 100); odd == "" {
		t.Error("the race shows nothing: even without a guard there was always one winner")
	}
}

// The private file system has nothing but the record and its guard.
func TestBrowserFiles(t *testing.T) {
	b := openBrowser(t)
	one := b.open("opfs", true)
	const list = `(async () => { const names = []; const d = await (await navigator.storage.getDirectory()).getDirectoryHandle('project'); for await (const n of d.keys()) names.push(n); return names.sort(); })()`
	var names []string
	one.wants("acquire()", webLocked)
	one.do(list, &names)
	if fmt.Sprint(names) != "[.lock .lock.guard]" {
		t.Error(names)
	}
	one.wants("release()", answer{})
	one.do(list, &names)
	if fmt.Sprint(names) != "[.lock.guard]" {
		t.Error(names)
	}
}

// Storage that is full: no lock, and no empty record left behind.
func TestBrowserQuota(t *testing.T) {
	b := openBrowser(t)
	one := b.open("opfs", true)
	little := 1.0
	call(one, storage.OverrideQuotaForOrigin, storage.OverrideQuotaForOriginParams{Origin: b.url, QuotaSize: &little})
	one.wants("acquire({retryLimit: 1})", answer{Error: "acquire-timeout"})
	call(one, storage.OverrideQuotaForOrigin, storage.OverrideQuotaForOriginParams{Origin: b.url})
	one.wants("acquire()", webLocked)
	one.wants("release()", answer{})
}
