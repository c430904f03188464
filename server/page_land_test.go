package server

import (
	"os"
	"strings"
	"testing"
)

// What is ready to merge: which merge cleanly, which collide in which file, and the
// buttons merge one and all, as the command line does.
func TestPageLands(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\n",
		"requests/RQ-1.md": steps("Red wall", "P0", "echo red > wall.txt"),
		"requests/RQ-2.md": steps("Blue wall", "P1", "echo blue > wall.txt"),
		"requests/RQ-3.md": steps("A door", "P2", "echo door > door.txt"),
		"requests/RQ-4.md": steps("A roof", "P2", "echo roof > roof.txt"),
		"requests/RQ-5.md": steps("A path", "P2", "echo path > path.txt"),
	})
	for _, id := range []string{"RQ-1", "RQ-2", "RQ-3", "RQ-4", "RQ-5"} {
		w.call(202, "POST", "/api/requests/"+id+"/run", `{}`)
		w.idle()
	}
	// What a run made is merged on its own page, and what came of it is told.
	p := w.tab(browser, "/requests/RQ-5/runs/"+w.call(200, "GET", "/api/requests/RQ-5/latest-run", "").text("run_id"))
	p.sees("aiflow run drop RUN-")
	p.press("Merge")
	p.sees("Merge onto main: RQ-5?")
	p.answerDialog("Merge")
	p.until("location.pathname === '/land'")
	p.sees("landed 1, left out 0")
	if _, err := os.Stat(w.path("path.txt")); err != nil {
		t.Error(err)
	}
	p.open("/")
	p.press("What merges?")
	p.until("location.pathname === '/land'")
	p.open("/land") // its address leads there
	p.sees("main: 3 would land, 1 would be left out")
	p.until("document.querySelector('.collision')?.textContent.replace(/\\s+/g, ' ') === 'collide RQ-1 and RQ-2: wall.txt'")
	p.sees("Blue wall")
	if got := p.do("[...document.querySelectorAll('.card.good li .lane-title')].map((e) => e.textContent).join()"); got != `"Red wall,A door,A roof"` {
		t.Errorf("these would land: %s", got)
	}
	if bad := p.nameless(); len(bad) > 0 {
		t.Errorf("nameless: %v", bad)
	}
	if bad := p.do(twice); bad != "[]" {
		t.Errorf("buttons of one name: %s", bad)
	}
	p.shot("land")

	// One, then all that is left and merges.
	p.do("void document.querySelector('[data-key=\"land:RQ-3\"]').click()")
	p.answerDialog("Merge")
	p.sees("main: 2 would land, 1 would be left out")
	if _, err := os.Stat(w.path("door.txt")); err != nil {
		t.Error(err)
	}
	p.press("Merge all 2")
	p.answerDialog("Merge")
	p.sees("landed 2, left out 0")
	p.sees("main: 0 would land, 1 would be left out")
	if got := strings.TrimSpace(w.read("wall.txt")); got != "red" {
		t.Errorf("the wall is %s", got)
	}
	p.sees("resolve the conflict by hand: git merge aiflow/RQ-2/")
	p.shot("landed")
	// One press on its request makes no second run in the place of the first.
	p.open("/requests/RQ-2")
	p.press("Run")
	p.sees("A finished branch of this request waits to be merged.")
	p.answerDialog("Cancel")
	p.clean()
	w.idle()
}
