package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/runs"
)

// tale is a command that is killed on its way, what was there before it, and
// what a person does afterwards.
type tale struct {
	lab    *lab
	before func(*world)
	act    func(w *world, env ...string) ran
	after  func(*world) ran
	share  int // of how many chosen points one is taken, without -crash.all
	jobs   int // runs that write at a time; 0 is one
	always []string
}

// points lists what act passes when nobody disturbs it, and what comes of it.
func (s tale) points(t *testing.T) ([]string, endState) {
	t.Helper()
	w := s.lab.world(t)
	s.before(w)
	list := filepath.Join(t.TempDir(), "points")
	if res := s.act(w, "AIFLOW_FAILPOINT_LIST="+list); res.killed {
		t.Fatalf("undisturbed: %s", res)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if !w.ended() { // a stop: what follows it belongs to the tale
		if res := s.after(w); res.status != 0 {
			t.Fatalf("undisturbed, afterwards: %s", res)
		}
	}
	return strings.Fields(string(data)), w.endState()
}

func (s tale) tell(t *testing.T) {
	t.Helper()
	points, want := s.points(t)
	chosen := selection(points, *everyPoint, 0)
	if !*everyPoint {
		chosen = append(oneOfEach(chosen, s.share), s.always...)
	}
	if testing.Short() {
		chosen = chosen[:1]
	}
	t.Logf("%d points, %d taken", len(points), len(chosen))
	for i, point := range chosen {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := s.lab.world(t)
			w.jobs = s.jobs
			s.before(w)
			first := s.act(w, "AIFLOW_FAILPOINT="+point)
			first.diedAt(t, point)
			w.looks("after the kill")
			if *everyPoint && i%5 == 0 {
				w.doctor()
			}
			if res := s.after(w); res.status != 0 {
				t.Fatalf("afterwards: %s", res)
			}
			w.compare(want)
			if t.Failed() {
				t.Logf("first: %s", first)
			}
		})
	}
}

// oneOfEach takes every nth, places in the code before file operations.
func oneOfEach(points []string, nth int) []string {
	slices.SortStableFunc(points, func(a, b string) int {
		return strings.Compare(fmt.Sprint(!strings.HasPrefix(a, "at.")), fmt.Sprint(!strings.HasPrefix(b, "at.")))
	})
	var few []string
	for i := 0; i < len(points); i += nth {
		few = append(few, points[i])
	}
	return few
}

// doctor must be able to judge whatever is left.
func (w *world) doctor() {
	w.t.Helper()
	if res := w.run("aiflow-doctor", []string{"full", "--json"}); res.status != 0 && res.status != 3 || !strings.HasPrefix(res.stdout, "{") {
		w.t.Errorf("doctor: %s", res)
	}
}

// endState is what a story must come to.
type endState struct {
	work     map[string]string // request -> tree and subjects of its newest branch
	files    map[string]string // request files
	attempts []string          // trees of the attempts that were kept
	side     map[string]int
	runs     map[string]string // request -> state of its newest run
}

func (w *world) requests() []string {
	found, _ := filepath.Glob(filepath.Join(w.dir, "requests/*.md"))
	for i, path := range found {
		found[i] = strings.TrimSuffix(filepath.Base(path), ".md")
	}
	return found
}

func (w *world) latest(id string) *runs.Stage {
	st, err := runs.Latest(w.dir, "runs", id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Errorf("the newest run of %s: %v", id, err)
	}
	return st
}

// ended says whether every request that ran has come to an end.
func (w *world) ended() bool {
	for _, id := range w.requests() {
		if st := w.latest(id); st != nil && !st.State.Ended() {
			return false
		}
	}
	return true
}

// allDone says whether every request that ran is done.
func (w *world) allDone() bool {
	return !slices.ContainsFunc(w.requests(), func(id string) bool {
		st := w.latest(id)
		return st != nil && st.State != runs.Done
	})
}

func (w *world) endState() endState {
	w.t.Helper()
	e := endState{work: map[string]string{}, files: map[string]string{}, side: w.sideCounts(), runs: map[string]string{}}
	for _, id := range w.requests() {
		data, _ := os.ReadFile(filepath.Join(w.dir, "requests", id+".md"))
		e.files[id] = string(data)
		if st := w.latest(id); st != nil {
			e.runs[id] = string(st.State)
			ref := "refs/heads/" + st.Git.WorkBranch
			e.work[id] = w.git(w.t, w.dir, "rev-parse", ref+"^{tree}") + "\n" + w.git(w.t, w.dir, "log", "--format=%s", st.Git.BaseCommit+".."+ref)
		}
	}
	for _, ref := range strings.Fields(w.git(w.t, w.dir, "for-each-ref", "--format=%(refname)", "refs/aiflow/attempts")) {
		e.attempts = append(e.attempts, w.git(w.t, w.dir, "rev-parse", ref+"^{tree}"))
	}
	slices.Sort(e.attempts)
	e.attempts = slices.Compact(e.attempts)
	return e
}

// compare wants the same work and the same files; more attempts may be kept,
// and the step that was cut off may have been begun again.
func (w *world) compare(want endState) {
	w.t.Helper()
	got := w.endState()
	for what, pair := range map[string][2]map[string]string{
		"work": {got.work, want.work}, "request file": {got.files, want.files}, "run": {got.runs, want.runs},
	} {
		if !maps.Equal(pair[0], pair[1]) {
			w.t.Errorf("%s: %v\nwant %v", what, pair[0], pair[1])
		}
	}
	for _, tree := range want.attempts {
		if !slices.Contains(got.attempts, tree) {
			w.t.Errorf("an attempt is lost: %s of %v", tree, got.attempts)
		}
	}
	again := 0
	for step, n := range want.side {
		if got.side[step] < n {
			w.t.Errorf("%s was done %d times, want %d", step, got.side[step], n)
		}
		again += max(0, got.side[step]-n)
	}
	if again > max(1, w.jobs) {
		w.t.Errorf("done twice: %v, want %v", got.side, want.side)
	}
	for what, found := range map[string][]string{
		"locks": w.liveLocks(), "worktrees": w.glob(".aiflow/worktrees/*"), "worktrees of git": w.glob(".git/worktrees/*"),
	} {
		if len(found) > 0 {
			w.t.Errorf("%s are left: %v", what, found)
		}
	}
	if found := w.temps(); len(found) > max(1, w.jobs) {
		w.t.Errorf("left over: %v", found)
	}
}

// liveLocks are those that still keep somebody out. A dead one is taken over by
// whoever comes next.
func (w *world) liveLocks() []string {
	if len(w.glob(".aiflow/locks/*.lock.json")) == 0 {
		return nil
	}
	res := w.run("aiflow-lock", []string{"list", "--json"})
	var list struct {
		Items []struct{ Path, Verdict string }
	}
	if err := json.Unmarshal([]byte(res.stdout), &list); err != nil {
		w.t.Errorf("locks: %v: %s", err, res)
	}
	var live []string
	for _, e := range list.Items {
		if e.Verdict != "dead" {
			live = append(live, e.Path+": "+e.Verdict)
		}
	}
	return live
}

const helpText = `---
id: RQ-20260101-005-help
title: Needs help
priority: P1
status: ready
created_at: 2026-01-01
steps:
  - title: Write a file
    run: echo S01 >> "$SIDE"; echo one > one.txt
  - title: Needs help
    run: echo S02 >> "$SIDE"; echo two >> two.txt
    test: test -e "$SIDE.ok"
---
`

func needsHelp(t *testing.T) *lab { return sharedLab(t, "RQ-20260101-005-help", helpText) }

// TestKilledWhileResuming: a test failed, somebody mended what it needs, and
// going on is killed.
func TestKilledWhileResuming(t *testing.T) {
	l := needsHelp(t)
	for mode, how := range map[string][]string{"resume": {"resume"}, "retry_step": {"retry_step"}, "replan": {"replan"}, "back": {"retry_step", "--step", "S01"}} {
		t.Run(mode, func(t *testing.T) {
			act := func(w *world, env ...string) ran {
				return w.run("aiflow-run", append([]string{"resume", l.request, "--mode"}, how...), env...)
			}
			always := map[string][]string{"replan": {"stage.sync:1", "stage.rename:2", "runrequest.write:1"}}
			tale{
				lab: l, share: 40, act: act, always: always[mode],
				before: func(w *world) {
					w.run("aiflow-run", []string{l.request})
					touch(w.t, w.side+".ok")
				},
				after: func(w *world) ran {
					if w.allDone() { // a run by hand would do the request once more
						return w.run("aiflow-run", []string{"auto"})
					}
					if st := w.latest(l.request); st != nil && (st.State == runs.NeedsInput || st.State == runs.Failed) {
						if res := act(w); !strings.Contains(res.stderr, "RUN_NOT_FOUND") {
							return res
						} // the new run died before its first record: the hint says to run the request
					}
					return w.run("aiflow-run", []string{l.request})
				},
			}.tell(t)
		})
	}
}

// dropping is a run that is dropped and then done anew. The first command alone is
// killed.
func dropping(t *testing.T) tale {
	l := needsHelp(t)
	anew := func(w *world) ran { return w.run("aiflow-run", []string{l.request}) }
	return tale{
		lab: l, share: 8,
		before: func(w *world) {
			w.run("aiflow-run", []string{l.request})
			touch(w.t, w.side+".ok")
		},
		act: func(w *world, env ...string) ran {
			if res := w.run("aiflow-run", []string{"drop", l.request}, env...); res.killed || res.status != 0 {
				return res
			}
			return anew(w)
		},
		after: func(w *world) ran {
			if res := w.run("aiflow-run", []string{"drop", l.request}); res.status != 0 && !strings.Contains(res.stderr, "NOTHING_TO_DO") {
				return res
			}
			return anew(w)
		},
	}
}

// TestKilledWhileDropping drops a run again whose dropping was killed: the branch
// and the workspace are kept, and the request is done anew.
func TestKilledWhileDropping(t *testing.T) { dropping(t).tell(t) }

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

const hangsText = `---
id: RQ-20260101-006-hangs
title: Hangs
priority: P1
status: ready
created_at: 2026-01-01
steps:
  - title: Write a file
    run: echo S01 >> "$SIDE"; echo one > one.txt
  - title: Hang
    run: echo S02 >> "$SIDE"; echo two >> two.txt; test -e "$SIDE.ok" || { echo $$ > "$SIDE.pid"; exec sleep 1000; }
---
`

// TestKilledWhileStopped kills a run that was asked to stop, after it was.
func TestKilledWhileStopped(t *testing.T) {
	l := sharedLab(t, "RQ-20260101-006-hangs", strings.Replace(hangsText, "exec sleep", "exit; sleep", 1))
	l.write(t, "template/requests/"+l.request+".md", hangsText)
	l.git(t, l.template, "commit", "-q", "--allow-empty", "-m", "hang", "--", "requests/"+l.request+".md")
	tale{
		lab: l, share: 12,
		before: func(*world) {},
		act:    func(w *world, env ...string) ran { return w.stopped(env...) },
		after: func(w *world) ran {
			touch(w.t, w.side+".ok")
			res := w.run("aiflow-run", []string{l.request})
			if pid := w.agent(); pid != 0 && alive(pid) {
				w.t.Errorf("the agent %d lives on", pid)
			}
			return res
		},
	}.tell(t)
}

// stopped starts a run, asks it to stop when its agent hangs, and gives how the
// run ended. A list that is asked for begins with the stop.
func (w *world) stopped(env ...string) ran {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(w.bin, "aiflow-run"), w.request)
	cmd.Dir, cmd.Env = w.dir, w.env(append(env, "SIDE="+w.side)...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for range 24000 {
		if w.hangs() {
			break
		}
		select {
		case <-ended:
			w.t.Fatalf("ended before it hung: %s", out.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	for _, kv := range env {
		if list, ok := strings.CutPrefix(kv, "AIFLOW_FAILPOINT_LIST="); ok {
			_ = os.Remove(list)
		}
	}
	stop := w.run("aiflow-run", []string{"stop", w.request})
	<-ended
	ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if stop.status != 0 {
		w.t.Errorf("stop: %s", stop)
	}
	return ran{stdout: out.String(), status: cmd.ProcessState.ExitCode(), killed: ws.Signaled() && ws.Signal() == syscall.SIGKILL}
}

// hangs says whether the run does nothing but wait for its agent. It records
// whom it started beside that one's first steps; a point that is passed before
// the stop on some days and after it on others belongs in no list.
func (w *world) hangs() bool {
	pid := w.agent()
	if pid == 0 {
		return false
	}
	st := w.latest(w.request)
	return st != nil && st.Agent != nil && st.Agent.PID == pid
}

// agent is the process that hangs, 0 before it does.
func (w *world) agent() int {
	data, _ := os.ReadFile(w.side + ".pid")
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(data) > 0 // a zombie has none
}

const secondText = `---
id: RQ-20260101-004-second
title: The second
priority: P2
status: ready
created_at: 2026-01-01
steps:
  - title: Another file
    run: echo X01 >> "$SIDE"; echo more > more.txt
---
`

func twoRequests(t *testing.T) *lab {
	if l := shared["two"]; l != nil {
		return l
	}
	l := labIn(t, filepath.Join(crashBin(t), "labs", "two"), crashRequest, crashRequestText, `{"version": "1.0"}`)
	l.write(t, "template/requests/RQ-20260101-004-second.md", secondText)
	l.git(t, l.template, "add", "-A")
	l.git(t, l.template, "commit", "-q", "-m", "second")
	l.before = l.snap(t, l.template)
	shared["two"] = l
	return l
}

// TestKilledAutoRun kills a session of two requests, one after the other and both at once,
// and starts another.
func TestKilledAutoRun(t *testing.T) {
	for _, jobs := range []int{1, 2} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			auto := func(w *world, env ...string) ran {
				return w.run("aiflow-run", []string{"auto", "--jobs", fmt.Sprint(jobs)}, env...)
			}
			tale{
				lab: twoRequests(t), share: 60, jobs: jobs, act: auto,
				before: func(*world) {},
				after: func(w *world) ran {
					if res := w.run("aiflow-run", []string{"status", "--json"}); res.status != 0 || strings.Contains(res.stdout, `"state": "RUNNING"`) {
						w.t.Errorf("status: %s", res)
					}
					return auto(w)
				},
			}.tell(t)
		})
	}
}

// TestKilledWhileReconciling: the branch is merged, the request's file is not in
// git, and whoever makes it done is killed.
func TestKilledWhileReconciling(t *testing.T) {
	l := shared["untracked"]
	if l == nil {
		l = labIn(t, filepath.Join(crashBin(t), "labs", "untracked"), "RQ-20260101-007-untracked",
			strings.NewReplacer("005-help", "007-untracked", "test: test -e \"$SIDE.ok\"", "test: 'true'").Replace(helpText), `{"version": "1.0"}`)
		l.git(t, l.template, "rm", "-q", "-r", "--cached", "requests")
		l.git(t, l.template, "commit", "-q", "-m", "requests are not tracked")
		shared["untracked"] = l
	}
	for name, act := range map[string][]string{"post-merge": {"aiflow-hook", "post-merge", "0"}, "next": {"aiflow-next", "--json"}} {
		t.Run(name, func(t *testing.T) {
			tale{
				lab: l, share: 10,
				before: func(w *world) {
					if res := w.run("aiflow-run", []string{l.request}); res.status != 0 {
						w.t.Fatalf("run: %s", res)
					}
					w.git(w.t, w.dir, "merge", "-q", "--no-edit", w.latest(l.request).Git.WorkBranch)
				},
				act: func(w *world, env ...string) ran { return w.run(act[0], act[1:], env...) },
				after: func(w *world) ran {
					res := w.run(act[0], act[1:])
					data, _ := os.ReadFile(filepath.Join(w.dir, "requests", l.request+".md"))
					if !strings.Contains(string(data), "status: done") {
						w.t.Errorf("it is not done: %s", data)
					}
					return res
				},
			}.tell(t)
		})
	}
}
