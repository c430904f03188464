package server

import (
	"fmt"
	"strings"
	"testing"
)

// A ring is a ring, with the button that ends it; a big project begins with its ring, else
// with what is next; a lock that cannot be read says so and how to be rid of it.
func TestPageRing(t *testing.T) {
	browser := openBrowser(t)
	files := map[string]string{}
	for i := range 80 {
		meta := fmt.Sprintf("title: Number %d\nstatus: ready\nsteps: [{title: x, run: 'true'}]\n", i)
		switch i { // the next one has fewer that wait for it than another has
		case 39:
			meta += "priority: P0\n"
		case 40:
			meta += "depends_on: [RQ-39]\n"
		case 50, 51:
			meta += "depends_on: [RQ-49]\n"
		}
		files[fmt.Sprintf("requests/RQ-%02d.md", i)] = request(meta, "")
	}
	for _, e := range []string{"A1 A2", "A2 A3", "A3 A1"} {
		from, to, _ := strings.Cut(e, " ")
		files["requests/RQ-"+from+".md"] = request("title: Ring "+from+"\nstatus: ready\ndepends_on: [RQ-"+to+"]\nsteps: [{title: x, run: 'true'}]\n", "")
	}
	w := newWorld(t, files)
	p := w.tab(browser, "/graph")
	p.until("document.querySelectorAll('.ring .node').length === 3 && document.querySelectorAll('.ring .edge.cycle').length === 3")
	p.sees("These wait for each other in a ring")
	p.sees("83 requests are too many")
	if p.do("[...document.querySelectorAll('button')].some((b) => b.textContent === 'One step more')") != "false" {
		t.Error("one step more leads nowhere")
	}
	if got := p.do("document.querySelector('.ring .node .n-state').textContent"); got != `"waits in a ring"` {
		t.Errorf("a card of the ring says %s", got)
	}
	// The arrows end outside the cards: none is hidden behind one.
	hidden := "[...document.querySelectorAll('.ring .edge')].filter((e) => { const end = e.getPointAtLength(e.getTotalLength()), box = e.ownerSVGElement.getBoundingClientRect(); return [...document.querySelectorAll('.ring .node rect')].some((r) => { const b = r.getBoundingClientRect(); return end.x + box.x > b.left + 3 && end.x + box.x < b.right - 3 && end.y + box.y > b.top + 3 && end.y + box.y < b.bottom - 3; }); }).length"
	if got := p.do(hidden); got != "0" {
		t.Errorf("%s arrows are hidden", got)
	}
	if bad := p.nameless(); len(bad) > 0 {
		t.Errorf("nameless: %v", bad)
	}
	p.shot("ring")
	if got := p.do("document.querySelector('.ring .btn.primary').ariaLabel"); got != `"Remove this dependency: RQ-A3 waits for RQ-A1"` {
		t.Errorf("offered first: %s", got)
	}
	p.do("void document.querySelector('.ring .btn.primary').click()")
	p.sees("RQ-A3 no longer waits for RQ-A1.")
	p.until("!document.querySelector('.ring')")
	if text := w.read("requests/RQ-A3.md"); strings.Contains(text, "RQ-A1") {
		t.Errorf("the file says %s", text)
	}

	// The next one has a place in the graph: it begins there.
	p.open("/graph")
	p.until("document.querySelector('.node.focus .n-id')?.textContent.startsWith('RQ-39')")

	w.write(".aiflow/locks/request.RQ-05.lock.json", "garbage{")
	p.open("/requests/RQ-05")
	p.sees("the file cannot be read as a lock and counts as held")
	p.until("document.querySelector('.card.ask .hint')?.textContent.includes('aiflow lock release')")
	if text := p.do("document.body.innerText"); strings.Contains(text, "process 0") || strings.Contains(text, "0001") {
		t.Errorf("it shows zeros: %s", text)
	}
	p.open("/doctor")
	p.until("[...document.querySelectorAll('.doctor li')].some((e) => e.textContent.includes('the file cannot be read as a lock and counts as held'))")
	p.clean()
}
