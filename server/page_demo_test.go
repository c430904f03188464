package server

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page of scripts/demo in the morning, of which README has a picture
// (scripts/picture): one is ready to merge, one needs a person, one can run.
func TestPageOfTheDemo(t *testing.T) {
	browser := openBrowser(t)
	dir := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.Command("../scripts/demo", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, files)
	w.call(202, "POST", "/api/requests/RQ-20260105-001-greeting/run", `{}`)
	w.idle()
	w.call(202, "POST", "/api/requests/RQ-20260105-003-farewell/run", `{"stack":true}`)
	w.idle()
	p := w.tab(browser, "/")
	p.until("[...document.querySelectorAll('.counted')].map((e) => e.textContent).join() === '1 waiting for you,1 ready to merge,0 running,1 can run'")
	p.until("document.querySelector('.lane.needs .last-line')")
	if titles := p.do("[...document.querySelectorAll('.lane-title')].map((e) => e.textContent).join()"); !strings.Contains(titles, "Say goodbye") {
		t.Error(titles)
	}
	// Where there is less room the ids are still whole, and so are the reasons.
	p.size(1024, 768)
	p.until("innerWidth === 1024 && document.querySelectorAll('.rq .id').length === 5")
	if cut := p.do("[...document.querySelectorAll('.rq .id, .rq .why')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"); cut != "[]" {
		t.Errorf("cut: %s", cut)
	}
	to := os.Getenv("PAGE_SHOTS")
	if to == "" {
		return
	}
	p.size(1280, 660)
	// A machine without fonts for them would show boxes.
	p.do(`void [...document.querySelectorAll('header button, header a')].filter((e) => /[^\x00-\x7f]/.test(e.textContent)).forEach((e) => { e.style.visibility = 'hidden' })`)
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err := errors.Join(err, os.WriteFile(filepath.Join(to, "demo.png"), data, 0o666)); err != nil {
		t.Fatal(err)
	}
}
