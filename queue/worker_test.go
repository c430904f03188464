package queue

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// bubbleClock reads the time of the synctest bubble.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Now() time.Time      { return time.Now() }
func (c bubbleClock) Boot() time.Duration { return time.Since(c.start) + time.Hour }

// fakeBackend is a queue in memory that writes down what it is asked.
type fakeBackend struct {
	mu       sync.Mutex
	start    time.Time
	calls    []string // "12s Beat"
	waiting  []Task
	state    map[string]Status
	down     bool // everything fails without an answer
	replaced bool // another process took the runner's id
	peers    []string
	swept    []Swept
}

func newFakeBoard(ids ...string) *fakeBackend {
	b := &fakeBackend{start: time.Now(), state: map[string]Status{}}
	for _, id := range ids {
		b.waiting = append(b.waiting, Task{TaskID: id, AttemptToken: "tok-" + id, Fence: 1})
	}
	return b
}

func (b *fakeBackend) note(call string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, fmt.Sprintf("%v %s", time.Since(b.start).Round(time.Millisecond), call))
	if b.down {
		return fault.New(fault.QueueNotAvailable)
	}
	return nil
}

func (b *fakeBackend) set(f func(*fakeBackend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

func (b *fakeBackend) held(call string, t Task) error {
	if err := b.note(call + " " + t.TaskID); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s := b.state[t.TaskID]; {
	case s == Cancelled:
		return fault.New(fault.LockLost, "reason", LostCancelled)
	case s != Running:
		return fault.New(fault.LockLost, "reason", LostReplaced)
	}
	return nil
}

func (b *fakeBackend) end(call string, t Task, to Status) error {
	if err := b.held(call, t); err != nil {
		return err
	}
	b.set(func(b *fakeBackend) { b.state[t.TaskID] = to })
	return nil
}

func (b *fakeBackend) Register(context.Context, string, string) (Runner, error) {
	return Runner{RunnerID: "me"}, b.note("Register")
}

func (b *fakeBackend) Beat(context.Context, Runner) error {
	if err := b.note("Beat"); err != nil {
		return err
	}
	if b.replaced {
		return fault.New(fault.LockLost, "reason", LostReplaced)
	}
	return nil
}
func (b *fakeBackend) StopRunner(context.Context, Runner) error  { return b.note("StopRunner") }
func (b *fakeBackend) Check(_ context.Context, t Task) error     { return b.held("Check", t) }
func (b *fakeBackend) Heartbeat(_ context.Context, t Task) error { return b.held("Heartbeat", t) }

func (b *fakeBackend) Complete(_ context.Context, t Task, _ string) error {
	return b.end("Complete", t, Complete)
}

func (b *fakeBackend) Fail(_ context.Context, t Task, m string) error {
	return b.end("Fail("+m+")", t, Errored)
}
func (b *fakeBackend) ForRunner(Runner) (Taker, Watch) { return b, b }

func (b *fakeBackend) Claim(context.Context) (Task, bool, error) {
	if err := b.note("Claim"); err != nil {
		return Task{}, false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return Task{}, false, nil
	}
	t := b.waiting[0]
	b.waiting = b.waiting[1:]
	b.state[t.TaskID] = Running
	return t, true, nil
}

func (b *fakeBackend) SetPeers(ids []string) { b.set(func(b *fakeBackend) { b.peers = ids }) }
func (b *fakeBackend) Holds(Task) bool       { return false }
func (b *fakeBackend) Look(context.Context) ([]string, error) {
	return []string{"me", "other"}, b.note("Look")
}

func (b *fakeBackend) Sweep(context.Context, func(Task) bool) ([]Swept, error) {
	return b.swept, b.note("Sweep")
}

func (b *fakeBackend) log() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// without leaves out the calls that only keep a worker alive.
func without(calls []string, words ...string) []string {
	var rest []string
	for _, c := range calls {
		_, name, _ := strings.Cut(c, " ")
		name, _, _ = strings.Cut(name, " ")
		if !slices.Contains(words, name) {
			rest = append(rest, c)
		}
	}
	return rest
}

type bench struct {
	board  *fakeBackend
	worker *Worker
	clock  *jumpClock
	stop   context.CancelFunc
	abort  context.CancelFunc
	done   chan error
	events []string
}

func start(b *fakeBackend, do Do) *bench {
	ctx, cancel := context.WithCancel(context.Background())
	soon, stop := context.WithCancel(ctx)
	x := &bench{board: b, stop: stop, abort: cancel, done: make(chan error, 1)}
	x.clock = &jumpClock{Clock: bubbleClock{time.Now()}}
	x.worker = &Worker{Backend: b, Clock: x.clock, RunnerID: "me", ProjectRoot: "/p", Do: do}
	var mu sync.Mutex
	x.worker.Tell = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		x.events = append(x.events, strings.TrimSpace(e.Kind+" "+e.Task.TaskID+e.Runner))
	}
	go func() { x.done <- x.worker.Run(ctx, soon) }()
	return x
}

func takes(d time.Duration) Do {
	return func(ctx context.Context, job Job) (string, error) {
		_ = proc.Sleep(ctx, d)
		return "out", context.Cause(ctx)
	}
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestIdleRunnerAsksTwiceAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(newFakeBoard(), takes(0))
		time.Sleep(99*time.Second + 500*time.Millisecond)
		synctest.Wait()
		perSecond := map[string]int{}
		for _, c := range x.board.log() {
			at, _, _ := strings.Cut(c, " ")
			perSecond[at]++
		}
		delete(perSecond, "0s")
		for at, n := range perSecond {
			if n != 2 {
				t.Errorf("%d requests at %s", n, at)
			}
		}
		if len(perSecond) != 99 {
			t.Errorf("%d polls", len(perSecond))
		}
		if !reflect.DeepEqual(x.board.peers, []string{"me", "other"}) {
			t.Errorf("peers %v", x.board.peers)
		}
		x.stop()
		if err := <-x.done; err != nil {
			t.Error(err)
		}
		equal(t, x.events, []string{"started", "stopped"})
	})
}

func TestTaskIsDoneAndBeatsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a", "b")
		x := start(b, takes(3500*time.Millisecond))
		time.Sleep(20 * time.Second)
		x.stop()
		<-x.done
		equal(t, b.log()[:18], []string{
			"0s Register", "0s Beat", "0s Look", "1s Beat", "1s Sweep", "2s Beat", "2s Claim",
			"3s Beat", "3s Check a", "4s Beat", "4s Check a", "5s Beat", "5s Check a", "5.5s Complete a",
			"5.5s Beat", "5.5s Claim", "6.5s Beat", "6.5s Check b",
		})
		equal(t, x.events, []string{"started", "claimed a", "complete a", "claimed b", "complete b", "stopped"})
	})
}

func TestUpdatedAtIsRenewedDuringATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		x := start(b, takes(100*time.Second))
		time.Sleep(110 * time.Second)
		x.stop()
		<-x.done
		equal(t, without(b.log(), "Beat", "Check", "Claim", "Look", "Sweep"), []string{
			"0s Register", "32s Heartbeat a", "1m2s Heartbeat a", "1m32s Heartbeat a", "1m42s Complete a", "1m50s StopRunner",
		})
	})
}

func TestCancelReachesTheTaskWithinTwoPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		var ended time.Duration
		var cause error
		x := start(b, func(ctx context.Context, _ Job) (string, error) {
			<-ctx.Done()
			ended, cause = time.Since(b.start), context.Cause(ctx)
			return "", nil // even a success is not written any more
		})
		time.Sleep(10*time.Second + 1*time.Millisecond)
		b.set(func(b *fakeBackend) { b.state["a"] = Cancelled })
		time.Sleep(5 * time.Second)
		x.stop()
		<-x.done
		if ended > 12*time.Second || LostReason(cause) != LostCancelled {
			t.Errorf("ended at %v because of %v", ended, cause)
		}
		equal(t, without(b.log(), "Beat", "Check", "Claim", "Look", "Sweep"), []string{"0s Register", "15.001s StopRunner"})
		equal(t, x.events, []string{"started", "claimed a", "lost a", "stopped"})
	})
}

func TestReplacedRunnerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		var cause, guard error
		x := start(b, func(ctx context.Context, job Job) (string, error) {
			<-ctx.Done()
			cause, guard = context.Cause(ctx), job.Guard(ctx)
			return "", nil
		})
		time.Sleep(10 * time.Second)
		b.set(func(b *fakeBackend) { b.replaced = true })
		if err := <-x.done; LostReason(err) != LostReplaced {
			t.Errorf("got %v", err)
		}
		if LostReason(cause) != LostReplaced || LostReason(guard) != LostReplaced {
			t.Errorf("cause %v, guard %v", cause, guard)
		}
	})
}

func TestSilentStoreEndsTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		var ended time.Duration
		var cause error
		x := start(b, func(ctx context.Context, _ Job) (string, error) {
			<-ctx.Done()
			ended, cause = time.Since(b.start), context.Cause(ctx)
			return "", nil
		})
		time.Sleep(10*time.Second + time.Millisecond)
		b.set(func(b *fakeBackend) { b.down = true })
		time.Sleep(200 * time.Second)
		x.stop()
		<-x.done
		// the last sign was at 10 s, and the others count to 120
		if ended < 110*time.Second || ended > 110*time.Second+margin || LostReason(cause) != "silent" {
			t.Errorf("ended at %v because of %v", ended, cause)
		}
		if got := x.events[len(x.events)-1]; got != "stopped" {
			t.Errorf("last event %q", got)
		}
	})
}

func TestShortSilenceIsSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		x := start(b, takes(120*time.Second))
		time.Sleep(10 * time.Second)
		b.set(func(b *fakeBackend) { b.down = true })
		time.Sleep(80 * time.Second)
		b.set(func(b *fakeBackend) { b.down = false })
		time.Sleep(60 * time.Second)
		x.stop()
		<-x.done
		if b.state["a"] != Complete {
			t.Errorf("a is %s", b.state["a"])
		}
	})
}

func TestEndIsWrittenWhenTheStoreComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		x := start(b, func(ctx context.Context, _ Job) (string, error) {
			b.set(func(b *fakeBackend) { b.down = true })
			return "", errors.New("it broke")
		})
		time.Sleep(60 * time.Second)
		b.set(func(b *fakeBackend) { b.down = false })
		time.Sleep(2 * time.Second)
		x.stop()
		<-x.done
		if b.state["a"] != Errored {
			t.Errorf("a is %s", b.state["a"])
		}
	})
}

func TestStopFinishesTheTaskInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a", "b")
		x := start(b, takes(30*time.Second))
		time.Sleep(5 * time.Second)
		x.stop()
		if err := <-x.done; err != nil {
			t.Error(err)
		}
		equal(t, without(b.log(), "Beat", "Check", "Claim", "Look", "Sweep", "Heartbeat"), []string{"0s Register", "32s Complete a", "32s StopRunner"})
	})
}

func TestSecondSignalEndsTheTaskAsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a", "b")
		x := start(b, func(ctx context.Context, _ Job) (string, error) {
			<-ctx.Done()
			_ = proc.Sleep(context.Background(), 2*time.Second) // the process group takes its time
			return "", context.Cause(ctx)
		})
		time.Sleep(5 * time.Second)
		x.stop()
		time.Sleep(time.Second)
		x.abort()
		if err := <-x.done; err != nil {
			t.Error(err)
		}
		equal(t, without(b.log(), "Beat", "Check", "Claim", "Look", "Sweep"), []string{"0s Register", "8s Fail(runner stopped) a", "8s StopRunner"})
		equal(t, x.events, []string{"started", "claimed a", "error a", "stopped"})
	})
}

// A process that was stopped and goes on: the clock alone says that the task
// may be another's, before anything is asked or written.
func TestPausedRunnerWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		resumed := make(chan struct{})
		var guard error
		asked := 0
		x := start(b, func(ctx context.Context, job Job) (string, error) {
			<-resumed
			asked = len(b.log())
			guard = job.Guard(ctx)
			asked -= len(b.log())
			<-ctx.Done()
			return "", nil
		})
		time.Sleep(5*time.Second + 500*time.Millisecond)
		x.clock.jump(130 * time.Second)
		b.set(func(b *fakeBackend) { b.state["a"] = Errored })
		close(resumed)
		synctest.Wait()
		if LostReason(guard) != "silent" || asked != 0 {
			t.Errorf("guard says %v after %d questions", guard, -asked)
		}
		time.Sleep(5 * time.Second)
		x.stop()
		<-x.done
		equal(t, without(b.log(), "Beat", "Check", "Claim", "Look", "Sweep"), []string{"0s Register", "5.5s Fail(" + gaveUp + ") a", "10.5s StopRunner"})
		if b.state["a"] != Errored {
			t.Errorf("a is %s", b.state["a"])
		}
	})
}

const gaveUp = "runner me gave this task up: for too long it had no sign of the queue"

// A task that its runner gave up is nobody's: the runner lives again, so no
// other would end it. It ends as soon as the queue answers.
func TestGivenUpTaskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		x := start(b, takes(time.Hour))
		time.Sleep(5*time.Second + time.Millisecond)
		b.set(func(b *fakeBackend) { b.down = true })
		time.Sleep(150 * time.Second)
		b.set(func(b *fakeBackend) { b.down = false })
		time.Sleep(2 * time.Second)
		b.set(func(b *fakeBackend) {
			if b.state["a"] != Errored {
				t.Errorf("a is %s before the runner stops", b.state["a"])
			}
		})
		x.stop()
		<-x.done
	})
}

// A task that was cancelled may be put back, but not after a pause.
func TestPauseOutdoesACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		var first, second error
		ask := make(chan struct{})
		x := start(b, func(ctx context.Context, job Job) (string, error) {
			<-ctx.Done()
			first = job.Guard(ctx)
			<-ask
			second = job.Guard(ctx)
			return "", nil
		})
		time.Sleep(5*time.Second + 500*time.Millisecond)
		b.set(func(b *fakeBackend) { b.state["a"] = Cancelled })
		time.Sleep(time.Second)
		x.clock.jump(130 * time.Second)
		close(ask)
		x.stop()
		<-x.done
		if LostReason(first) != LostCancelled || LostReason(second) != LostSilent {
			t.Errorf("the guard says %v, then %v", first, second)
		}
	})
}

type jumpClock struct {
	Clock
	mu sync.Mutex
	by time.Duration
}

func (c *jumpClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += d
}

func (c *jumpClock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Boot() + c.by
}

// A short pause: the guard asks the store before it says yes.
func TestGuardAsksAfterAShortPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		go1, go2 := make(chan struct{}), make(chan struct{})
		var first, second error
		x := start(b, func(ctx context.Context, job Job) (string, error) {
			<-go1
			first = job.Guard(ctx)
			<-go2
			second = job.Guard(ctx)
			return "", nil
		})
		time.Sleep(5*time.Second + 500*time.Millisecond)
		n := len(b.log())
		x.clock.jump(20 * time.Second)
		close(go1)
		synctest.Wait()
		if first != nil || len(b.log()) != n+1 {
			t.Errorf("%v after %d questions", first, len(b.log())-n)
		}
		x.clock.jump(20 * time.Second)
		b.set(func(b *fakeBackend) { b.state["a"] = Cancelled })
		close(go2)
		synctest.Wait()
		if LostReason(second) != LostCancelled {
			t.Errorf("got %v", second)
		}
		x.stop()
		<-x.done
	})
}

// Neither an outage that is shorter than trust nor a stop of the worker makes
// the guard refuse: the task is still ours.
func TestGuardOutlastsAnOutageAndAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard("a")
		ask := make(chan struct{})
		var said []error
		x := start(b, func(ctx context.Context, job Job) (string, error) {
			for range ask {
				said = append(said, job.Guard(ctx))
			}
			return "", nil
		})
		time.Sleep(5*time.Second + 500*time.Millisecond)
		b.set(func(b *fakeBackend) { b.down = true })
		time.Sleep(60 * time.Second)
		ask <- struct{}{}
		b.set(func(b *fakeBackend) { b.down = false })
		time.Sleep(5 * time.Second)
		x.abort()
		ask <- struct{}{}
		time.Sleep(10 * time.Second)
		ask <- struct{}{}
		close(ask)
		<-x.done
		if !reflect.DeepEqual(said, []error{nil, nil, nil}) {
			t.Errorf("the guard says %v", said)
		}
		if b.state["a"] != Errored {
			t.Errorf("a is %s", b.state["a"])
		}
	})
}

func TestOnceTakesOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			ids  []string
			want []string
		}{
			{nil, []string{"0s Register", "0s Beat", "0s Look", "0s Claim", "0s StopRunner"}},
			{[]string{"a", "b"}, []string{"0s Register", "0s Beat", "0s Look", "0s Claim", "0s Complete a", "0s StopRunner"}},
		} {
			b := newFakeBoard(tc.ids...)
			w := &Worker{Backend: b, Clock: bubbleClock{time.Now()}, RunnerID: "me", Once: true, Do: takes(0)}
			if err := w.Run(t.Context(), t.Context()); err != nil {
				t.Error(err)
			}
			equal(t, b.log(), tc.want)
		}
		b := newFakeBoard()
		b.down = true
		assertFault(t, (&Worker{Backend: b, Clock: bubbleClock{time.Now()}, Once: true}).Run(t.Context(), t.Context()), fault.QueueNotAvailable)
	})
}

func TestSweptTasksAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFakeBoard()
		b.swept = []Swept{{Task: Task{TaskID: "x "}, Runner: "dead"}}
		x := start(b, takes(0))
		time.Sleep(5 * time.Second)
		x.stop()
		<-x.done
		equal(t, x.events, []string{"started", "swept x dead", "stopped"})
	})
}

// goneBoard answers nothing from the moment on that it is gone.
type goneBoard struct {
	*fakeBackend
	gone atomic.Bool
}

// ask waits as the store does: until its patience ends, or its context.
func (b *goneBoard) ask(ctx context.Context, answer func() error) error {
	if !b.gone.Load() {
		return answer()
	}
	_ = proc.Sleep(ctx, 30*time.Second)
	return errors.New("nobody answers")
}

func (b *goneBoard) Beat(ctx context.Context, r Runner) error {
	return b.ask(ctx, func() error { return b.fakeBackend.Beat(ctx, r) })
}

func (b *goneBoard) StopRunner(ctx context.Context, r Runner) error {
	return b.ask(ctx, func() error { return b.fakeBackend.StopRunner(ctx, r) })
}

func (b *goneBoard) Check(ctx context.Context, t Task) error {
	return b.ask(ctx, func() error { return b.fakeBackend.Check(ctx, t) })
}

func (b *goneBoard) Complete(ctx context.Context, t Task, out string) error {
	return b.ask(ctx, func() error { return b.fakeBackend.Complete(ctx, t, out) })
}

func (b *goneBoard) Fail(ctx context.Context, t Task, m string) error {
	return b.ask(ctx, func() error { return b.fakeBackend.Fail(ctx, t, m) })
}

// A worker that is told to stop does not wait for a store that is gone.
func TestStoppingDoesNotWaitForAStoreThatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		tasks  []string
		do     Do
		second time.Duration // after the first signal; 0: none
		most   time.Duration // after the last signal
	}{
		"idle":               {nil, takes(time.Second), 0, 4 * time.Second},
		"task in hand":       {[]string{"a"}, takes(20 * time.Second), 0, 60 * time.Second},
		"second, being told": {[]string{"a"}, takes(8 * time.Second), 10 * time.Second, 7 * time.Second},
		"second, at work": {[]string{"a"}, func(ctx context.Context, _ Job) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, 10 * time.Second, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &goneBoard{fakeBackend: newFakeBoard(tc.tasks...)}
				ctx, abort := context.WithCancel(t.Context())
				defer abort()
				soon, stop := context.WithCancel(ctx)
				done := make(chan error, 1)
				w := &Worker{Backend: b, Clock: bubbleClock{time.Now()}, RunnerID: "me", Do: tc.do}
				go func() { done <- w.Run(ctx, soon) }()
				time.Sleep(5 * time.Second)
				b.gone.Store(true)
				time.Sleep(5 * time.Second)
				stop()
				if tc.second > 0 {
					time.Sleep(tc.second)
					abort()
				}
				asked := time.Now()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if took := time.Since(asked); took > tc.most {
					t.Errorf("ended %v after it was told to, at most %v", took, tc.most)
				}
			})
		})
	}
}
