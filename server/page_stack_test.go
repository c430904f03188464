package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What starts on top of what is not merged says so before, while and after it runs; when
// that is made anew it is stale and not ready to merge, until it was moved, which
// the page does as the command line.
func TestPageStacks(t *testing.T) {
	browser := openBrowser(t)
	w := newWorld(t, map[string]string{
		".gitignore":             "runs/\n.aiflow/\nbad\n",
		".aiflow/config.v1.json": `{"auto_run": {"stack": true}, "tests": {"land": {"command": "test ! -e \"$AIFLOW_ROOT/bad\""}}}`,
		"requests/RQ-1.md":       steps("Below", "P0", "echo 1 > 1.txt"),
		"requests/RQ-2.md":       request("title: Above\npriority: P1\nstatus: ready\ndepends_on: [RQ-1]\nsteps:\n  - title: Do it\n    run: echo 2 > 2.txt\n", "Text\n"),
	})
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(w.s.RunBin, args...)
		cmd.Dir, cmd.Env = w.dir, environ(filepath.Dir(w.dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	row := func(says string) string {
		return "[...document.querySelectorAll('.rq')].find((e) => e.querySelector('.id').textContent === 'RQ-2')?.innerText.replaceAll('\\n', ' ').includes(" + quoted(says) + ")"
	}
	p := w.tab(browser, "/")
	p.until(row("waits for RQ-1"))
	run("RQ-1")
	p.until(row("would start on top of RQ-1"))
	p.shot("stack-before")
	p.press("Above")
	p.sees("it would start on top of what is not merged: RQ-1")
	p.press("Run")
	p.until("document.querySelector('.stands-on a')?.textContent === 'RQ-1'")
	p.until(isDone)
	p.sees("Merge the branch to finish the request")
	at := p.address()
	w.idle()

	run("RQ-1", "--fresh")
	p.until("document.querySelector('.reason.ask h2')?.textContent === 'What it stands on has changed'")
	p.until("document.querySelector('.reason code').textContent.startsWith('aiflow run restack RUN-')")
	if p.do(inWindow(".reason [data-key=restack]")) != "true" {
		t.Error("the button that moves it has to be looked for")
	}
	p.shot("stack-stale")
	p.open("/")
	p.until(row("the ground has changed: RQ-1") + " && " + row("stale"))
	p.until("[...document.querySelectorAll('.counted')].map((e) => e.textContent).join() === '1 waiting for you,1 ready to merge,0 running,0 can run'")
	p.until("document.querySelector('.lane.needs .btn')?.textContent === 'Restack'")
	p.shot("stack-lane")
	tip := func() string {
		return w.git("rev-parse", w.call(200, "GET", "/api/requests/RQ-2/latest-run", "").text("work_branch"))
	}
	before := tip()

	// It asks first, and a no changes nothing; what fails its tests stays where it was and says so.
	w.write("bad", "")
	p.press("Restack")
	p.until("document.querySelector('dialog[open]')?.textContent.includes('the branch as it was is kept')")
	p.shot("restack")
	p.answerDialog("Cancel")
	p.press("Restack")
	p.answerDialog("Restack")
	p.until("document.querySelector('.toast.bad')?.textContent.includes('RQ-2: ')")
	p.shot("restack-refused")
	if tip() != before {
		t.Error("it was moved though its tests fail")
	}
	if err := os.Remove(w.path("bad")); err != nil {
		t.Fatal(err)
	}
	p.press("Restack")
	p.answerDialog("Restack")
	p.until("document.querySelector('.toast.good')?.textContent.startsWith('restacked RQ-2  ')")
	p.until(row("merge aiflow/") + " && !document.querySelector('.lane.needs .btn')")
	if tip() == before {
		t.Error("it was not moved")
	}

	// The same on the page of what would merge, on the request and on the run.
	again := func() {
		t.Helper()
		w.idle()
		run("RQ-1", "--fresh")
		w.call(200, "GET", "/api/requests/RQ-2/latest-run", "").wants("stale", "RQ-1")
	}
	again()
	p.open("/land")
	p.until("document.querySelector('[data-key=\"restack:RQ-2\"]')")
	p.shot("stack-land")
	p.press("Restack")
	p.answerDialog("Restack")
	p.sees("main: 2 would land, 0 would be left out")
	again()
	p.open("/requests/RQ-2")
	p.until("document.querySelector('.do .btn')?.textContent === 'Restack'")
	p.shot("stack-request")
	p.press("Restack")
	p.answerDialog("Restack")
	p.until("document.querySelector('.do .btn')?.textContent === 'See the diff'")
	again()
	p.open(at)
	p.until("document.querySelector('.spine .primary')?.textContent === 'Restack'")
	p.press("Restack")
	p.answerDialog("Restack")
	p.sees("Merge the branch to finish the request")
	p.clean()
	w.idle()
}
