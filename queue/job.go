package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"aiflow/internal/proc"
)

// grip is the hold on the task in hand: when the store last confirmed it, and
// how it was lost.
type grip struct {
	mu     sync.Mutex
	sign   time.Duration // boot time at which the last confirmed question began
	cancel context.CancelCauseFunc
	lost   error
}

func (g *grip) confirm(at time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sign = max(g.sign, at)
}

func (g *grip) age(now time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now - g.sign
}

// lose ends the task's context; the first cause stays.
func (g *grip) lose(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost == nil {
		g.lost = err
		g.cancel(err)
	}
	return g.lost
}

func (g *grip) state() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

type outcome struct {
	output string
	err    error
}

// work has one task done. An error means that the worker itself must end.
func (w *Worker) work(ctx, idle context.Context, t Task) error {
	w.inHand = t.AttemptToken
	defer func() { w.inHand = "" }()
	jobCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	g := &grip{cancel: cancel, sign: w.Clock.Boot()}
	end := w.keep(ctx, g, t)
	o := w.do(ctx, jobCtx, g, t)
	ended := end()
	if err := g.state(); err != nil && !errors.Is(err, ErrStopped) {
		w.tell(Event{Kind: EventLost, Task: t, Err: err})
		if ended == nil && LostReason(err) == LostSilent {
			w.givenUp = &t
			w.endGivenUp(idle)
		}
		return ended
	}
	return errors.Join(ended, w.finish(ctx, idle, t, o, g.state() != nil))
}

// endGivenUp ends the task that was given up for lack of signs, unless somebody
// else ended it meanwhile: nobody works on it, and its runner lives again. What
// gets no answer is tried at the next poll.
func (w *Worker) endGivenUp(ctx context.Context) {
	t := w.givenUp
	if t == nil {
		return
	}
	err := w.lastly(ctx, func(ctx context.Context) error {
		return w.Board.Fail(ctx, *t, "runner "+w.RunnerID+" gave this task up: for too long it had no sign of the queue")
	})
	if err == nil || LostReason(err) != "" {
		w.givenUp = nil
		return
	}
	w.trouble(err)
}

// do runs the task and ends its context when the worker must stop at once.
func (w *Worker) do(ctx, jobCtx context.Context, g *grip, t Task) outcome {
	done := make(chan outcome, 1)
	job := Job{Task: t, Guard: func(ctx context.Context) error { return w.guard(ctx, g, t) }}
	go func() {
		output, err := w.Do(jobCtx, job)
		done <- outcome{output, err}
	}()
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
		_ = g.lose(ErrStopped)
		return <-done
	}
}

// guard first asks the clock: after a pause nobody need be asked to know that
// the task may be another's. A store that does not answer changes nothing
// while trust lasts; nor does a worker that must stop at once, whose task is
// still its own.
func (w *Worker) guard(ctx context.Context, g *grip, t Task) error {
	if err := w.trust(g, t); err != nil {
		return err
	}
	if err := g.state(); err != nil && !errors.Is(err, ErrStopped) {
		return err
	}
	now := w.Clock.Boot()
	if g.age(now) <= w.Times.Fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Times.Fresh)
	defer cancel()
	err := w.Board.Check(ctx, t)
	if LostReason(err) != "" {
		return g.lose(err)
	}
	if err == nil {
		g.confirm(now)
	}
	return w.trust(g, t)
}

// trust says what the clock says, also when the task was lost otherwise before.
func (w *Worker) trust(g *grip, t Task) error {
	age := g.age(w.Clock.Boot())
	if age < w.Times.Trust {
		return nil
	}
	err := lockLost(t.TaskID, LostSilent, "since", age.Round(time.Second))
	_ = g.lose(err)
	return err
}

// keep beats in the background while a task is in hand. The function it gives
// ends that, and says whether the worker lost its own place meanwhile.
func (w *Worker) keep(ctx context.Context, g *grip, t Task) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	trust := time.AfterFunc(w.Times.Trust+margin, func() { _ = w.trust(g, t) })
	go func() { done <- w.beats(ctx, g, t, trust) }()
	return func() error {
		cancel()
		trust.Stop()
		return <-done
	}
}

// margin keeps the timer of trust behind the boot clock.
const margin = 10 * time.Millisecond

func (w *Worker) beats(ctx context.Context, g *grip, t Task, trust *time.Timer) error {
	renew := w.Clock.Boot() + w.Times.Renew
	for proc.Sleep(ctx, w.Poll) == nil && w.trust(g, t) == nil {
		began := w.Clock.Boot()
		if err := w.Board.Beat(ctx, w.runner); LostReason(err) != "" {
			_ = g.lose(err)
			return err
		}
		ask := w.Board.Check
		if began >= renew {
			ask, renew = w.Board.Heartbeat, began+w.Times.Renew
		}
		switch err := ask(ctx, t); {
		case err == nil:
			g.confirm(began)
			trust.Reset(w.Times.Trust + margin - (w.Clock.Boot() - began))
		case LostReason(err) != "":
			_ = g.lose(err)
			return nil
		case ctx.Err() == nil:
			w.trouble(err)
		}
		if _, err := w.duty(ctx); ctx.Err() == nil {
			w.trouble(err)
		}
	}
	return nil
}

// finish writes the end of the task until it is written, or refused for good.
// A worker that shall stop is patient once, and one that must stop at once tries
// for a moment only: what it could not write is ended by another's sweep.
func (w *Worker) finish(ctx, idle context.Context, t Task, o outcome, stopped bool) error {
	if stopped {
		o.err = ErrStopped
	}
	ended := EventComplete
	if o.err != nil {
		ended = EventError
	}
	write := func(ctx context.Context) error {
		if o.err != nil {
			return w.Board.Fail(ctx, t, message(o.err))
		}
		return w.Board.Complete(ctx, t, o.output)
	}
	for {
		err := w.lastly(ctx, write)
		switch {
		case err == nil:
			w.tell(Event{Kind: ended, Task: t, Err: o.err})
			return nil
		case LostReason(err) != "":
			w.tell(Event{Kind: EventLost, Task: t, Err: err})
			return nil
		}
		w.trouble(err)
		if idle.Err() != nil {
			return nil
		}
		_ = proc.Sleep(idle, w.Poll)
		if err := w.Board.Beat(ctx, w.runner); LostReason(err) != "" {
			return err
		}
	}
}

// lastly gives a write a little time even when the worker must stop at once.
func (w *Worker) lastly(ctx context.Context, write func(context.Context) error) error {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		_ = proc.Sleep(late, w.Times.Final)
		cancel()
	})
	defer stop()
	return write(late)
}
