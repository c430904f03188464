package queue

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/proc"
)

// Runners as processes: the test binary starts itself anew as a runner.

func TestMain(m *testing.M) {
	if plan := os.Getenv("AIFLOW_QUEUE_RUNNER"); plan != "" {
		os.Exit(runRunner(plan))
	}
	os.Exit(m.Run())
}

// plan is what a runner process is told.
type plan struct {
	Endpoint, Namespace, Runner string
	Poll, Task                  time.Duration
	First                       time.Duration // how long the first task takes; 0: as the others
	Silence                     Silence
	Times                       Times
	Careless                    bool // the negative control: writes whatever happens
}

func runRunner(text string) int {
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return 2
	}
	out := json.NewEncoder(os.Stdout)
	var mu sync.Mutex
	say := func(e event) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(e)
	}
	api, err := Dial(context.Background(), Where{Endpoint: p.Endpoint})
	if err != nil {
		return 2
	}
	s, err := New(Options{API: api, Namespace: p.Namespace, Clock: realClock{}, Silence: p.Silence})
	if err != nil {
		return 2
	}
	soon, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	w := &Worker{Backend: s, Clock: realClock{}, RunnerID: p.Runner, ProjectRoot: "/", Poll: p.Poll, Times: p.Times}
	w.Do = func(ctx context.Context, job Job) (string, error) {
		quit := ctx
		if p.Careless {
			quit = context.Background()
		}
		_ = proc.Sleep(quit, max(p.Task, p.First))
		p.First = 0
		if err := job.Guard(ctx); err != nil && !p.Careless {
			return "", err
		}
		say(event{Kind: "git", Task: job.Task.TaskID, Runner: p.Runner, Fence: job.Task.Fence})
		return "", context.Cause(ctx)
	}
	w.Tell = func(e Event) {
		if o, ok := observed(e, p.Runner); ok {
			say(o)
		}
	}
	if err := w.Run(context.Background(), soon); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// observed is what the checker wants to know of a worker's event.
func observed(e Event, runner string) (event, bool) {
	o := event{Task: e.Task.TaskID, Runner: runner, Fence: e.Task.Fence}
	switch e.Kind {
	case EventClaimed:
		o.Kind = "claim"
	case EventComplete:
		o.Kind, o.Status = "end", Complete
	case EventError:
		o.Kind, o.Status = "end", Errored
	case EventSwept:
		o.Kind, o.Status, o.Runner = "end", Errored, e.Runner
	case EventLost:
		o.Kind = "lost"
	default:
		return event{}, false
	}
	return o, true
}

// runnerProcess is one of them, seen from the test.
type runnerProcess struct {
	id     string
	cmd    *exec.Cmd
	stdin  io.Closer
	claims chan string // task ids
	ended  chan error
}

func startRunner(t testing.TB, p plan, h *history) *runnerProcess {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "AIFLOW_QUEUE_RUNNER="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &runnerProcess{id: p.Runner, cmd: cmd, stdin: stdin, claims: make(chan string, 10_000), ended: make(chan error, 1)}
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				h.add(e)
				if e.Kind == "claim" {
					r.claims <- e.Task
				}
			}
		}
		r.ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
	})
	return r
}

func (r *runnerProcess) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		t.Error(err)
	}
}

// until asks the table twice a second until every task satisfies f. Its limit
// is no promise: it only ends a test that would wait for ever.
func until(t testing.TB, s *Store, f func(Task) bool) []Task {
	t.Helper()
	const limit = 5 * time.Minute
	deadline := time.Now().Add(limit)
	for {
		tasks := must[[]Task](t)(s.List(context.Background(), Filter{}))
		if !slices.ContainsFunc(tasks, func(x Task) bool { return !f(x) }) {
			return tasks
		}
		if time.Now().After(deadline) {
			t.Errorf("after %v it still does not hold", limit)
			return tasks
		}
		_ = proc.Sleep(context.Background(), 500*time.Millisecond)
	}
}

func ends(x Task) bool { return x.Status.Terminal() }

// quickPlan has the times of the seed made short.
func quickPlan(s *Store) plan {
	return plan{
		Endpoint: mustEndpoint(), Namespace: s.ns, Poll: 100 * time.Millisecond, Task: 400 * time.Millisecond,
		Silence: Silence{Runner: 12 * time.Second, Orphan: 36 * time.Second, Watched: 500 * time.Millisecond},
		Times:   Times{Trust: 10 * time.Second, Renew: time.Second, Sweep: 500 * time.Millisecond, Fresh: 500 * time.Millisecond},
	}
}

func mustEndpoint() string {
	url, _ := startDynalite()
	return url
}

func TestTenRunnersKilledAndPaused(t *testing.T) {
	s := open(t)
	p := quickPlan(s)
	if os.Getenv("AIFLOW_QUEUE_SLOW") != "" { // the seed's own times
		p = plan{Endpoint: p.Endpoint, Namespace: s.ns, Poll: time.Second, Task: 3 * time.Second}
	}
	fill(t, s, 60)
	h := &history{}
	var all []*runnerProcess
	for i := range 10 {
		p.Runner, p.First = fmt.Sprintf("runner-%d", i), 0
		if i < 5 {
			p.First = time.Hour // it is in hand when the signal comes, however long that takes
		}
		all = append(all, startRunner(t, p, h))
	}
	killed, stopped, rest := all[:3], all[3:5], all[5:]
	inHand := map[string]string{}
	for _, r := range killed {
		inHand[<-r.claims] = r.id
		r.signal(t, syscall.SIGKILL)
	}
	for _, r := range stopped {
		inHand[<-r.claims] = r.id
		r.signal(t, syscall.SIGSTOP)
	}
	until(t, s, ends) // the others did all, and ended what the silent ones held
	for _, r := range stopped {
		r.signal(t, syscall.SIGCONT)
	}
	if _, _, err := s.Enqueue(context.Background(), NewTask{TaskID: "after", Prompt: "p"}); err != nil {
		t.Fatal(err)
	}
	final := until(t, s, ends)
	leave(t, slices.Concat(stopped, rest))
	if wrong := judgeHistory(h.events, final); wrong != nil {
		t.Errorf("%s", strings.Join(wrong, "\n"))
	}
	for _, task := range final {
		if id, dead := inHand[task.TaskID]; dead {
			if task.Status != Errored || !strings.Contains(task.ErrorMessage, id) {
				t.Errorf("%s of %s: %s %q", task.TaskID, id, task.Status, task.ErrorMessage)
			}
		} else if task.Status != Complete {
			t.Errorf("%s: %s %q", task.TaskID, task.Status, task.ErrorMessage)
		}
	}
	if n := count(h, "lost"); n != len(stopped) {
		t.Errorf("%d runners noticed that they had lost their task, want %d", n, len(stopped))
	}
}

func leave(t testing.TB, runners []*runnerProcess) {
	t.Helper()
	for _, r := range runners {
		_ = r.stdin.Close()
	}
	for _, r := range runners {
		if err := <-r.ended; err != nil {
			t.Errorf("%s: %v", r.id, err)
		}
	}
}

func count(h *history, kind string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, e := range h.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// The negative control: a paused runner that neither minds its context nor
// asks the guard does write, and the checker sees it.
func TestCarelessPausedRunnerIsCaught(t *testing.T) {
	s := open(t)
	p := quickPlan(s)
	fill(t, s, 1)
	h := &history{}
	p.Runner, p.Careless = "careless", true
	bad := startRunner(t, p, h)
	<-bad.claims
	bad.signal(t, syscall.SIGSTOP)
	p.Runner, p.Careless = "good", false
	good := startRunner(t, p, h)
	until(t, s, ends)
	bad.signal(t, syscall.SIGCONT)
	leave(t, []*runnerProcess{bad, good})
	wrong := judgeHistory(h.events, must[[]Task](t)(s.List(context.Background(), Filter{})))
	if len(wrong) != 1 || !strings.Contains(wrong[0], "careless#1 wrote") {
		t.Errorf("the checker says %q", wrong)
	}
}

func TestCancelEndsTheWorkOfAnotherProcess(t *testing.T) {
	s := open(t)
	p := quickPlan(s)
	p.Task, p.Runner = time.Hour, "r"
	fill(t, s, 1)
	h := &history{}
	r := startRunner(t, p, h)
	id := <-r.claims
	if _, err := s.Cancel(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	leave(t, []*runnerProcess{r})
	if count(h, "lost") != 1 || count(h, "git") != 0 {
		t.Errorf("%+v", h.events)
	}
}
