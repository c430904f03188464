package server

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The buttons of a run that needs a person, and the auto-run, each pressed in a browser.

func steps(title, priority string, commands ...string) string {
	meta := "title: " + title + "\npriority: " + priority + "\nstatus: ready\nsteps:\n"
	for _, c := range commands {
		meta += "  - title: Do it\n    run: " + quoted(c) + "\n"
	}
	return request(meta, "Text\n")
}

// answerDialog presses the button of the open dialog that says text.
func (p *tab) answerDialog(text string) {
	p.t.Helper()
	p.until("document.querySelector('dialog[open]')")
	p.do("void [...document.querySelectorAll('dialog[open] button')].find((e) => e.textContent === " + quoted(text) + ").click()")
	p.until("!document.querySelector('dialog')")
}

const (
	needsInput = "document.querySelector('.spine .chip')?.textContent === 'needs input' && document.querySelector('.resume')"
	isDone     = "document.querySelector('.spine .chip')?.textContent === 'done'"
)

func (p *tab) logSays(name, text string) {
	p.t.Helper()
	p.until("document.querySelector('[data-log=" + quoted(name) + "] .log-text')?.textContent === " + quoted(text))
}

// Retry puts the step's workspace back and does it again in the same run; the
// attempts stand together with their logs.
func TestPageRetryThisStep(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\nok\n",
		"requests/RQ-1.md": steps("Tries", "P0", "echo one > one.txt", `echo try >> tries.txt; echo $(wc -l < tries.txt) tries; test -f "$AIFLOW_ROOT/ok"`),
	})
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until(needsInput)
	p.until("document.querySelector('.told').textContent.startsWith('RQ-1: needs input. ')")
	run := p.do("location.pathname")

	// It says what it will do, and a no changes nothing.
	p.do("void document.querySelector('[data-key=retry_step]').focus()")
	p.press("Retry this step")
	p.until("document.querySelector('dialog[open]')?.textContent.includes('start of S02')")
	p.shot("retry")
	p.answerDialog("Cancel")
	if got := p.do("document.activeElement.textContent"); got != `"Retry this step"` {
		t.Errorf("the focus is on %s", got)
	}
	if got := p.do("document.querySelectorAll('[data-log]').length"); got != "1" {
		t.Errorf("%s logs after a no", got)
	}

	p.press("Retry this step")
	p.answerDialog("Retry this step")
	p.until("document.querySelector('#S02 .step-title')?.nextSibling.textContent === 'attempt 2'")
	p.until(needsInput)
	p.logSays("step-2.log", "1 tries\n1 tries\n") // never 2: the workspace was put back
	p.until("document.querySelector('#S02 .log-name span').textContent === 'command · attempts 1–2'")
	p.shot("retried")

	// The same step, the same reason: a new plan is advised, and the person decides.
	w.write("ok", "")
	p.until("document.querySelector('.resume .primary')?.textContent === 'Replan'")
	p.shot("replan-advised")
	p.press("Retry this step")
	p.answerDialog("Retry this step")
	p.until(isDone)
	p.sees("Merge the branch to finish the request")
	if at := p.do("location.pathname"); at != run {
		t.Errorf("%s, not the same run %s", at, run)
	}
	p.do("void document.querySelector('#S02 .step-head').click()")
	p.logSays("step-2.log", "1 tries\n1 tries\n1 tries\n")
	p.press("Report")
	p.until("document.querySelector('.tab-body .md')")
	p.clean()
	w.idle()
}

// The run goes back to a step that is done and does it again; so it may be done.
func TestPageGoesBack(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\nok\n",
		"requests/RQ-1.md": steps("Goes back", "P0", `cat "$AIFLOW_ROOT/ok" > one.txt || echo bad > one.txt`, "grep good one.txt"),
	})
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until(needsInput)
	p.do("void document.querySelector('#S01 h2 button').click()")
	w.write("ok", "good\n")
	p.press("Do this step again, and those after it")
	p.until("document.querySelector('dialog[open]')?.textContent.includes('goes back to S01')")
	p.answerDialog("Do this step again, and those after it")
	p.until(isDone)
	p.shot("went-back")
	if got := p.do("[...document.querySelectorAll('button')].some((b) => b.textContent.startsWith('Do this step again'))"); got != "false" {
		t.Error("a run that is done offers to go back")
	}
	w.idle()

	// A run that was dropped says so, here and in the list of runs.
	drop := exec.Command(filepath.Join(programs, "aiflow-run"), "drop", "RQ-1")
	drop.Dir = w.path(".")
	if out, err := drop.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.until("[...document.querySelectorAll('.spine .chip')].some((c) => c.textContent === 'dropped')")
	p.sees("This run was dropped")
	p.shot("dropped")
	list := w.tab(browser, "/requests/RQ-1")
	list.until("document.querySelector('.runs .chip')?.textContent === 'dropped'")
	list.close()
	p.clean()
}

// What somebody changed in the workspace after the run stopped becomes the step's
// result when the blue button is pressed, which says so first.
func TestPageTakesWhatWasChanged(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{"requests/RQ-1.md": steps("Needs a hand", "P0", "echo bad > x.txt; exit 1")})
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until(needsInput)
	p.until("document.querySelector('.resume .primary')?.textContent === 'Resume'")
	w.write(".aiflow/worktrees/RQ-1/x.txt", "good\n")
	p.press("Resume")
	p.until("document.querySelector('dialog[open]')?.textContent.includes('becomes the result of the step')")
	p.answerDialog("Resume")
	p.until(isDone)
	if got := w.git("show", strings.TrimSpace(w.git("for-each-ref", "--format=%(refname)", "refs/heads/aiflow"))+":x.txt"); got != "good\n" {
		t.Errorf("x.txt is %q", got)
	}
	p.clean()
	w.idle()
}

// Replan warns, and then a new run takes the place of the old one, which stays
// and says so.
func TestPageReplan(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{"requests/RQ-1.md": steps("Needs a base", "P0", "echo here > here.txt", "test -f base.txt")})
	p := w.tab(browser, "/requests/RQ-1")
	p.press("Run")
	p.until(needsInput)
	old := strings.Trim(p.do("location.pathname"), `"`)
	oldRun := old[strings.LastIndex(old, "/")+1:]
	w.write("base.txt", "base\n")
	w.git("add", "base.txt")
	w.git("commit", "-q", "-m", "base")

	p.press("Replan")
	p.until("document.querySelector('dialog[open]')?.textContent.includes('its commits are not in the new one')")
	p.shot("replan")
	p.answerDialog("Cancel")
	p.sees("Retry this step")
	if got := w.call(200, "GET", "/api/requests/RQ-1/runs", "").at("items.1"); got != nil {
		t.Errorf("a run after a no: %v", got)
	}

	p.press("Replan")
	p.answerDialog("Replan")
	p.until("location.pathname !== " + quoted(old) + " && location.pathname.startsWith('/requests/RQ-1/runs/RUN-')")
	p.until(isDone)
	p.until("document.querySelector('[data-key=of]')?.textContent === " + quoted(oldRun))
	p.shot("replanned")
	p.do("void document.querySelector('[data-key=of]').click()")
	p.until("location.pathname === " + quoted(old) + " && document.querySelector('[data-key=by]')")
	p.sees("Replaced by")
	p.shot("replaced")
	for _, gone := range []string{"resume", "retry_step", "replan"} {
		if got := p.do("document.querySelector('[data-key=" + gone + "]')"); got != "null" {
			t.Errorf("a replaced run offers %s", gone)
		}
	}
	p.do("void document.querySelector('[data-key=by]').click()")
	p.until(isDone)
	p.clean()
	w.idle()
}

func (w *world) waitFile(name string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	if err := poll(ctx, 10*time.Millisecond, func() (bool, error) {
		_, err := os.Stat(w.path(name))
		return err == nil, nil
	}); err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
}

func (p *tab) counters(want string) {
	p.t.Helper()
	p.until("[...document.querySelectorAll('.counter')].map((e) => e.querySelector('b').textContent + ' ' + e.querySelector('span').textContent).join() === " + quoted(want))
}

func (p *tab) stopReason(code string) {
	p.t.Helper()
	p.until("document.querySelector('.reason .code-name')?.textContent === " + quoted(code))
}

func (p *tab) session(state string) {
	p.t.Helper()
	p.until("document.querySelector('.autorun .chip')?.title === " + quoted(state))
}

// An auto-run from the page: what it does now, what it has done, both ways to
// stop it, its limit, and what it stopped at.
func TestPageAutorun(t *testing.T) {
	browser := openBrowser(t)
	wait := func(gate string) string {
		return `touch "$AIFLOW_ROOT/` + gate + `.at"; echo go > "$AIFLOW_ROOT/` + gate + `"`
	}
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\ngate*\n",
		"requests/RQ-1.md": steps("First", "P0", "echo 1 > 1.txt"),
		"requests/RQ-2.md": steps("Waits", "P0", wait("gate2"), "echo 2 > 2.txt"),
		"requests/RQ-3.md": steps("Third", "P1", "echo 3 > 3.txt"),
		"requests/RQ-4.md": steps("Hangs", "P1", wait("gate4"), "echo 4 > 4.txt"),
		"requests/RQ-5.md": steps("Fails", "P3", wait("gate5"), "echo broken >&2; exit 3"),
	})
	for _, name := range []string{"gate2", "gate4", "gate5"} {
		if err := syscall.Mkfifo(w.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := w.tab(browser, "/autorun")
	p.sees("No auto-run yet.")
	p.do("void (window.told = [], window.Notification = class { static permission = 'default'; static async requestPermission() { return this.permission = 'granted'; } constructor(text) { told.push(text); } })")
	p.do("void document.querySelector('[data-key=notify]').click()")
	p.until("document.querySelector('[data-key=notify]').ariaPressed === 'true'")
	p.shot("autorun-none")
	p.until("[...document.querySelectorAll('.autorun input')].map((e) => e.placeholder).join('|').startsWith('20|60')")
	p.do("void (document.querySelector('.autorun input').value = '99999999999')")
	p.press("Start")
	p.until("document.querySelector('.autorun input').closest('label').textContent.includes('At most runs: from 1 to 10000.')") // where it is wrong
	p.do("void (document.querySelector('.autorun input').value = '')")
	p.press("Start")
	p.session("RUNNING")
	p.counters("1 Runs,1 Done,0 Needs input,0 Failed,0 Skipped")
	p.until("document.querySelector('.card.now a')?.textContent === 'RQ-2'")
	p.shot("autorun-running")

	// Another start meets the one that is under way.
	other := w.tab(browser, "/")
	other.sees("The queue is running")
	other.press("Run next")
	other.until("location.pathname.startsWith('/requests/RQ-2/runs/')")
	other.sees("The queue is busy: this is what it does.")
	other.close()

	// Stop after this run: it says so, and lets the run end.
	p.press("Start no more after this run")
	p.session("STOPPING")
	if got := p.do("document.querySelector('[data-key=stop]')"); got != "null" {
		t.Error("a stop that was asked for is offered again")
	}
	p.shot("autorun-stopping")
	if _, err := os.ReadFile(w.path("gate2")); err != nil {
		t.Fatal(err)
	}
	p.session("STOPPED")
	p.stopReason("STOP_REQUESTED")
	p.until("document.querySelector('.told').textContent.startsWith('Auto-run: stopped. ')")
	p.counters("2 Runs,2 Done,0 Needs input,0 Failed,0 Skipped")
	p.until("document.querySelectorAll('svg.timeline:not(.strip) .bar').length === 2")
	p.sees("2 done, 0 waiting for you, 0 failed; ")
	if got := p.do("(([strip, form]) => strip.getBoundingClientRect().top < document.querySelector('.reason').getBoundingClientRect().top && document.querySelector('.reason').getBoundingClientRect().top < form.getBoundingClientRect().top)([document.querySelector('.strip'), document.querySelector('form')])"); got != "true" {
		t.Error("what came of it does not stand above the form")
	}
	p.shot("autorun-stopped")
	w.idle()

	// One run at most.
	p.until("document.querySelector('[data-key=start]')")
	p.do("void (document.querySelector('.autorun input').value = '1')")
	p.press("Start")
	p.stopReason("MAX_RUNS_REACHED")
	p.counters("1 Runs,1 Done,0 Needs input,0 Failed,0 Skipped")
	w.idle()

	// Stop now ends the run in hand; it can be resumed.
	p.do("void (document.querySelector('.autorun input').value = '')")
	p.press("Start")
	p.until("document.querySelector('.card.now a')?.textContent === 'RQ-4'")
	w.waitFile("gate4.at")
	p.press("Stop this run now, and start no more")
	p.stopReason("INTERRUPTED")
	p.sees("RQ-4 · interrupted")
	p.sees("It was stopped as asked.") // what a person did is no accident
	p.shot("autorun-now")
	w.idle()

	// The interrupted one is taken up; it stops at what needs a person and leads there.
	if err := os.Remove(w.path("gate4.at")); err != nil {
		t.Fatal(err)
	}
	p.press("Start")
	w.waitFile("gate4.at")
	w.read("gate4")
	p.until("document.querySelector('.card.now a')?.textContent === 'RQ-5'")
	w.read("gate5")
	p.session("COMPLETED")
	p.counters("2 Runs,1 Done,1 Needs input,0 Failed,0 Skipped")
	p.until("document.querySelector('.reason [data-key=verb]')?.textContent === 'Resume'")
	p.shot("autorun-needs")
	p.until("told.join() === 'Fails: needs you'")
	// The run that was begun in the session before has only its time here.
	if got := p.do("[...document.querySelectorAll('.strip .bar')].map((e) => e.classList[1] + (parseFloat(e.getAttribute('x')) >= 0)).join()"); got != `"goodtrue,asktrue"` {
		t.Errorf("the strip has %s", got)
	}
	other = w.tab(browser, "/")
	other.until("document.querySelectorAll('.night .strip .bar').length === 2")
	other.sees("1 done, 1 waiting for you, 0 failed; ")
	other.size(390, 844)
	other.until("((r) => r.left >= 0 && r.right <= innerWidth)(document.querySelector('.night .strip').getBoundingClientRect())")
	other.shot("home-night")
	other.close()
	p.press("RQ-5 · needs input")
	p.until(needsInput)
	p.clean()
	w.idle()
}

// A session of two runs from the page: both are shown and lead to their pages, each has a
// row, and one of them is stopped alone.
func TestPageSeveralAtATime(t *testing.T) {
	browser := openBrowser(t)
	wait := func(gate string) string {
		return `touch "$AIFLOW_ROOT/` + gate + `.at"; echo go > "$AIFLOW_ROOT/` + gate + `"`
	}
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\ngate*\n",
		"requests/RQ-1.md": steps("First", "P0", wait("gate1"), "echo 1 > 1.txt"),
		"requests/RQ-2.md": steps("Second", "P1", wait("gate2"), "echo 2 > 2.txt"),
	})
	for _, name := range []string{"gate1", "gate2"} {
		if err := syscall.Mkfifo(w.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := w.tab(browser, "/autorun")
	p.until("document.querySelector('[data-key=jobs]')")
	p.do("void (document.querySelector('[data-key=jobs]').value = '2')")
	p.press("Start")
	w.waitFile("gate1.at")
	w.waitFile("gate2.at")
	p.until("[...document.querySelectorAll('.card.now p a')].map((e) => e.textContent).join() === 'RQ-1,open the run,RQ-2,open the run'")
	p.until("[...document.querySelectorAll('.strip .bar')].map((e) => e.getAttribute('y')).join() === '2,30'")
	p.shot("autorun-several")
	if bad := p.nameless(); len(bad) > 0 {
		t.Errorf("nameless: %v", bad)
	}
	p.do("void document.querySelectorAll('.card.now p a')[1].click()")
	p.until("location.pathname.startsWith('/requests/RQ-1/runs/')")
	p.press("Stop this run now")
	p.until("document.querySelector('[data-key=resume]') || document.body.innerText.includes('nterrupted')")
	w.read("gate2")
	p.open("/autorun")
	p.session("COMPLETED")
	p.counters("2 Runs,1 Done,0 Needs input,0 Failed,0 Skipped")
	w.idle()
}
