package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/network"
	devtools "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"aiflow/project/serving"
	"aiflow/reqmeta/reqgen"
)

const (
	pageRounds = 7 // at most: each needs seconds
	diffFiles  = 355
	waitSeen   = 60 * time.Second
)

// pages times what somebody waits for in a browser: rows on an empty cache, a file
// that changed, a large diff; the first and last beside a static page of the same rows and lines.
func (b *bench) pages(ns []int) error {
	run, serve := b.bin("aiflow-run"), b.bin("aiflow-serve")
	chromium, err := exec.LookPath("chromium")
	if run == "" || serve == "" || err != nil {
		head("aiflow-run or aiflow-serve is not built, or chromium is missing")
		return nil
	}
	for _, n := range ns {
		if err := b.pagesOf(n, run, serve, chromium); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) pagesOf(n int, run, serve, chromium string) error {
	dir := filepath.Join(b.work, "page-"+strconv.Itoa(n))
	at, diff, err := b.pageProject(dir, n, run)
	if err != nil {
		return err
	}
	ours, token, end, err := served(serve, dir)
	if err != nil {
		return err
	}
	defer end()
	static, err := staticPages(map[string]string{"/rows": staticRows(b.seed, n), "/diff": "<!doctype html><meta charset=utf-8><pre>" + html.EscapeString(diff) + "</pre>"})
	if err != nil {
		return err
	}
	browser, closeBrowser := newBrowser(chromium)
	defer closeBrowser()
	key := "?token=" + token
	jobs := []struct {
		name, promise string
		against       int
		take          func(i int) (time.Duration, error)
	}{
		{"a static page of the same rows", "", -1, func(int) (time.Duration, error) { return cold(browser, static+"/rows", "tr") }},
		{"the list, cold", "600 ms", 0, func(int) (time.Duration, error) { return cold(browser, ours+"/"+key, ".rq") }},
		{"a static page of the same diff", "", -1, func(int) (time.Duration, error) { return cold(browser, static+"/diff", "pre") }},
		{fmt.Sprintf("a diff of %d files, cold", diffFiles), "1.2x", 2, func(int) (time.Duration, error) { return cold(browser, ours+at+"/diff"+key, ".dr") }},
		{"its tab pressed on the run's page", "500 ms", 2, func(int) (time.Duration, error) { return pressed(browser, ours+at+key, "/diff", ".dr") }},
		{"a file that changed", "300 ms", -1, func(i int) (time.Duration, error) { return changed(browser, ours+"/"+key, dir, i) }},
	}
	times := make([][]took, len(jobs))
	for i := range min(b.runs, pageRounds) + 1 {
		for j, job := range jobs {
			d, err := job.take(i)
			if err != nil {
				return fmt.Errorf("%s: %w", job.name, err)
			}
			if i > 0 { // the first round warms up
				times[j] = append(times[j], took{wall: d})
			}
		}
	}
	head(fmt.Sprintf("The page with %d requests, in %s", n, filepath.Base(chromium)))
	for j, job := range jobs {
		r, ratio := summary(times[j], nil), ""
		if job.against >= 0 {
			ratio = fmt.Sprintf("%.2fx", float64(r.median)/float64(summary(times[job.against], nil).median))
		}
		row(job.name, ms(r.median), ms(r.least), ratio, job.promise)
	}
	return nil
}

// pageProject has n requests and a finished run of many files: at is its address, diff what it changed.
func (b *bench) pageProject(dir string, n int, run string) (at, diff string, err error) {
	if err := reqgen.Write(filepath.Join(dir, "requests"), b.seed, n); err != nil {
		return "", "", err
	}
	command := fmt.Sprintf("for i in $(seq %d); do mkdir -p d$((i %% 10)); seq $((i * 7)) $((i * 7 + 140)) > d$((i %% 10))/f$i.txt; done", diffFiles)
	for name, text := range map[string]string{
		".gitignore":             "runs/\n.aiflow/\n",
		".aiflow/config.v1.json": `{"version": "1.0", "limits": {"max_files": 1000, "max_diff_lines": 100000}}`,
		"requests/RQ-many.md":    "---\ntitle: Many files\npriority: P0\nstatus: ready\nsteps:\n  - title: Write them\n    run: " + strconv.Quote(command) + "\n---\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return "", "", err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return "", "", err
		}
	}
	out, err := inFolder(dir, [][]string{
		{"git", "init", "-q"},
		{"git", "config", "user.name", "b"},
		{"git", "config", "user.email", "b@example.invalid"},
		{"git", "add", "-A"},
		{"git", "commit", "-q", "-m", "begin"},
		{run, "--json", "RQ-many"},
	})
	if err != nil {
		return "", "", err
	}
	var v struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(out, &v); err != nil {
		return "", "", fmt.Errorf("%w: %s", err, out)
	}
	branches, err := inFolder(dir, [][]string{{"git", "for-each-ref", "--format=%(refname)", "refs/heads/aiflow"}})
	if err != nil {
		return "", "", err
	}
	text, err := inFolder(dir, [][]string{{"git", "diff", "HEAD..." + strings.TrimSpace(string(branches))}})
	return "/requests/RQ-many/runs/" + v.RunID, string(text), err
}

// inFolder gives what the last of the commands prints.
func inFolder(dir string, commands [][]string) (out []byte, err error) {
	for _, argv := range commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		var said bytes.Buffer
		cmd.Stderr = &said
		if out, err = cmd.Output(); err != nil {
			return nil, fmt.Errorf("%v: %w\n%s", argv, err, said.Bytes())
		}
	}
	return out, nil
}

// served starts a server and gives its address and token.
func served(serve, dir string) (at, token string, end func(), err error) {
	cmd := exec.Command(serve, "--port", "0")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		return "", "", nil, err
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	for until := time.Now().Add(waitSeen); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(dir, ".aiflow/cache/serve.json"))
		var id serving.Identity
		if json.Unmarshal(data, &id) == nil && id.PID == cmd.Process.Pid {
			return fmt.Sprintf("http://127.0.0.1:%d", id.Port), id.Token, end, nil
		}
	}
	end()
	return "", "", nil, fmt.Errorf("aiflow-serve did not start in %s", dir)
}

func staticRows(seed uint64, n int) string {
	var b strings.Builder
	b.WriteString("<!doctype html><meta charset=utf-8><table>")
	for i := range n {
		name, text := reqgen.File(seed, i)
		title, _, _ := strings.Cut(string(text[bytes.Index(text, []byte("title:"))+6:]), "\n")
		fmt.Fprintf(&b, "<tr><td>%d<td>P1<td>%s<td>%s<td>ready<td>waits for another\n", i, html.EscapeString(name), html.EscapeString(title))
	}
	return b.String()
}

func staticPages(pages map[string]string) (at string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // until the bench ends
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(pages[r.URL.Path]))
		}))
	}()
	return "http://" + l.Addr().String(), nil
}

func newBrowser(bin string) (context.Context, func()) {
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(bin), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, closeAll := chromedp.NewContext(ctx)
	return ctx, func() { closeAll(); stop() }
}

// seenWhen notes when something was painted: the frame after the one in which it is there.
const seenWhen = `(() => { const look = () => document.querySelector(%q)
	? requestAnimationFrame(() => setTimeout(() => { window.seen = performance.now(); })) : requestAnimationFrame(look); requestAnimationFrame(look); })()`

// cold opens an address in a new tab that has nothing in its cache; how long until selector was painted.
func cold(browser context.Context, at, selector string) (time.Duration, error) {
	ctx, end := newTab(browser)
	defer end()
	if _, err := chromedp.Call(ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		return 0, err
	}
	if _, err := chromedp.Call(ctx, devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(seenWhen, selector)}); err != nil {
		return 0, err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(at)); err != nil {
		return 0, err
	}
	return asked(ctx, "window.seen")
}

// isIdle: the page has read all that it wants, and listens.
const isIdle = "performance.getEntriesByType('resource').every((e) => performance.now() - e.responseEnd > 1000) && 1"

// pressed is how long after a link of a page was pressed selector was painted.
func pressed(browser context.Context, page, link, selector string) (time.Duration, error) {
	ctx, end := newTab(browser)
	defer end()
	if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
		return 0, err
	}
	to := fmt.Sprintf("document.querySelector('main a[href$=%q]')", link)
	if _, err := asked(ctx, to+" && "+isIdle); err != nil {
		return 0, err
	}
	press := fmt.Sprintf(`(() => { const begin = performance.now(); %s.click(); const look = () => document.querySelector(%q)
		? requestAnimationFrame(() => setTimeout(() => { window.readAfter = performance.now() - begin; })) : requestAnimationFrame(look); look(); return 1; })()`, to, selector)
	if _, err := asked(ctx, press); err != nil {
		return 0, err
	}
	return asked(ctx, "window.readAfter")
}

// changed is how long after a request file was written the page says so.
func changed(browser context.Context, page, dir string, i int) (time.Duration, error) {
	ctx, end := newTab(browser)
	defer end()
	if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
		return 0, err
	}
	title := fmt.Sprintf("Changed %d", i)
	watch := fmt.Sprintf(`(() => { const look = () => document.querySelector('.rq') && [...document.querySelectorAll('.rq .title')].some((e) => e.textContent === %q)
		? requestAnimationFrame(() => setTimeout(() => { window.changedAt = Date.now(); })) : requestAnimationFrame(look); look(); return 1; })()`, title)
	if _, err := asked(ctx, "document.querySelector('.rq') && "+isIdle); err != nil {
		return 0, err
	}
	if _, err := asked(ctx, watch); err != nil {
		return 0, err
	}
	begin := time.Now()
	text := "---\ntitle: " + title + "\npriority: P0\nstatus: ready\nupdated_at: 2000-01-01\n---\n"
	if err := os.WriteFile(filepath.Join(dir, "requests", "RQ-changes.md"), []byte(text), 0o666); err != nil {
		return 0, err
	}
	at, err := asked(ctx, "window.changedAt")
	return at - time.Duration(begin.UnixMilli())*time.Millisecond, err
}

func newTab(browser context.Context) (context.Context, func()) {
	ctx, end := context.WithTimeout(browser, waitSeen)
	ctx, closeTab := chromedp.NewContext(ctx)
	return ctx, func() { closeTab(); end() }
}

// asked waits until js is a number of milliseconds.
func asked(ctx context.Context, js string) (time.Duration, error) {
	for {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[float64]("Number("+js+") || 0"))
		if err != nil || v > 0 {
			return time.Duration(v * float64(time.Millisecond)), err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
