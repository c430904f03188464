package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/queue"
)

// stepLine is what a step's command wrote: it began, or it came to its end.
type stepLine struct {
	at                  int64 // milliseconds
	kind, step, request string
	runner, pid         int
}

// refLine is one update of a reference as git's own hook saw it, with the
// processes above the hook.
type refLine struct {
	at         int64
	chain      []int
	ref, value string
}

// evidence is what was seen, by others than the runners themselves.
type evidence struct {
	tasks   []queue.Task
	fences  map[string]int64
	runners map[int]string    // process -> runner id
	lost    map[string]string // task -> the runner that was killed or stopped with it in hand
	killed  map[string]bool   // runner ids
	steps   []stepLine
	refs    []refLine
	tips    map[string]string              // the references at the end
	then    map[string]map[string]string   // task -> what of it was on disk when its stopped runner went on
	now     map[string]map[string]string   // the same when all runners had ended
	left    []string                       // commands that still run
	commits map[string]map[string]struct{} // task -> subjects on its branches
}

// judge says what is wrong, or nothing.
func (e *evidence) judge() []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, t := range e.tasks {
		e.judgeEnd(t, say)
		e.judgeSteps(t, say)
		e.judgeRefs(t, say)
	}
	for ref, tip := range e.tips {
		if last := e.lastSeen(ref); last != tip {
			say("%s is %s, but the last update that was seen made it %q", ref, tip, last)
		}
	}
	for task, then := range e.then {
		for _, name := range differing(then, e.now[task]) {
			say("%s: %s was written by or after a runner that was replaced", task, name)
		}
	}
	for _, command := range e.left {
		say("still runs: %s", command)
	}
	slices.Sort(wrong)
	return wrong
}

// judgeEnd: one claim, one end; who was killed or stopped is named.
func (e *evidence) judgeEnd(t queue.Task, say func(string, ...any)) {
	if e.fences[t.TaskID] != 1 {
		say("%s: claimed %d times", t.TaskID, e.fences[t.TaskID])
	}
	runner, isLost := e.lost[t.TaskID]
	switch {
	case !t.Status.Terminal():
		say("%s: still %s", t.TaskID, t.Status)
	case isLost && (t.Status != queue.Errored || !strings.Contains(t.ErrorMessage, "runner "+runner+" ")):
		say("%s of %s: %s %q", t.TaskID, runner, t.Status, t.ErrorMessage)
	case !isLost && t.Status != queue.Complete:
		say("%s: %s %q", t.TaskID, t.Status, t.ErrorMessage)
	}
}

// judgeSteps: no step twice, by nobody but the claimer; a completed task has
// both, and their commits.
func (e *evidence) judgeSteps(t queue.Task, say func(string, ...any)) {
	began := map[string]int{}
	for _, s := range e.steps {
		if s.request != t.TaskID || s.kind != "begin" {
			continue
		}
		began[s.step]++
		if who := e.runners[s.runner]; who != t.ClaimedBy {
			say("%s: %s done by %q, claimed by %s", t.TaskID, s.step, who, t.ClaimedBy)
		}
		if began[s.step] > 1 {
			say("%s: %s began %d times", t.TaskID, s.step, began[s.step])
		}
		if end, ok := ended(t); ok && s.at > end {
			say("%s: %s began after the task had ended", t.TaskID, s.step)
		}
	}
	if t.Status == queue.Complete && (len(began) != 2 || len(e.commits[t.TaskID]) != 3) {
		say("%s: complete with steps %v and commits %v", t.TaskID, began, e.commits[t.TaskID])
	}
}

// judgeRefs: only the claimer writes references of a task, and nobody once the
// task has ended. What a killed runner's git was about to do may still land.
func (e *evidence) judgeRefs(t queue.Task, say func(string, ...any)) {
	end, over := ended(t)
	for _, r := range e.refs {
		if taskOf(r.ref) != t.TaskID {
			continue
		}
		if over && r.at > end {
			say("%s: %s was written %d ms after the task had ended", t.TaskID, r.ref, r.at-end)
		}
		if who := e.writer(r); who != t.ClaimedBy && (who != "" || !e.killed[t.ClaimedBy]) {
			say("%s: %s was written by %q, claimed by %s", t.TaskID, r.ref, who, t.ClaimedBy)
		}
	}
}

func (e *evidence) writer(r refLine) string {
	for _, pid := range r.chain {
		if id := e.runners[pid]; id != "" {
			return id
		}
	}
	return ""
}

func (e *evidence) lastSeen(ref string) string {
	value := ""
	for _, r := range e.refs {
		if r.ref == ref {
			value = r.value
		}
	}
	return value
}

// taskOf: work branches are aiflow/<request>/<time>, and here a task is called
// like its request.
func taskOf(ref string) string {
	rest, ok := strings.CutPrefix(ref, "refs/heads/aiflow/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

func ended(t queue.Task) (ms int64, ok bool) {
	at, readable := queue.ParseTime(t.UpdatedAt)
	return at.UnixMilli(), readable && t.Status.Terminal()
}

func differing(then, now map[string]string) []string {
	var names []string
	for name, was := range then {
		if now[name] != was {
			names = append(names, name)
		}
	}
	for name := range now {
		if _, ok := then[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// sound is a small history with nothing wrong.
func sound() *evidence {
	at := func(ms int64) string { return queue.FormatTime(time.UnixMilli(ms)) }
	return &evidence{
		tasks: []queue.Task{
			{TaskID: "a", Status: queue.Complete, ClaimedBy: "r1", UpdatedAt: at(5000)},
			{TaskID: "b", Status: queue.Errored, ClaimedBy: "r2", UpdatedAt: at(9000), ErrorMessage: "runner r2 stopped responding"},
		},
		fences:  map[string]int64{"a": 1, "b": 1},
		runners: map[int]string{11: "r1", 12: "r2"},
		lost:    map[string]string{"b": "r2"},
		killed:  map[string]bool{},
		steps: []stepLine{
			{1000, "begin", "S01", "a", 11, 100},
			{2000, "begin", "S02", "a", 11, 101},
			{1000, "begin", "S01", "b", 12, 102},
		},
		refs: []refLine{
			{1500, []int{1, 11}, "refs/heads/aiflow/a/1", "x"},
			{900, []int{2, 12}, "refs/heads/aiflow/b/1", "y"},
		},
		tips:    map[string]string{"refs/heads/aiflow/a/1": "x", "refs/heads/aiflow/b/1": "y"},
		then:    map[string]map[string]string{"b": {"requests/b.md": "1"}},
		now:     map[string]map[string]string{"b": {"requests/b.md": "1"}},
		commits: map[string]map[string]struct{}{"a": {"S01": {}, "S02": {}, "record": {}}},
	}
}

// Each thing that must not be is seen, and by itself.
func TestTheJudgeSeesWhatIsWrong(t *testing.T) {
	if wrong := sound().judge(); wrong != nil {
		t.Errorf("a sound history: %v", wrong)
	}
	for want, spoil := range map[string]func(*evidence){
		"still RUNNING":   func(e *evidence) { e.tasks[0].Status = queue.Running; e.commits = nil },
		"claimed 2 times": func(e *evidence) { e.fences["a"] = 2 },
		"b of r2: COMPLETE": func(e *evidence) {
			e.tasks[1].Status = queue.Complete
			e.steps[2].request = "z"
			e.tasks[1].TaskID = "b"
		},
		"b of r2: ERROR":     func(e *evidence) { e.tasks[1].ErrorMessage = "runner r1 stopped responding" },
		"a: ERROR":           func(e *evidence) { e.tasks[0].Status = queue.Errored },
		"began 2 times":      func(e *evidence) { e.steps = append(e.steps, e.steps[0]) },
		"S02 done by \"r2\"": func(e *evidence) { e.steps[1].runner = 12 },
		"began after":        func(e *evidence) { e.steps[1].at = 5001 },
		"complete with":      func(e *evidence) { delete(e.commits["a"], "S02") },
		"1 ms after":         func(e *evidence) { e.refs[1].at = 9001 },
		"written by \"r1\"":  func(e *evidence) { e.refs[1].chain = []int{11} },
		"written by \"\"":    func(e *evidence) { e.refs[1].chain = nil },
		"last update":        func(e *evidence) { e.tips["refs/heads/aiflow/b/1"] = "z" },
		"was written by or":  func(e *evidence) { e.now["b"] = map[string]string{"requests/b.md": "2"} },
		"runs/b/x":           func(e *evidence) { e.now["b"]["runs/b/x"] = "new" },
		"still runs":         func(e *evidence) { e.left = []string{"sleep"} },
	} {
		e := sound()
		spoil(e)
		wrong := e.judge()
		if !slices.ContainsFunc(wrong, func(w string) bool { return strings.Contains(w, want) }) || len(wrong) > 2 {
			t.Errorf("%s: the judge says %q", want, wrong)
		}
	}
}
