package server

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

const (
	logLines = "document.querySelectorAll('.line').length"
	logEnd   = "document.querySelector('.log-end').getBoundingClientRect().bottom <= innerHeight + 60"
	// frames notes the longest time between two frames, from now on.
	frames = `void (() => { let at = performance.now(); window.worst = 0; const next = () => { const now = performance.now(); worst = Math.max(worst, now - at); at = now; requestAnimationFrame(next); }; requestAnimationFrame(next); })()`
)

// found waits for the count of the search, and gives the text of the place.
func (p *tab) found(count string) string {
	p.t.Helper()
	p.until("document.querySelector('.log-search [role=status]').textContent === " + quoted(count))
	p.until("(() => { const r = document.querySelector('.hit')?.getBoundingClientRect(); return r && r.top > 60 && r.bottom < innerHeight; })()")
	return p.do("document.querySelector('.hit').textContent.trim()")
}

func (p *tab) searches(words string) {
	p.t.Helper()
	p.until("document.activeElement.matches('.log-search input')")
	p.do("void (document.activeElement.select(), document.execCommand('insertText', false, " + quoted(words) + "))")
}

// In a log that grows, as long as a step may have it: words are found everywhere, from the keyboard,
// with little drawn, and the log goes on meanwhile.
func TestPageSearchesLog(t *testing.T) {
	browser := openBrowser(t)
	const many = `awk 'BEGIN { for (i = 0; i < 70000; i++) printf "%06d %s the quick brown fox jumps over the dog\n", i, (i == 10 || i == 35000 || i == 69990) ? "Needle" : "haysta" }'; `
	const long = `awk 'BEGIN { for (i = 0; i < 25000; i++) printf "long"; print "" }'; `
	w := newWorld(t, map[string]string{
		".gitignore": "runs/\n.aiflow/\ngate*\n",
		"requests/RQ-1.md": steps("Talks", "P0", many+long+`echo go > "$AIFLOW_ROOT/gate"; echo one more NEEDLE; i=0; while [ $i -lt 100 ]; do echo more $i; i=$((i+1)); done; `+
			`echo go > "$AIFLOW_ROOT/gate2"; echo last; echo go > "$AIFLOW_ROOT/gate3"`),
	})
	w.gate()
	for _, name := range []string{"gate2", "gate3"} {
		if err := syscall.Mkfifo(w.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until("document.querySelector('.log-text')?.textContent.includes('069999 ')")
	p.until("document.querySelector('.cut')?.textContent === ' … +96000'")
	p.until(logEnd)
	p.do(frames)

	p.key("/")
	p.searches("needle")
	if got := p.found("1 of 3 (very long lines were searched only in the part that is shown)"); !strings.HasPrefix(got, `"000010 Needle`) {
		t.Errorf("found %s", got)
	}
	p.shot("log-search")
	for _, c := range []struct{ js, count, want string }{
		{"Enter', ''", "2 of 3", "035000 Needle"},
		{"Enter', ''", "3 of 3", "069990 Needle"},
		{"Enter', ''", "1 of 3", "000010 Needle"},
		{"Enter', 'shift'", "3 of 3", "069990 Needle"},
		{"Enter', 'shift'", "2 of 3", "035000 Needle"},
	} {
		p.do("((key, shift) => void document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, shiftKey: shift !== '', bubbles: true, cancelable: true})))('" + c.js + ")")
		if got := p.found(c.count + " (very long lines were searched only in the part that is shown)"); !strings.Contains(got, c.want) {
			t.Errorf("%s is %s, want %s", c.count, got, c.want)
		}
	}
	if n, _ := strconv.Atoi(p.do(logLines)); n > 20_100 {
		t.Errorf("%d lines are drawn", n)
	}
	if got := p.do("CSS.highlights.get('found-now').size"); got != "1" {
		t.Errorf("%s places are marked as the one", got)
	}
	t.Logf("the longest frame took %s ms", p.do("worst"))

	// It grows: the count follows, the place stays, nothing moves.
	y := p.do("scrollY")
	w.openGate()
	if got := p.found("2 of 4 (very long lines were searched only in the part that is shown)"); !strings.Contains(got, "035000 Needle") {
		t.Errorf("after it grew: %s", got)
	}
	p.until("document.querySelector('.jump')?.textContent === 'new lines: 101 ↓'")
	if got := p.do("scrollY"); got != y {
		t.Errorf("the page moved from %s to %s", y, got)
	}
	p.do("void document.activeElement.blur()")
	p.key("n")
	p.key("n")
	if got := p.found("4 of 4 (very long lines were searched only in the part that is shown)"); got != `"one more NEEDLE"` {
		t.Errorf("found %s", got)
	}
	p.key("N")
	p.found("3 of 4 (very long lines were searched only in the part that is shown)")
	p.key("/")
	p.searches("no such words")
	p.until("document.querySelector('.log-search [role=status]').textContent.startsWith('nothing found')")
	p.key("Escape")
	p.until("document.querySelector('.log-search').hidden && document.activeElement.matches('.log-text')")
	if got := p.do("CSS.highlights.get('found').size + CSS.highlights.get('found-now').size"); got != "0" {
		t.Errorf("%s marks are left", got)
	}

	// Followed again from the end, and not followed when that is switched off.
	p.key("End")
	p.until(logEnd + " && document.querySelector('.log-text').textContent.includes('more 99')")
	p.key("f")
	p.until("document.querySelector('[data-key=follow]').getAttribute('aria-pressed') === 'false'")
	if got := p.do("localStorage.getItem('aiflow.follow')"); got != `"no"` {
		t.Errorf("remembered %s", got)
	}
	y = p.do("scrollY")
	w.read("gate2")
	p.until("document.querySelector('.jump')?.textContent === 'new lines: 1 ↓'")
	if got := p.do("scrollY"); got != y {
		t.Errorf("the page moved from %s to %s although it does not follow", y, got)
	}
	p.press("Follow")
	p.until(logEnd + " && document.querySelector('[data-key=follow]').getAttribute('aria-pressed') === 'true' && document.querySelector('.jump').hidden")

	// Backwards through what is kept and what is not fetched yet.
	p.open(strings.Trim(p.do("location.pathname"), `"`))
	p.until("document.querySelector('.log-text')?.textContent.includes('last')")
	for range 3 {
		first := "document.querySelector('.line').textContent"
		was := p.do(first)
		p.do("void document.querySelector('[data-key=before]').click()")
		p.until(first + " !== " + was)
	}
	if n, _ := strconv.Atoi(p.do(logLines)); n > 20_100 {
		t.Errorf("%d lines are drawn", n)
	}
	numbers := p.do("(() => { const n = [...document.querySelectorAll('.line')].map((e) => Number(e.textContent.slice(0, 6))).filter((v) => !Number.isNaN(v)); return n.every((v, i) => i === 0 || v === n[i - 1] + 1) && n.length; })()")
	if n, _ := strconv.Atoi(numbers); n < 5_000 {
		t.Errorf("lines are missing or doubled: %s", numbers)
	}
	w.read("gate3")
	p.until("document.querySelector('.spine .chip')?.textContent === 'done'")
	p.until("!document.querySelector('[data-key=follow]')")

	// Ten megabytes that another tool left there.
	big := strings.Repeat("one line of many that look alike and say nothing\n", 100_000) + "the needle\n" + strings.Repeat("one line of many that look alike and say nothing\n", 120_000)
	w.write("runs/RQ-1/"+strings.Trim(p.do("location.pathname.split('/')[4]"), `"`)+"/logs/big.log", big)
	p.open(strings.Trim(p.do("location.pathname"), `"`) + "/logs")
	p.until("document.querySelector('[data-log=\"big.log\"]')")
	p.do("void document.querySelector('[data-log=\"big.log\"] .log-name').click()")
	p.until("document.querySelectorAll('[data-log=\"big.log\"] .line').length > 1000")
	p.do(frames)
	p.do("void document.querySelector('[data-log=\"big.log\"] [data-key=find]').click()")
	p.searches("needle")
	p.until("document.querySelector('[data-log=\"big.log\"] [role=status]').textContent === '1 of 1'")
	p.until("document.querySelector('.hit')?.textContent === 'the needle\\n'")
	t.Logf("the longest frame took %s ms", p.do("worst"))
	if got := p.do("document.querySelector('[data-log=\"big.log\"] .log-search input').placeholder"); got != `"Find in big.log"` {
		t.Errorf("the search says %s", got)
	}

	// Its lines have numbers before its beginning was fetched, and their addresses are theirs.
	atLine := func(n string) {
		t.Helper()
		p.do("void history.replaceState(null, '', location.pathname + '#log=big.log:" + n + "')")
		if err := chromedp.Do(p.ctx, chromedp.Reload()); err != nil {
			t.Fatal(err)
		}
	}
	atLine("219999")
	p.until("((e) => e && Number(e.parentElement.firstElementChild.style.counterReset.split(' ')[1]) + 1 + [...e.parentElement.children].indexOf(e) === 219999)(document.querySelector('.line.aimed')) && document.querySelector('[data-log=\"big.log\"] [data-key=before]')")
	p.do("void ((e) => e.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: e.closest('.log-text').getBoundingClientRect().left + 9})))(document.querySelector('[data-log=\"big.log\"] .cluster:last-child .line:last-child'))")
	p.until("location.hash === '#log=big.log:220001'")

	// A line has a number, which is its address.
	atLine("100001")
	p.until("document.querySelector('.line.aimed')?.textContent === 'the needle\\n'")
	p.until("((r) => r.top > 0 && r.bottom < innerHeight)(document.querySelector('.line.aimed').getBoundingClientRect())")
	p.do("void ((e) => e.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: e.closest('.log-text').getBoundingClientRect().left + 9})))(document.querySelector('.line.aimed').nextElementSibling)")
	p.until("location.hash === '#log=big.log:100002' && document.querySelectorAll('.line.aimed').length === 1")
	numbered := "[...document.querySelectorAll('[data-log=\"big.log\"] .line')].slice(0, 120).every((e) => getComputedStyle(e, '::before').position === 'absolute' && (e.previousElementSibling !== null || /^line \\d+50$|^line \\d+00$/.test(e.style.counterReset)))"
	if got := p.do(numbered); got != "true" { // each part begins its numbers itself: what is not laid out keeps no count for others
		t.Error("the numbers of the lines do not begin in each part")
	}
	p.shot("log-line")
	p.clean()
	w.idle()
}

// An answer about the run that was long on its way takes nothing back of what
// was told meanwhile.
func TestPageOlderAnswer(t *testing.T) {
	browser := openBrowser(t)
	gate := func(n string) string { return `echo go > "$AIFLOW_ROOT/gate` + n + `"` }
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\ngate*\n",
		"requests/RQ-1.md": steps("Talks", "P0", gate(""), "echo words; "+gate("2")),
		"requests/RQ-2.md": request("title: Other\npriority: P1\nstatus: draft\n", ""),
	})
	w.gate()
	if err := syscall.Mkfifo(w.path("gate2"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until("document.querySelector('#S01.open')")
	p.do(`void (() => { const ask = fetch; window.late = []; window.fetch = async (...a) => {
		const answer = await ask(...a);
		if (/\/runs\/RUN-[^/]+$/.test(String(a[0]))) { const copy = new Response(await answer.text(), answer); await new Promise((go) => late.push(go)); return copy; }
		return answer; }; })()`)
	w.write("requests/RQ-2.md", request("title: Changed\npriority: P1\nstatus: draft\n", ""))
	p.until("late.length === 1")
	w.openGate()
	words := "document.querySelector('#S02.open .log-text')?.textContent.includes('words')"
	p.until(words)
	p.do("void late.shift()()")
	w.write("requests/RQ-2.md", request("title: Changed again\npriority: P1\nstatus: draft\n", ""))
	p.until("late.length === 1") // the older answer has been dealt with
	if p.do(words) != "true" {
		t.Errorf("the older answer took the second step's log away: %s", p.do("document.body.innerText"))
	}
	p.do("void late.shift()()")
	w.read("gate2")
	p.until("(late.shift()?.(), document.querySelector('.spine .chip')?.textContent === 'done')")
	p.clean()
	w.idle()
}
