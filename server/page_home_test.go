package server

import (
	"strconv"
	"strings"
	"testing"
)

// The list says in the morning what became of the night: how many need somebody, what
// is to merge, what is next. Each number is a filter that the address keeps.
func TestPageMorning(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{
		".gitignore":             "runs/\n.aiflow/\n",
		".aiflow/config.v1.json": `{"tests": {"unit": {"command": "true"}}}`,
		"requests/RQ-1.md":       steps("Fails", "P0", "echo broken >&2; exit 3"),
		"requests/RQ-2.md":       steps("Works", "P1", "echo 2 > 2.txt"),
		"requests/RQ-3.md":       steps("Comes next", "P2", "echo 3 > 3.txt"),
		"requests/RQ-4.md":       request("title: Waits for the failing one and has a title that is far too long to be read whole in one row\nstatus: ready\npriority: P3\ndepends_on: [RQ-1]\nsteps: [{title: Nothing, run: 'true'}]\n", "The word is xylophone.\n"),
	})
	p := w.tab(browser, "/")
	p.sees("What to do first")
	for _, id := range []string{"RQ-1", "RQ-2"} {
		w.call(202, "POST", "/api/requests/"+id+"/run", `{}`)
		w.idle()
	}
	p.until("[...document.querySelectorAll('.counted')].map((e) => e.textContent).join() === '1 waiting for you,1 ready to merge,0 running,1 can run'")
	rowOf := func(id string) string {
		return "[...document.querySelectorAll('.rq')].find((e) => e.querySelector('.id').textContent === " + quoted(id) + ")"
	}
	p.until("document.title === '! Needs you (1) · aiflow' && !document.body.innerText.includes('What to do first')")
	lanes := "[...document.querySelectorAll('.lane')].map((l) => [...l.querySelectorAll('.lane-title')].map((a) => a.textContent).join('+')).join()"
	if got := p.do(lanes); got != `"Fails,Works,Comes next"` {
		t.Errorf("the lanes are %s", got)
	}
	if got := p.do("[...document.querySelectorAll('.rq .state')].map((e) => e.querySelectorAll('.chip').length).join()"); got != `"1,1,1,1"` {
		t.Errorf("chips in the rows: %s", got)
	}
	for id, want := range map[string]string{"RQ-1": "The step's command failed", "RQ-2": "merge aiflow/", "RQ-4": "waits for RQ-1"} {
		if got := strings.Trim(p.do(rowOf(id)+".querySelector('.why').textContent"), `"`); !strings.HasPrefix(got, want) {
			t.Errorf("the reason of %s is %q", id, got)
		}
	}
	if cut := p.do("[...document.querySelectorAll('.rq .why')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"); cut != "[]" {
		t.Errorf("reasons that do not fit: %s", cut)
	}
	if got := p.do("[...document.querySelectorAll('.rq')].map((e) => e.getBoundingClientRect().height).join()"); got != `"40,40,40,40"` {
		t.Errorf("the rows are %s px", got)
	}
	if got := p.do(rowOf("RQ-1") + ".querySelector('.dots').ariaLabel + ' ' + " + rowOf("RQ-1") + ".querySelector('.age').textContent"); got != `"last runs: needs input just now"` {
		t.Errorf("the last runs: %s", got)
	}
	// What needs somebody says its last line, and has the one button that goes on.
	p.until("document.querySelector('.lane.needs .last-line')?.textContent === 'broken'")
	p.until("document.querySelector('.lane.needs .btn').textContent === 'Resume'")
	// What is ready to merge says what it changes and how its tests went.
	p.until("/^files: 2 · \\+\\d+ −1 tests passed: 1 [\\d.]+s See the diff$/.test(document.querySelector('.lane.merge .card-more')?.innerText.replace(/\\s+/g, ' ').trim())")
	p.shot("morning")

	// Each filter says how many it shows, and each button of whom it is.
	p.until("document.querySelector('[data-key=statuswaits]').dataset.n === '1' && document.querySelector('[data-key=priorityP0]').dataset.n === '1'")
	if bad := p.do(twice); bad != "[]" {
		t.Errorf("buttons of one name: %s", bad)
	}

	rows := func(want string) {
		t.Helper()
		p.until("[...document.querySelectorAll('.rq')].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map((e) => e.querySelector('.id').textContent).join() === " + quoted(want))
	}
	p.do("void document.querySelector('[data-key=statusneeds]').click()")
	rows("RQ-1")
	if p.do("(([list, lanes]) => list.getBoundingClientRect().bottom <= innerHeight && !lanes.checkVisibility())([document.querySelector('.rows'), document.querySelector('.lanes')])") != "true" {
		t.Error("who asked for those that wait has to look for them")
	}
	p.do("void history.back()")
	p.until("location.search === '' && document.querySelector('.lanes')?.checkVisibility()")
	p.do("void history.forward()")
	rows("RQ-1")
	p.do("void document.querySelector('[data-key=statusmerge]').click()")
	p.until("document.querySelectorAll('.rq').length === 2")
	p.open(p.address())
	p.until("document.querySelector('[data-key=statusmerge]')?.ariaPressed === 'true' && document.querySelectorAll('.rq').length === 2")
	p.press("Clear filter")
	p.until("document.querySelectorAll('.rq').length === 4 && location.search === '' && document.querySelector('.lanes').checkVisibility()")
	p.key("/")
	p.do("void document.execCommand('insertText', false, 'step_command_failed')")
	rows("RQ-1,RQ-4") // it stopped for that, and what waits for it
	p.press("Clear filter")
	p.key("/")
	p.do("void document.execCommand('insertText', false, 'xylophone')") // only in its text
	rows("RQ-4")
	p.press("Clear filter")
	p.do("void document.querySelector('[data-key=statusneeds_input]').click()")
	rows("RQ-1")
	p.until("location.search === '?status=needs_input'")
	p.press("Clear filter")

	// Several at once: archived, then ready again and of another priority.
	pick := func(ids ...string) {
		for _, id := range ids {
			p.until(rowOf(id) + "?.querySelector('[type=checkbox]')")
			p.do("void " + rowOf(id) + ".querySelector('[type=checkbox]').click()")
		}
		p.sees(strconv.Itoa(len(ids)) + " selected")
	}
	pick("RQ-3", "RQ-4")
	p.shot("selected")
	p.press("Archive")
	p.answerDialog("Archive")
	p.sees("2 changed.")
	p.until("document.querySelectorAll('.picking .banner').length === 0 && " + rowOf("RQ-4") + ".querySelector('.state').textContent === 'archived'")
	pick("RQ-3", "RQ-4")
	p.press("Set to ready")
	p.until("document.querySelectorAll('.picking .banner').length === 0")
	pick("RQ-3", "RQ-4")
	p.do("void ((e) => { e.value = 'P1'; e.dispatchEvent(new Event('change')); })(document.querySelector('.picking select'))")
	p.until(rowOf("RQ-3") + ".querySelector('.prio').textContent + " + rowOf("RQ-4") + ".querySelector('.prio').textContent === 'P1P1'")
	for _, id := range []string{"RQ-3", "RQ-4"} {
		if text := w.read("requests/" + id + ".md"); !strings.Contains(text, "priority: P1\n") || !strings.Contains(text, "status: ready\n") {
			t.Errorf("%s is %s", id, text)
		}
	}

	p.do("void ((e) => { e.value = 'title'; e.dispatchEvent(new Event('change')); })(document.querySelector('select[aria-label=Sort]'))")
	rows("RQ-3,RQ-1,RQ-4,RQ-2")
	p.until("location.search === '?sort=title'")

	// What needs somebody is one press away, and back is where one was.
	p.until("document.activeElement.dataset.key !== 'open'")
	p.do("void ((e) => { e.focus(); e.click(); })(" + rowOf("RQ-4") + ".querySelector('.title'))")
	p.until("location.pathname === '/requests/RQ-4'")
	p.until("[...document.querySelectorAll('.do .btn')].map((e) => e.textContent).join() === 'Edit text,Edit details,Mark as done,Archive,In the graph'") // to run it would be refused
	p.do("void history.back()")
	p.until("document.activeElement.closest('.rq')?.querySelector('.id').textContent === 'RQ-4'")
	p.press("Fails")
	p.until(needsInput)

	// What is finished and not merged is no problem: its change is first, and it is not marked as done in passing.
	p.open("/requests/RQ-2")
	p.until("[...document.querySelectorAll('.do .btn')].map((e) => e.textContent).join().startsWith('See the diff,What merges?,')")
	p.until("/^RUN-/.test(document.querySelector('.card.good a.id')?.textContent)")
	p.press("Mark as done")
	p.sees("The branch of RQ-2 is not merged.")
	p.answerDialog("Cancel")
	p.until("document.querySelector('.facts .chip').textContent === 'ready'")
	p.clean()
	w.idle()
}
