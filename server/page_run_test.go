package server

import (
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/proc"
)

// inWindow says whether the whole of an element can be read without scrolling.
func inWindow(selector string) string {
	return "(() => { const e = document.querySelector(" + quoted(selector) + "), r = e?.getBoundingClientRect(), under = document.querySelector('.spine').getBoundingClientRect().bottom;" +
		" return r !== undefined && r.top >= under - 1 && r.bottom <= innerHeight; })()"
}

// A run that needs a person opens at its reason, however long its log is, with the
// error marked and the button that works first; the bar stays; what came of a run
// that is done stands first as well.
func TestPageRunOpensAtItsReason(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{
		".gitignore": "runs/\n.aiflow/\nok\n",
		"requests/RQ-1.md": steps("Talks and fails", "P0", "echo one > one.txt",
			`i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); done; test -f "$AIFLOW_ROOT/ok" && { echo 2 > two.txt; exit 0; }; echo 'fatal: no colour' >&2; echo bye; exit 4`),
	})
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until(needsInput)
	run := strings.Trim(p.do("location.pathname"), `"`)

	for _, size := range [][2]int64{{1440, 900}, {390, 844}} {
		p.size(size[0], size[1])
		p.open(run)
		p.until("document.querySelector('.tail .wrong') && document.querySelector('.log-text')?.textContent.includes('line 59')")
		if y := p.do("scrollY"); y != "0" {
			t.Errorf("at %d px it opens scrolled to %s", size[0], y)
		}
		if p.do(inWindow(".reason h2")) != "true" || p.do(inWindow(".tail")) != "true" {
			t.Errorf("at %d px the reason has to be looked for", size[0])
		}
		if got := p.do("document.querySelector('.tail .wrong').textContent"); got != `"fatal: no colour\n"` {
			t.Errorf("marked is %s", got)
		}
		if got := p.do("document.documentElement.scrollWidth > innerWidth + 1"); got == "true" {
			t.Errorf("at %d px it is wider than its window", size[0])
		}
	}
	p.size(1440, 900)
	if p.do(inWindow(".resume .way.first button")) != "true" {
		t.Error("the recommended button has to be looked for")
	}
	if got := p.do("[...document.querySelectorAll('.resume button')].filter((b) => b.disabled).length"); got != "0" {
		t.Errorf("%s buttons cannot be pressed", got)
	}
	// The steps stand beside it, and lead to where their logs are.
	if p.do(inWindow(".rail")) != "true" || p.do("[...document.querySelectorAll('.rail li')].map((e) => e.querySelector('i').ariaLabel).join()") != `"done,needs input"` {
		t.Errorf("the steps beside it: %s", p.do("document.querySelector('.rail')?.outerHTML"))
	}
	p.shot("reason")
	p.do("void document.querySelector('[data-key=\"rail:S02\"]').click()")
	p.until("location.hash === '#S02' && scrollY > 300 && document.querySelector('.rail').getBoundingClientRect().top >= 48")
	p.do("void scrollTo(0, 0)")
	p.size(390, 844)
	p.until("document.querySelector('.rail').offsetParent === null && document.querySelector('.spine .at-step').checkVisibility()")
	if p.do(inWindow(".spine .at-step")) != "false" && p.do("document.querySelector('.spine').getBoundingClientRect().height < 110") != "true" {
		t.Error("the bar takes the window of a phone")
	}
	p.size(1440, 900)

	// The bar stays with what it says and does.
	p.do("void scrollTo(0, document.body.scrollHeight)")
	p.until("scrollY > 300 && document.querySelector('.spine h1').getBoundingClientRect().top >= 40")
	p.do("void scrollTo(0, 0)")

	if got := p.do("document.title + ' ' + document.querySelector('link[rel=icon]').href.startsWith('data:')"); got != `"! Talks and fails · needs input · aiflow true"` {
		t.Errorf("the tab says %s", got)
	}

	// The recommended one works.
	w.write("ok", "")
	verb := strings.Trim(p.do("document.querySelector('.resume .way.first .primary').textContent"), `"`)
	if got := p.do("document.querySelector('[data-key=bar-verb]').textContent"); got != quoted(verb) {
		t.Errorf("the bar offers %s, the card %s", got, verb)
	}
	p.do("void document.querySelector('[data-key=bar-verb]').click()")
	p.until("document.querySelector('dialog[open]') || " + isDone)
	if p.do("!!document.querySelector('dialog[open]')") == "true" {
		p.answerDialog(verb)
	}
	p.until(isDone)
	p.open(run)
	p.until("document.querySelector('.outcome .stat')?.textContent === 'files: 3 · +3 −1'")
	p.sees("commits: 3")
	p.sees("no tests were run")
	if p.do(inWindow(".outcome [data-key=see-diff]")) != "true" || p.do("scrollY") != "0" {
		t.Error("the outcome has to be looked for")
	}
	p.shot("outcome")
	p.press("See the diff")
	p.until("document.querySelectorAll('.file').length === 3")
	p.clean()
	w.idle()
}

// What a role asked is a form; the answers reach the role, and the run goes on with one press.
func TestPageAnswers(t *testing.T) {
	browser := openBrowser(t)
	bin := filepath.Join(t.TempDir(), "work")
	told := filepath.Join(t.TempDir(), "told")
	script := "#!/bin/sh\ncat > " + told + "\nif grep -q '1. - Blue' " + told + " && grep -q '2. In the hall' " + told + "; then echo blue > colour.txt; exit; fi\n" +
		`echo '{"version":"1.0","role":"implementer","status":"needs_input","summary":"which?","questions":["Which colour?","And where?"]}'` + "\n"
	if err := proc.WriteProgram(bin, []byte(script)); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, map[string]string{
		".gitignore":             "runs/\n.aiflow/locks/\n.aiflow/cache/\n.aiflow/worktrees/\n",
		".aiflow/router.v1.json": `{"version": "1.0", "routing": {"implementer": {"primary": "work"}}, "commands": {"work": {"bin": ` + quoted(bin) + `}}}`,
		"requests/RQ-1.md":       request("title: Paint\nstatus: ready\n", "Paint it.\n"),
	})
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until(needsInput)
	p.until("document.querySelectorAll('.answer textarea').length === 2")
	if p.do(inWindow(".answer [type=submit]")) != "true" {
		t.Error("the form has to be looked for")
	}
	if bad := p.nameless(); len(bad) > 0 {
		t.Errorf("nameless: %v", bad)
	}
	p.sees("Which colour?")
	p.shot("asks")

	// One that is left out is named; what was typed is still there when the page is opened anew.
	write := func(n, text string) {
		p.do("void document.querySelector('[data-key=answer" + n + "]').focus()")
		p.do("void document.execCommand('insertText', false, " + quoted(text) + ")")
	}
	write("0", "- Blue")
	p.press("Answer and resume")
	p.sees("Please answer each question.")
	p.until("document.activeElement.dataset.key === 'answer1'")
	p.open(p.address())
	p.until("document.querySelector('[data-key=answer0]')?.value === '- Blue'")
	write("1", "In the hall")
	p.press("Answer and resume")
	p.until(isDone)
	p.until("document.querySelector('.outcome') && !document.querySelector('.answer')")
	if text := w.call(200, "GET", "/api"+strings.Trim(p.do("location.pathname"), `"`), "").text("report.markdown"); !strings.Contains(text, "Which colour?") || !strings.Contains(text, "1. - Blue") {
		t.Errorf("the report does not have the answer: %s", text)
	}
	at := "/api" + strings.Trim(p.do("location.pathname"), `"`) + "/answer"
	w.call(400, "POST", at, `{"text":" "}`).wants("error.reason_code", "INVALID_REQUEST", "error.context.key", "text")
	p.clean()
	w.idle()
}

// address is where the tab is, without the server.
func (p *tab) address() string {
	p.t.Helper()
	return strings.Trim(p.do("location.pathname + location.search"), `"`)
}
