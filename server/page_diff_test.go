package server

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A change of 355 files can be read at once: the first files are drawn, the others when
// one comes to them, and what is folded or left out is named. Ticks stay with the commit,
// and so does what a step that runs has made so far.
func TestPageDiff(t *testing.T) {
	browser := openBrowser(t)
	write := `printf 'a\n  b\nc\n' > space.txt; printf 'if x {\n\ta\n\tb\n\tc\n}\n' > main.go;` +
		` for i in $(seq 350); do d=src/deep/m$((i % 7)); mkdir -p $d; seq $((i % 50 + 1)) > $d/f$i.txt; done; seq 5000 > large.txt; echo x > go.sum; printf 'fn\n' > "odd <b>.txt"`
	w := newWorld(t, map[string]string{
		".aiflow/config.v1.json": `{"version": "1.0", "limits": {"max_files": 1000, "max_diff_lines": 100000}}`,
		"space.txt":              "a\nb\nc\n",
		"main.go":                "a\nb\nc\n",
		"requests/RQ-1.md":       steps("Much", "P0", write, "echo first > live.txt; cat \"$AIFLOW_ROOT/gate\"; echo second >> live.txt; cat \"$AIFLOW_ROOT/gate\"; exit 3"),
	})
	w.gate()
	p := w.tab(browser, "/requests/RQ-1")
	p.size(1440, 900)
	p.press("Run")

	// The step that runs has written something that is in no commit yet.
	p.until("document.querySelector('.at-step')?.textContent.startsWith('step 2/2')")
	p.press("Diff")
	p.until("document.querySelector('.kept h3')?.textContent === 'So far, not committed: S02, attempt 1'")
	p.until("document.querySelector('.kept .file-name')?.textContent === 'live.txt'")
	p.shot("diff-live")
	go w.write("gate", "") // opened for writing: the step goes on
	p.until("[...document.querySelectorAll('.kept .tx.new')].map((e) => e.textContent).join() === 'first,second'")
	p.until("document.querySelector('.kept h3').textContent === 'So far, not committed: S02, attempt 1'")

	// Nothing is written any more, but it is called otherwise.
	go w.write("gate", "")
	p.until(needsInput)
	p.until("document.querySelector('.kept h3').textContent === 'Not committed: S02, attempt 1'")
	p.until("[...document.querySelectorAll('.kept .tx.new')].map((e) => e.textContent).join() === 'first,second'")

	at := p.address()
	p.open("/")
	p.until("document.querySelector('.rq')")
	p.do("void performance.mark('asked')")
	p.do("void (history.pushState(null, '', " + quoted(at) + "), dispatchEvent(new PopStateEvent('popstate')))")
	p.until("document.querySelector('.file .hunk')")
	t.Logf("the first lines could be read after %s ms", p.do("Math.round(performance.measure('read', 'asked').duration)"))

	// Few are drawn, all are named, in the order of the tree; one comes to the others.
	p.until("document.querySelectorAll('.file').length === 356 && document.querySelectorAll('.file-tree .leaf').length === 356")
	p.sees("files: 355 ")
	p.until("/^files drawn: \\d+ of 356, the others as you come to them · folded: .*large.txt/.test(document.querySelector('.diff > [aria-live]').textContent)")
	if n := p.do("document.querySelectorAll('.file .hunk').length < 80"); n != "true" {
		t.Errorf("%s files are drawn at once", p.do("document.querySelectorAll('.file .hunk').length"))
	}
	if got := p.do("[...document.querySelectorAll('.folder')].slice(0, 3).map((e) => e.textContent)"); got != `["src/deep/","m0/","m1/"]` {
		t.Errorf("the tree begins with %s", got)
	}
	if got := p.do("[...document.querySelectorAll('.leaf a')].slice(0, 3).map((e) => e.textContent)"); got != `["live.txt","f7.txt","f14.txt"]` {
		t.Errorf("the files begin with %s", got)
	}
	file := func(path string) string { return "document.querySelector('.file[data-path=" + quoted(path) + "]')" }
	p.until("!" + file("src/deep/m6/f349.txt") + ".querySelector('.hunk')")
	p.do("void [...document.querySelectorAll('.leaf a')].find((a) => a.textContent === 'f349.txt').click()")
	p.until(file("src/deep/m6/f349.txt") + ".querySelector('.tx.new')?.textContent === '1'")
	p.until("location.hash.endsWith('#file=src/deep/m6/f349.txt')")
	if err := chromedp.Do(p.ctx, chromedp.Reload()); err != nil { // that is its address, whatever else was changed
		t.Fatal(err)
	}
	p.until(file("src/deep/m6/f349.txt") + "?.querySelector('.tx.new')?.textContent === '1'")
	p.until("((r, tree) => r.top >= 100 && r.top < innerHeight && tree.top > 0 && tree.bottom <= innerHeight)(" + file("src/deep/m6/f349.txt") + ".getBoundingClientRect(), document.querySelector('.file-tree').getBoundingClientRect())")
	p.do("void (" + file("large.txt") + ".querySelector('button').click(), " + file("large.txt") + ".scrollIntoView())")
	p.until(file("large.txt") + ".textContent.includes('Shown are 2000 of its 5000 changed lines')")

	// Ticks fold the file, and are still there when the page is opened anew.
	p.do("void " + file("main.go") + ".querySelector('input').click()")
	p.until(file("main.go") + ".querySelector('.file-body').hidden")
	p.open(at)
	p.until(file("main.go") + "?.querySelector('input').checked && " + file("main.go") + ".querySelector('.file-body').hidden")
	p.sees("viewed: 1 of 356")
	if got := p.do("performance.getEntriesByType('resource').filter((e) => e.name.includes('diff?hunks=')).map((e) => e.initiatorType)"); got != `["link"]` {
		t.Errorf("the diff is asked for by %s, not once and before the program of the page", got)
	}
	p.do("void " + file("main.go") + ".querySelector('input').click()")

	// One column, and without changes of whitespace.
	p.do("void " + file("main.go") + ".scrollIntoView()")
	p.until(file("main.go") + ".querySelector('.dr')")
	p.press("Unified")
	p.until("[..." + file("main.go") + ".querySelectorAll('.uni .tx')].map((e) => e.textContent.trim()).join() === 'a,b,c,if x {,a,b,c,}'")
	p.do("void document.querySelector('[data-key=space]').click()")
	p.until("[..." + file("main.go") + ".querySelectorAll('.uni')].map((e) => e.classList[2]).join() === 'add,same,same,same,add'")
	p.do("void " + file("space.txt") + ".scrollIntoView()")
	p.until(file("space.txt") + ".textContent.includes('Only whitespace was changed.')")
	p.press("Side by side")
	p.until("!document.querySelector('.uni')")

	// An attempt for itself.
	p.do("void ((e) => { e.selectedIndex = 2; e.dispatchEvent(new Event('change')); })(document.querySelector('select[aria-label=\"Which changes\"]'))")
	p.until("[...document.querySelectorAll('.file-name')].map((e) => e.textContent).join() === 'live.txt'")
	p.shot("diff-attempt")
	if at := p.address(); !strings.Contains(at, "/diff?commit=") {
		t.Errorf("the attempt is at %s", at)
	} else {
		p.open(at)
	}
	p.until("[...document.querySelectorAll('.file-name')].map((e) => e.textContent).join() === 'live.txt'")
	p.do("void ((e) => { e.selectedIndex = 0; e.dispatchEvent(new Event('change')); })(document.querySelector('select[aria-label=\"Which changes\"]'))")
	p.until("location.search === '' && document.querySelectorAll('.file-name').length > 20")
	p.clean()
	w.idle()
}
