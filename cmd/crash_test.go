package cmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// everyPoint makes the crash tests take every single point, not a selection
// that has every kind of point in it.
var everyPoint = flag.Bool("crash.all", false, "crash at every point (minutes)")

const crashRequest = "RQ-20260101-001-three"

const crashRequestText = `---
id: RQ-20260101-001-three
title: Three steps
priority: P1
status: ready # set by hand
created_at: 2026-01-01
steps:
  - title: Write a file
    run: echo S01 >> "$SIDE"; echo one > one.txt
  - title: Test it
    run: echo S02 >> "$SIDE"; echo two > 'two words.txt'
    test: echo T02 >> "$SIDE"; test -s 'two words.txt'
  - title: Change what is there
    run: echo S03 >> "$SIDE"; echo more >> README.md; rm gone.txt
---
# Three steps
`

// lab is what the crash tests share: binaries that can be told to die, a
// repository to copy, and what an undisturbed run makes of it.
type lab struct {
	bin      string
	template string
	home     string
	request  string
	points   []string
	tree     string
	subjects string
	before   snapshot
	status   int // of an undisturbed run
}

func newLab(t *testing.T, home, request, text string) *lab {
	t.Helper()
	l := labIn(t, home, request, text, `{"version": "1.0"}`)
	// Work in hand: nothing of it may be touched.
	l.write(t, "template/mine.txt", "changed, not staged\n")
	l.write(t, "template/staged.txt", "staged\n")
	l.git(t, l.template, "add", "staged.txt")
	l.write(t, "template/untracked.txt", "untracked\n")
	l.ready(t)
	return l
}

func (l *lab) ready(t *testing.T) {
	t.Helper()
	l.before = l.snap(t, l.template)
	l.undisturbed(t)
}

// threeSteps and failing are the labs that most tests use, made once.
func threeSteps(t *testing.T) *lab { return sharedLab(t, crashRequest, crashRequestText) }
func failing(t *testing.T) *lab    { return sharedLab(t, failingRequest, failingText) }

func sharedLab(t *testing.T, request, text string) *lab {
	t.Helper()
	if shared[request] == nil {
		shared[request] = newLab(t, filepath.Join(crashBin(t), "labs", request), request, text)
	}
	return shared[request]
}

var shared = map[string]*lab{}

// labIn makes the repository, clean, with a configuration.
func labIn(t *testing.T, home, request, text, config string) *lab {
	t.Helper()
	l := &lab{bin: crashBin(t), home: home, request: request}
	l.template = filepath.Join(l.home, "template")
	l.write(t, "home/gitconfig", "[user]\n\tname = Crash\n\temail = crash@example.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n")
	for name, text := range map[string]string{
		"README.md": "# Readme\n", "gone.txt": "gone\n", "mine.txt": "as committed\n", ".gitignore": "runs/\n.aiflow/locks/\n.aiflow/worktrees/\n.aiflow/cache/\n",
		".aiflow/config.v1.json":            config,
		"requests/" + request + ".md":       text,
		"requests/RQ-20260101-002-after.md": "---\ntitle: After it\npriority: P2\nstatus: ready\ncreated_at: 2026-01-01\ndepends_on: [" + request + "]\nsteps: [{title: x, run: 'true'}]\n---\n",
	} {
		l.write(t, "template/"+name, text)
	}
	l.git(t, l.template, "init", "-q", "--template=", ".")
	l.git(t, l.template, "add", "-A")
	l.git(t, l.template, "commit", "-q", "-m", "begin")
	return l
}

func (l *lab) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(l.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) env(more ...string) []string {
	return append([]string{
		"PATH=" + l.bin + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(l.home, "home"),
		"GIT_CONFIG_GLOBAL=" + filepath.Join(l.home, "home/gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "TZ=UTC",
	}, more...)
}

func (l *lab) git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, l.env("GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// undisturbed runs the request once and lists the points that it passes.
func (l *lab) undisturbed(t *testing.T) {
	t.Helper()
	w := l.world(t)
	list := filepath.Join(l.home, "points")
	res := w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT_LIST="+list)
	l.status = res.status
	if res.killed {
		t.Fatalf("an undisturbed run: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	l.points = strings.Fields(string(data))
	l.tree, l.subjects = w.made()
}

// world is one copy of the repository.
type world struct {
	*lab
	t    *testing.T
	dir  string
	side string
	jobs int // runs that write at a time; 0 is one
}

func (l *lab) world(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{lab: l, t: t, dir: filepath.Join(home, "repo"), side: filepath.Join(home, "side")}
	if out, err := exec.Command("cp", "-a", l.template, w.dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	return w
}

type ran struct {
	stdout, stderr string
	status         int
	killed         bool
}

func (r ran) String() string {
	return fmt.Sprintf("status %d, killed %v\n--- stdout\n%s--- stderr\n%s", r.status, r.killed, r.stdout, r.stderr)
}

// diedAt wants that a command was killed at a point. How often some points are
// passed depends on how quick a command is, so that one which was to die at a
// later pass may have ended well.
func (r ran) diedAt(t testing.TB, point string) {
	t.Helper()
	_, pass, _ := strings.Cut(point, ":")
	switch {
	case r.killed:
	case r.status == 0 && pass != "" && pass != "1":
		t.Skip("passed less often this time")
	default:
		t.Fatalf("was not killed: %s", r)
	}
}

func (w *world) run(name string, args []string, env ...string) ran {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, name), args...)
	cmd.Dir, cmd.Env = w.dir, w.env(append(env, "SIDE="+w.side)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.WaitDelay = 20 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	r := ran{stdout: out.String(), stderr: errOut.String(), status: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		r.killed = ws.Signaled() && ws.Signal() == syscall.SIGKILL
	}
	return r
}

// made is the tree and the commit subjects of the run's only branch.
func (w *world) made() (tree, subjects string) {
	w.t.Helper()
	branches := w.git(w.t, w.dir, "for-each-ref", "--format=%(refname)", "refs/heads/aiflow")
	if strings.Count(branches, "\n") > 0 || branches == "" {
		w.t.Errorf("not one work branch:\n%s", branches)
		return "", ""
	}
	return w.git(w.t, w.dir, "rev-parse", branches+"^{tree}"), w.git(w.t, w.dir, "log", "--format=%s", "main.."+branches)
}

// snapshot is what belongs to the user: path -> mode and hash.
type snapshot map[string]string

func (l *lab) snap(t *testing.T, dir string) snapshot {
	t.Helper()
	s := snapshot{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if !users(filepath.ToSlash(rel)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if fi, err := d.Info(); err == nil && fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			s[filepath.ToSlash(rel)] = fmt.Sprintf("%s %x", fi.Mode(), sha256.Sum256(data))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// users says what is the user's: the checkout, HEAD, the index, the branches
// that are not ours. What aiflow keeps and git's own stores are not.
func users(rel string) bool {
	switch rel {
	case "runs", ".aiflow", ".git/objects", ".git/logs", ".git/worktrees", ".git/refs/heads/aiflow", ".git/refs/aiflow":
		return false
	}
	return true
}

// same complains about everything that changed. The request's file may be the
// one that is given.
func (w *world) same(when string, mayBe ...string) {
	w.t.Helper()
	now := w.snap(w.t, w.dir)
	file := "requests/" + w.request + ".md"
	for _, text := range mayBe {
		if now[file] == fmt.Sprintf("-rw-r--r-- %x", sha256.Sum256([]byte(text))) {
			now[file] = w.before[file]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] != w.before[name] && !isTemp(name) {
			w.t.Errorf("%s: %s changed", when, name)
		}
	}
	for name := range w.before {
		if now[name] == "" {
			w.t.Errorf("%s: %s is gone", when, name)
		}
	}
}

func isTemp(name string) bool { return strings.Contains(filepath.Base(name), ".tmp-") }

// temps are left-over temporary files anywhere.
func (w *world) temps() []string {
	var found []string
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && isTemp(path) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

func (w *world) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(w.dir, pattern))
	return found
}

// sideCounts says how often each step did its work.
func (w *world) sideCounts() map[string]int {
	data, _ := os.ReadFile(w.side)
	n := map[string]int{}
	for _, line := range strings.Fields(string(data)) {
		n[line]++
	}
	return n
}

func running(text string) string { return strings.Replace(text, "status: ready", "status: running", 1) }

// looks asks what other commands say of the half-done state.
func (w *world) looks(when string) {
	w.t.Helper()
	for _, c := range [][]string{{"aiflow-next", "--json"}, {"aiflow-request", "list", "--json"}, {"aiflow-run", "list", "--json"}} {
		if _, err := os.Stat(filepath.Join(w.bin, c[0])); err != nil {
			continue
		}
		res := w.run(c[0], c[1:])
		if res.status != 0 || !json.Valid([]byte(res.stdout)) {
			w.t.Errorf("%s: %v: %s", when, c, res)
		}
	}
}

// recorded says whether a run has a record yet.
func (w *world) recorded() bool { return len(w.glob("runs/*/*/stage.json")) > 0 }

// settled is the end of every story: the request done on its branch, the
// checkout as it was, nothing left over.
func (w *world) settled() {
	w.t.Helper()
	w.same("at the end")
	if tree, subjects := w.made(); tree != w.tree || subjects != w.subjects {
		w.t.Errorf("the branch differs: tree %s, want %s; commits\n%s\nwant\n%s", tree, w.tree, subjects, w.subjects)
	}
	if found := w.temps(); len(found) > 1 {
		w.t.Errorf("left over: %v", found)
	}
	if found := w.glob(".aiflow/locks/*.lock.json"); len(found) > 0 {
		w.t.Errorf("locks are left: %v", found)
	}
	if found := w.glob(".aiflow/worktrees/*"); len(found) > 0 {
		w.t.Errorf("worktrees are left: %v", found)
	}
	if found := w.glob(".git/worktrees/*"); len(found) > 0 {
		w.t.Errorf("git still knows worktrees: %v", found)
	}
	if n := len(w.glob("runs/*/*/stage.json")); n != 1 {
		w.t.Errorf("%d runs are recorded", n)
	}
}

func (w *world) twiceAtMost() {
	w.t.Helper()
	again := 0
	for _, step := range []string{"S01", "S02", "S03"} {
		n := w.sideCounts()[step]
		if n < 1 || n > 2 {
			w.t.Errorf("%s was done %d times", step, n)
		}
		again += max(0, n-1)
	}
	if again > 1 {
		w.t.Errorf("%d steps were done twice: %v", again, w.sideCounts())
	}
}

// selection takes one of every kind of point: the first, one between or the
// last, by turns. Tests with different turns take different ones. Every takes all.
func selection(points []string, every bool, turn int) []string {
	if every {
		return points
	}
	byKind := map[string][]string{}
	for _, p := range points {
		kind, _, _ := strings.Cut(p, ":")
		byKind[kind] = append(byKind[kind], p)
	}
	var chosen []string
	for i, kind := range slices.Sorted(maps.Keys(byKind)) {
		all := byKind[kind]
		chosen = append(chosen, all[(len(all)-1)*((i+turn)%4)/3])
	}
	return chosen
}

// story is one point and what is done to the run there.
type story struct{ point, action string }

// TestKilledAnywhere kills a run at each of its points and runs the request
// again.
func TestKilledAnywhere(t *testing.T) {
	l := threeSteps(t)
	if l.status != 0 {
		t.Fatalf("the undisturbed run ended with %d", l.status)
	}
	for i, point := range l.chosen(t, 0) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT="+point).diedAt(t, point)
			recorded := w.recorded()
			w.same("after the kill", running(crashRequestText))
			if i%2 == 0 {
				w.looks("after the kill")
			}
			res := w.run("aiflow-run", []string{l.request})
			if res.status != 0 {
				t.Fatalf("run again: %s", res)
			}
			if recorded && !strings.Contains(res.stderr, "RUN-") {
				t.Errorf("run again does not say what it found: %s", res)
			}
			w.settled()
			w.twiceAtMost()
			if t.Failed() {
				t.Logf("run again: %s", res)
			}
		})
	}
}

// chosen are the points to take. Every kind of point is among them.
func (l *lab) chosen(t *testing.T, turn int) []string {
	t.Helper()
	points := selection(l.points, *everyPoint, turn)
	t.Logf("%d points of %d kinds, %d taken", len(l.points), len(kinds(l.points)), len(points))
	if got, want := kinds(points), kinds(l.points); !slices.Equal(got, want) {
		t.Errorf("not every kind of point is taken: %v, want %v", got, want)
	}
	if testing.Short() {
		points = slices.DeleteFunc(points, func(p string) bool { return !strings.HasPrefix(p, "at.") && !strings.HasSuffix(p, ":1") })
	}
	return points
}

func kinds(points []string) []string {
	set := map[string]bool{}
	for _, p := range points {
		kind, _, _ := strings.Cut(p, ":")
		set[kind] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// TestDiskFailsAnywhere makes the disk full or broken at each point, for a
// moment or from then on, and runs the request again on a disk that is well.
func TestDiskFailsAnywhere(t *testing.T) {
	l := threeSteps(t)
	var stories []story
	n := 0
	for _, point := range l.chosen(t, 1) {
		if strings.HasPrefix(point, "at.") {
			continue
		}
		all := []string{"enospc", "eio", "enospc,always", "eio,always"}
		if *everyPoint {
			for _, a := range all {
				stories = append(stories, story{point, a})
			}
			continue
		}
		stories = append(stories, story{point, all[n%4]})
		n++
	}
	for _, s := range stories {
		t.Run(s.point+"="+s.action, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			res := w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT="+s.point+"="+s.action)
			w.oneReason(res)
			w.same("after the failure", running(crashRequestText), blocked(crashRequestText))
			w.looks("after the failure")
			if res.status == 0 {
				w.dropDeadLocks()
			} else if again := w.again(); again.status != 0 {
				t.Fatalf("run again: %s\nbefore: %s", again, res)
			}
			w.settled()
			w.twiceAtMost()
			if t.Failed() {
				t.Logf("first: %s", res)
			}
		})
	}
}

// dropDeadLocks takes away what a run could not remove itself: nobody holds it,
// and whoever comes next takes it over.
func (w *world) dropDeadLocks() {
	w.t.Helper()
	for _, path := range w.glob(".aiflow/locks/*.lock.json") {
		_ = os.Remove(path)
	}
	res := w.run("aiflow-run", []string{"--next", "--json"})
	if res.status != 0 || !strings.Contains(res.stdout, "LATEST_RUN_DONE") {
		w.t.Errorf("what is next: %s", res)
	}
}

func blocked(text string) string { return strings.Replace(text, "status: ready", "status: blocked", 1) }

// oneReason: a run that did not end well says why in one line, and nothing
// about success.
func (w *world) oneReason(res ran) {
	w.t.Helper()
	n := 0
	for line := range strings.Lines(res.stderr) {
		if strings.HasPrefix(line, "aiflow-run: ") {
			n++
		}
	}
	switch {
	case res.killed:
		w.t.Errorf("died: %s", res)
	case res.status == 0 && !strings.Contains(res.stdout, "Done: "):
		w.t.Errorf("status 0 without being done: %s", res)
	case res.status != 0 && (n != 1 || strings.Contains(res.stdout, "Done: ")):
		w.t.Errorf("%d lines with a reason: %s", n, res)
	}
}

// again does what a person is told to do: resume a run that stopped, else run.
func (w *world) again() ran {
	w.t.Helper()
	found := w.glob("runs/*/*/errors.json")
	if len(found) > 0 {
		return w.run("aiflow-run", []string{"resume", w.request})
	}
	return w.run("aiflow-run", []string{w.request})
}

// TestEveryPointIsInTheSources compares the places that the sources name with
// those that the crash tests pass: a new one must be exercised.
func TestEveryPointIsInTheSources(t *testing.T) {
	l := threeSteps(t)
	f := failing(t)
	passed := append(kinds(l.points), kinds(f.points)...)
	passed = append(append(passed, resumePoints(t, l)...), backPoints(t)...)
	dropped, _ := dropping(t).points(t)
	left, _ := leavingPoints(t)
	passed = append(append(passed, kinds(dropped)...), kinds(left)...)
	landed, _ := landingPoints(t, "main")
	restacked, _ := restackPoints(t)
	passed = append(append(append(passed, kinds(landed)...), kinds(restacked)...), kinds(restackStopPoints(t))...)
	for _, name := range pointsInSources(t) {
		if !slices.Contains(passed, "at."+name) {
			t.Errorf("no crash test passes the point %q", name)
		}
	}
}

var pointCall = regexp.MustCompile(`\.At\("([a-z_]+)"\)`)

func pointsInSources(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../runner/*.go")
	deeper, err2 := filepath.Glob("../runner/*/*.go")
	if files = append(files, deeper...); err != nil || err2 != nil || len(deeper) == 0 {
		t.Fatalf("no sources: %v %v", err, err2)
	}
	set := map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pointCall.FindAllSubmatch(data, -1) {
			set[string(m[1])] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// backPoints are the kinds of points that doing an earlier step again passes.
func backPoints(t *testing.T) []string {
	t.Helper()
	l := needsHelp(t)
	w := l.world(t)
	w.run("aiflow-run", []string{l.request})
	touch(t, w.side+".ok")
	list := filepath.Join(t.TempDir(), "points")
	if res := w.run("aiflow-run", []string{"resume", l.request, "--step", "S01"}, "AIFLOW_FAILPOINT_LIST="+list); res.status != 0 {
		t.Fatalf("going back: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return kinds(strings.Fields(string(data)))
}

// resumePoints are the kinds of points that going on passes after a step was
// cut off.
func resumePoints(t *testing.T, l *lab) []string {
	t.Helper()
	w := l.world(t)
	w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT=at.step_command:2")
	list := filepath.Join(t.TempDir(), "points")
	if res := w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT_LIST="+list); res.status != 0 {
		t.Fatalf("going on: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return kinds(strings.Fields(string(data)))
}

// TestKilledWhileGoingOn kills a second run, which goes on with a killed one,
// at each of its points; the third ends it.
func TestKilledWhileGoingOn(t *testing.T) {
	l := threeSteps(t)
	for i, kind := range resumePoints(t, l) {
		if !strings.HasPrefix(kind, "at.") && (testing.Short() || !*everyPoint && i%3 != 0) {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT=at.step_command:2")
			w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT="+kind).diedAt(t, kind)
			w.same("after the kill", running(crashRequestText))
			if res := w.run("aiflow-run", []string{l.request}); res.status != 0 {
				t.Fatalf("run again: %s", res)
			}
			w.settled()
		})
	}
}

const failingRequest = "RQ-20260101-003-fails"

// failingText is a request whose second step fails; its run stops there.
const failingText = `---
id: RQ-20260101-003-fails
title: Fails
priority: P1
status: ready # set by hand
created_at: 2026-01-01
steps:
  - title: Write a file
    run: echo S01 >> "$SIDE"; echo one > one.txt
  - title: Fail
    run: echo half >> half.txt; exit 3
---
`

// TestKilledWhileStopping kills a run that fails at each of its points. The
// next run stops for the same reason, with the half done work kept.
func TestKilledWhileStopping(t *testing.T) {
	l := failing(t)
	if l.status != 8 {
		t.Fatalf("the undisturbed run ended with %d", l.status)
	}
	usual := kinds(threeSteps(t).points)
	for i, point := range l.chosen(t, 2) {
		if kind, _, _ := strings.Cut(point, ":"); !*everyPoint && slices.Contains(usual, kind) && i%4 != 0 {
			continue // TestKilledAnywhere goes there
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT="+point)
			w.same("after the kill", running(failingText), blocked(failingText))
			w.looks("after the kill")
			res := w.run("aiflow-run", []string{l.request})
			if res.status != 8 || !strings.Contains(res.stderr, "aiflow-run: STEP_COMMAND_FAILED: ") {
				t.Errorf("run again: %s", res)
			}
			w.same("at the end", blocked(failingText))
			if len(w.glob("runs/*/*/patches/S02.attempt1.patch")) == 0 {
				t.Error("the half done work is not kept")
			}
			if len(w.glob("runs/*/*/errors.json")) == 0 {
				t.Error("no errors.json")
			}
			if found := w.temps(); len(found) > 1 {
				t.Errorf("left over: %v", found)
			}
			if found := w.glob(".aiflow/locks/*.lock.json"); len(found) > 0 {
				t.Errorf("locks are left: %v", found)
			}
		})
	}
}

// TestKilledInPlace kills a run that works in the checkout itself. In the end
// the checkout stands where it stood.
func TestKilledInPlace(t *testing.T) {
	l := labIn(t, t.TempDir(), crashRequest, crashRequestText, `{"version": "1.0", "git": {"workspace": "in_place"}}`)
	l.ready(t)
	if l.status != 0 {
		t.Fatalf("the undisturbed run ended with %d", l.status)
	}
	for i, point := range l.chosen(t, 3) {
		if !*everyPoint && !strings.HasPrefix(point, "at.") && i%4 != 0 {
			continue
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			w.run("aiflow-run", []string{l.request}, "AIFLOW_FAILPOINT="+point).diedAt(t, point)
			w.looks("after the kill")
			res := w.run("aiflow-run", []string{l.request})
			if res.status != 0 {
				t.Fatalf("run again: %s", res)
			}
			if at := l.git(t, w.dir, "branch", "--show-current"); at != "main" {
				t.Errorf("the checkout is left at %s", at)
			}
			for _, line := range strings.Split(l.git(t, w.dir, "status", "--porcelain"), "\n") {
				if line != "" && !isTemp(line) {
					t.Errorf("the checkout is not clean: %s", line)
				}
			}
			if tree, subjects := w.made(); tree != w.tree || subjects != w.subjects {
				t.Errorf("the branch differs: tree %s, want %s; commits\n%s", tree, w.tree, subjects)
			}
			if found := w.glob(".aiflow/locks/*.lock.json"); len(found) > 0 {
				t.Errorf("locks are left: %v", found)
			}
			w.twiceAtMost()
			if t.Failed() {
				t.Logf("run again: %s", res)
			}
		})
	}
}

// TestReleasedProgramsHaveNoFailpoints: nothing of it is linked in.
func TestReleasedProgramsHaveNoFailpoints(t *testing.T) {
	for _, name := range []string{"aiflow-run", "aiflow-next"} {
		data, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("AIFLOW_FAILPOINT")) {
			t.Errorf("%s knows AIFLOW_FAILPOINT", name)
		}
	}
	data, err := os.ReadFile(filepath.Join(crashBin(t), "aiflow-run"))
	if err != nil || !bytes.Contains(data, []byte("AIFLOW_FAILPOINT")) {
		t.Errorf("the control does not know it: %v", err)
	}
}

// crashBin builds what the crash tests need, once.
func crashBin(t *testing.T) string {
	t.Helper()
	crash.once.Do(func() {
		crash.dir = filepath.Join(bin, "failpoint")
		crash.err = build(crash.dir, tags+",failpoint")
	})
	if crash.err != nil {
		t.Fatal(crash.err)
	}
	return crash.dir
}

var crash struct {
	once sync.Once
	dir  string
	err  error
}
