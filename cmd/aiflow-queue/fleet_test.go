package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/proc"
	"aiflow/queue"
)

const (
	fleetRunners = 10
	fleetTasks   = 32
	fleetPause   = 130 * time.Second // longer than the 120 s after which a runner counts as dead
)

// TestFleet: ten runners in one repository; three are killed and three are
// stopped for longer than a runner may be silent, in the middle of tasks. Every
// task ends once, and whoever was replaced writes nothing more. It takes nearly
// three minutes, of which it waits for most.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes three minutes")
	}
	f := newFleet(t, fleetTasks, fleetRunners)
	defer func() {
		if t.Failed() {
			f.explain(t.Output())
		}
	}()
	f.run("aiflow-queue", "init")
	f.run("aiflow-queue", "push", "--runnable")
	for i := range fleetRunners {
		f.start(fmt.Sprintf("r%d", i))
	}
	for _, w := range f.workers {
		f.until(w.id+" to begin", 5*time.Minute, func() bool {
			s, ok := f.step(w, "begin", "S01", "")
			w.task = s.request
			return ok
		})
	}
	killed, stopped, rest := f.workers[:3], f.workers[3:6], f.workers[6:]
	f.interrupt(killed, syscall.SIGKILL)
	f.interrupt(stopped, syscall.SIGSTOP)
	f.letGo(stopped[0]) // its command comes to its end meanwhile
	for _, w := range rest {
		f.letGo(w)
	}
	e := &evidence{
		runners: map[int]string{}, lost: map[string]string{}, killed: map[string]bool{},
		then: map[string]map[string]string{}, now: map[string]map[string]string{},
	}
	for _, w := range slices.Concat(killed, stopped) {
		e.lost[w.task] = w.id
	}
	q := f.store()
	f.resume(q, e, stopped)
	f.end(q, killed, e, stopped, rest)
	f.gather(q, e, killed, stopped)
	for _, what := range e.judge() {
		t.Error(what)
	}
	if !t.Failed() {
		e.mustCatch(t, stopped)
	}
}

// interrupt sends a signal to three runners in the middle of tasks: in a step's
// command, at the commit of a step, in the command of the next.
func (f *fleet) interrupt(three []*worker, sig syscall.Signal) {
	f.t.Helper()
	f.signal(three[0], sig)
	f.letGo(three[1])
	f.until(three[1].id+" to commit", 5*time.Minute, func() bool {
		n := 0
		for _, r := range f.refs() {
			if taskOf(r.ref) == three[1].task {
				n++
			}
		}
		return n > 1 // the first is the branch's creation
	})
	f.signal(three[1], sig)
	if sig == syscall.SIGSTOP {
		f.signal(three[2], sig) // its command waits for ever
		return
	}
	f.letGo(three[2])
	f.until(three[2].id+" to go on", 5*time.Minute, func() bool {
		_, ok := f.step(three[2], "begin", "S02", three[2].task)
		return ok
	})
	f.signal(three[2], sig)
}

func (f *fleet) store() *queue.Store {
	f.t.Helper()
	api, err := queue.Dial(context.Background(), queue.Where{Endpoint: f.endpoint})
	if err != nil {
		f.t.Fatal(err)
	}
	q, err := queue.New(queue.Options{API: api, Namespace: fleetNamespace, Clock: proc.ClockOf(time.Now, proc.BootClock)})
	if err != nil {
		f.t.Fatal(err)
	}
	return q
}

func (f *fleet) task(q *queue.Store, id string) queue.Task {
	f.t.Helper()
	t, err := q.Get(context.Background(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

// resume lets the stopped runners go on: the last after its pause, whatever the
// others made of it; the first two once they were replaced.
func (f *fleet) resume(q *queue.Store, e *evidence, stopped []*worker) {
	f.t.Helper()
	waiting := slices.Clone(stopped)
	for limit := time.After(fleetPause + 5*time.Minute); len(waiting) > 0; {
		select {
		case <-limit:
			f.t.Fatalf("%s was not replaced", waiting[0].id)
		case <-time.After(250 * time.Millisecond):
		}
		waiting = slices.DeleteFunc(waiting, func(w *worker) bool {
			if time.Since(w.stopped) < fleetPause || w != stopped[2] && !f.task(q, w.task).Status.Terminal() {
				return false
			}
			e.then[w.task] = f.onDisk(w.task)
			f.signal(w, syscall.SIGCONT)
			return true
		})
	}
}

// end waits until every task has ended, looks whether the stopped runners ended
// what they had started, and ends all runners.
func (f *fleet) end(q *queue.Store, killed []*worker, e *evidence, stopped, rest []*worker) {
	f.t.Helper()
	f.until("every task to end", 5*time.Minute, func() bool {
		tasks, err := q.List(context.Background(), queue.Filter{})
		return err == nil && !slices.ContainsFunc(tasks, func(t queue.Task) bool { return !t.Status.Terminal() })
	})
	for _, w := range stopped {
		s, _ := f.step(w, "begin", "S01", w.task)
		if !soon(5*time.Minute, func() bool { return strings.Contains(f.told(w), w.task+": given up: ") }) || proc.Alive(s.pid, 0) != proc.Dead {
			e.left = append(e.left, "what "+w.id+" had started")
		}
	}
	f.write(f.path("go.all"), "") // or a runner that did not give up would never end
	for _, w := range slices.Concat(stopped, rest) {
		f.signal(w, syscall.SIGINT)
	}
	for _, w := range slices.Concat(stopped, rest) {
		if err := <-w.ended; err != nil {
			f.t.Errorf("%s: %v", w.id, err)
		}
	}
	for _, w := range killed {
		<-w.ended
	}
}

func (f *fleet) gather(q *queue.Store, e *evidence, killed, stopped []*worker) {
	f.t.Helper()
	tasks, err := q.List(context.Background(), queue.Filter{})
	if err != nil || len(tasks) != fleetTasks {
		f.t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	e.tasks, e.fences = tasks, map[string]int64{}
	for _, t := range tasks {
		e.fences[t.TaskID] = t.Fence
	}
	for _, w := range f.workers {
		e.runners[w.pid()] = w.id
	}
	for _, w := range killed {
		e.killed[w.id] = true
	}
	for _, w := range stopped {
		e.now[w.task] = f.onDisk(w.task)
	}
	e.steps, e.refs, e.tips = f.steps(), f.refs(), f.tips()
	e.commits = f.commits(e.tips)
	f.t.Logf("%d tasks, %d steps, %d references written", len(tasks), len(e.steps), len(e.refs))
}

// mustCatch spoils the real history: a stopped runner whose last write came
// when its task was another's, or that changed what was on disk.
func (e *evidence) mustCatch(t *testing.T, stopped []*worker) {
	t.Helper()
	w := stopped[1]
	for i, r := range e.refs {
		if taskOf(r.ref) == w.task {
			was := r.at
			e.refs[i].at += (2 * fleetPause).Milliseconds()
			if wrong := e.judge(); len(wrong) != 1 || !strings.Contains(wrong[0], "after the task had ended") {
				t.Errorf("a late write is not caught: %q", wrong)
			}
			e.refs[i].at = was
			break
		}
	}
	e.now[w.task]["requests/"+w.task+".md"] += " "
	if wrong := e.judge(); len(wrong) != 1 || !strings.Contains(wrong[0], "was replaced") {
		t.Errorf("a changed request is not caught: %q", wrong)
	}
}
