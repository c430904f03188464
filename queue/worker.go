package queue

import (
	"cmp"
	"context"
	"errors"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// Backend is what a worker needs of a store; *Store has it.
type Backend interface {
	Register(ctx context.Context, runnerID, projectRoot string) (Runner, error)
	Beat(ctx context.Context, r Runner) error
	StopRunner(ctx context.Context, r Runner) error
	Check(ctx context.Context, t Task) error
	Heartbeat(ctx context.Context, t Task) error
	Complete(ctx context.Context, t Task, output string) error
	Fail(ctx context.Context, t Task, message string) error
	ForRunner(r Runner) (Taker, Watch)
}

// Taker takes tasks; *Claimer is one.
type Taker interface {
	Claim(ctx context.Context) (Task, bool, error)
	SetPeers(ids []string)
	Holds(t Task) bool
}

// Watch looks after the tasks of others; *Sweeper is one.
type Watch interface {
	Look(ctx context.Context) (alive []string, err error)
	Sweep(ctx context.Context, mine func(Task) bool) ([]Swept, error)
}

// ForRunner gives a registered runner its claimer and its sweeper.
func (s *Store) ForRunner(r Runner) (Taker, Watch) { return s.Claimer(r.RunnerID), s.Sweeper(r) }

// Job is a task in hand.
type Job struct {
	Task Task
	// Guard says that the task is still ours; ask before every write that
	// others see (a commit, a request file). It is quick while the last sign
	// of the store is fresh. After an error nothing may be written any more.
	Guard func(context.Context) error
}

// Do does a task; output is kept with it. Its context ends when the task is
// cancelled, when it is not ours any more, or when the worker must stop at once;
// context.Cause says which. Do returns when nothing of the task runs any more. An
// error ends the task in ERROR with its text.
type Do func(ctx context.Context, job Job) (output string, err error)

// Event is one line of a worker's life.
type Event struct {
	Kind   string // see the Event constants
	Task   Task
	Runner string // swept: whose task it was
	Err    error
}

// Kinds of events.
const (
	EventStarted  = "started"
	EventClaimed  = "claimed"
	EventComplete = "complete"
	EventError    = "error" // the task ended in ERROR
	EventLost     = "lost"  // the task was cancelled or is not ours any more
	EventSwept    = "swept"
	EventWaiting  = "waiting" // for a place: other runs are at work
	EventTrouble  = "trouble" // the store did not answer; the worker goes on
	EventStopped  = "stopped"
)

// ErrStopped is the cause of a task's context when the worker must stop at once.
var ErrStopped = errors.New("runner stopped")

// Worker takes tasks one at a time and has them done.
type Worker struct {
	Backend     Backend
	Clock       Clock
	RunnerID    string
	ProjectRoot string
	Poll        time.Duration // 0: one second
	Once        bool          // end after one task, or when there is none
	// Room is asked for a place before a task is claimed, which release gives
	// back. When release is nil no place is free, and nothing is claimed.
	// Without Room there is always a place.
	Room  func(ctx context.Context) (release func(), err error)
	Do    Do
	Tell  func(Event) // nil: nobody listens
	Times Times       // zero fields: the defaults

	runner    Runner
	taker     Taker
	watch     Watch
	nextSweep time.Duration
	looked    bool
	full      bool // there was no room at the last look
	inHand    string
	givenUp   *Task
}

// Times are the worker's intervals beside Poll.
type Times struct {
	Trust time.Duration // without a sign of the store for this long, the task in hand is given up
	Renew time.Duration // how often updated_at of the task in hand is renewed
	Sweep time.Duration // how often the tasks of dead runners are looked for
	Final time.Duration // how long the last write may take when the worker must stop at once
	Fresh time.Duration // how old a sign may be for Guard to be quick
}

func (t Times) withDefaults() Times {
	t.Trust = cmp.Or(t.Trust, AliveFor-20*time.Second)
	t.Renew = cmp.Or(t.Renew, 30*time.Second)
	t.Sweep = cmp.Or(t.Sweep, 30*time.Second)
	t.Final = cmp.Or(t.Final, 3*time.Second)
	t.Fresh = cmp.Or(t.Fresh, 5*time.Second)
	return t
}

// Run works until soon ends (the task in hand is finished first) or ctx
// ends (the task in hand ends as ERROR "runner stopped"). Neither waits for a
// store that does not answer.
func (w *Worker) Run(ctx, soon context.Context) (err error) {
	w.Poll, w.Times = cmp.Or(w.Poll, time.Second), w.Times.withDefaults()
	idle, end := context.WithCancel(ctx) // of what need not be waited for once the worker shall stop
	defer end()
	defer context.AfterFunc(soon, end)()
	if w.runner, err = w.Backend.Register(idle, w.RunnerID, w.ProjectRoot); err != nil {
		return err
	}
	w.taker, w.watch = w.Backend.ForRunner(w.runner)
	w.tell(Event{Kind: EventStarted})
	defer w.leave(ctx)
	for idle.Err() == nil {
		worked, err := w.poll(ctx, idle)
		if err != nil {
			return err
		}
		if w.Once && !w.full {
			return nil
		}
		if !worked {
			_ = proc.Sleep(idle, w.Poll)
		}
	}
	return nil
}

// leave records the end; a runner that was replaced has no record any more.
func (w *Worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Times.Final)
	defer cancel()
	if err := w.Backend.StopRunner(ctx, w.runner); err != nil && LostReason(err) == "" {
		w.trouble(err)
	}
	w.tell(Event{Kind: EventStopped})
}

// poll is one round: the heartbeat and one request more, which is either for a
// task or for the watch over the others. Only an end for good is an error.
func (w *Worker) poll(ctx, idle context.Context) (worked bool, err error) {
	if err := w.Backend.Beat(idle, w.runner); err != nil {
		if LostReason(err) != "" {
			return false, err
		}
		if idle.Err() == nil {
			w.trouble(err)
		}
		return false, nil
	}
	w.endGivenUp(idle)
	if on, err := w.watchOthers(idle); on && !w.Once {
		if idle.Err() == nil {
			w.trouble(err)
		}
		return false, nil
	}
	release, err := w.room(idle)
	if err != nil || release == nil {
		w.trouble(err)
		return false, onlyIf(w.Once, err)
	}
	defer release()
	var t Task
	var ok bool
	err = w.lastly(idle, func(ctx context.Context) (err error) { // half way the task could be ours without our knowing
		t, ok, err = w.taker.Claim(ctx)
		return err
	})
	if err != nil || !ok {
		w.trouble(err)
		return false, onlyIf(w.Once, err)
	}
	w.tell(Event{Kind: EventClaimed, Task: t})
	return true, w.work(ctx, idle, t)
}

// room takes a place for one task. That there is none is told once.
func (w *Worker) room(ctx context.Context) (release func(), err error) {
	if w.Room == nil {
		return func() {}, nil
	}
	release, err = w.Room(ctx)
	full := release == nil && err == nil
	if full && !w.full {
		w.tell(Event{Kind: EventWaiting})
	}
	w.full = full
	return release, err
}

func onlyIf(wanted bool, err error) error {
	if wanted {
		return err
	}
	return nil
}

// watchOthers looks after the others when it is time to: first at the runners, at the
// next call at their tasks. on says that it did something.
func (w *Worker) watchOthers(ctx context.Context) (on bool, err error) {
	now := w.Clock.Boot()
	switch {
	case w.looked:
		w.looked = false
		swept, err := w.watch.Sweep(ctx, w.mine)
		for _, s := range swept {
			w.tell(Event{Kind: EventSwept, Task: s.Task, Runner: s.Runner})
		}
		return true, err
	case w.nextSweep == 0 || now >= w.nextSweep:
		w.nextSweep = now + w.Times.Sweep
		alive, err := w.watch.Look(ctx)
		if err != nil {
			return true, err
		}
		w.looked = true
		w.taker.SetPeers(alive)
		return true, nil
	}
	return false, nil
}

// mine keeps the sweep off the task in hand and off a claim of ours whose
// answer never came, which is taken up instead.
func (w *Worker) mine(t Task) bool {
	return t.AttemptToken == w.inHand || w.taker.Holds(t)
}

func (w *Worker) tell(e Event) {
	if w.Tell != nil {
		w.Tell(e)
	}
}

func (w *Worker) trouble(err error) {
	if err != nil {
		w.tell(Event{Kind: EventTrouble, Err: err})
	}
}

// message is what an error says to the readers of the queue.
func message(err error) string {
	if f, ok := fault.As(err); ok && f.Facts["detail"] != "" {
		return string(f.Code) + ": " + f.Facts["detail"]
	}
	return err.Error()
}
