package server

import "testing"

// The list says in the morning what became of the night: how many need somebody, what
// is to merge, what is next. Each number is a filter that the address keeps.
func TestPageMorning(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\n",
		"requests/RQ-1.md": steps("Fails", "P0", "echo broken >&2; exit 3"),
		"requests/RQ-2.md": steps("Works", "P1", "echo 2 > 2.txt"),
		"requests/RQ-3.md": steps("Comes next", "P2", "echo 3 > 3.txt"),
	}, realRun(t))
	p := w.tab(browser, "/")
	p.sees("What to do first")
	for _, id := range []string{"RQ-1", "RQ-2"} {
		w.call(202, "POST", "/api/requests/"+id+"/run", `{}`)
		w.idle()
	}
	p.until("[...document.querySelectorAll('.counted')].map((e) => e.textContent).join() === '1 need you,1 ready to merge,0 running,1 can run'")
	p.until("document.title === '! Needs you (1) · aiflow'")
	lanes := "[...document.querySelectorAll('.lane')].map((l) => [...l.querySelectorAll('.lane-title')].map((a) => a.textContent).join('+')).join()"
	if got := p.do(lanes); got != `"Fails,Works,Comes next"` {
		t.Errorf("the lanes are %s", got)
	}
	if got := p.do("[...document.querySelectorAll('.rq .state')].map((e) => e.querySelectorAll('.chip').length).join()"); got != `"1,1,1"` {
		t.Errorf("chips in the rows: %s", got)
	}
	p.shot("morning")

	rows := func(want string) {
		t.Helper()
		p.until("[...document.querySelectorAll('.rq')].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map((e) => e.querySelector('.id').textContent).join() === " + quoted(want))
	}
	p.do("void document.querySelector('[data-key=statusneeds]').click()")
	rows("RQ-1")
	p.do("void document.querySelector('[data-key=statusmerge]').click()")
	p.until("document.querySelectorAll('.rq').length === 2")
	p.open(p.address())
	p.until("document.querySelector('[data-key=statusmerge]')?.ariaPressed === 'true' && document.querySelectorAll('.rq').length === 2")
	p.press("Clear filter")
	p.until("document.querySelectorAll('.rq').length === 3 && location.search === ''")
	p.key("/")
	p.do("void document.execCommand('insertText', false, 'step_command_failed')")
	rows("RQ-1")
	p.press("Clear filter")
	p.do("void ((e) => { e.value = 'title'; e.dispatchEvent(new Event('change')); })(document.querySelector('select[aria-label=Sort]'))")
	rows("RQ-3,RQ-1,RQ-2")
	p.until("location.search === '?sort=title'")

	// What needs somebody is one press away.
	p.press("Fails")
	p.until(needsInput)
	p.clean()
	w.idle()
}
