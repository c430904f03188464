package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"aiflow/internal/proc"
)

// lease is the hold on the task in hand: when the store last confirmed it, and
// how it was lost.
type lease struct {
	mu        sync.Mutex
	confirmed time.Duration // boot time at which the last confirmed question began
	cancel    context.CancelCauseFunc
	lost      error
}

func (l *lease) confirm(at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed = max(l.confirmed, at)
}

func (l *lease) age(now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now - l.confirmed
}

// lose ends the task's context; the first cause stays.
func (l *lease) lose(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = err
		l.cancel(err)
	}
	return l.lost
}

func (l *lease) state() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
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
	l := &lease{cancel: cancel, confirmed: w.Clock.Boot()}
	end := w.keep(ctx, l, t)
	o := w.do(ctx, jobCtx, l, t)
	ended := end()
	if err := l.state(); err != nil && !errors.Is(err, ErrStopped) {
		w.tell(Event{Kind: EventLost, Task: t, Err: err})
		if ended == nil && LostReason(err) == LostSilent {
			w.givenUp = &t
			w.endGivenUp(idle)
		}
		return ended
	}
	return errors.Join(ended, w.finish(ctx, idle, t, o, l.state() != nil))
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
		return w.Backend.Fail(ctx, *t, "runner "+w.RunnerID+" gave this task up: for too long it had no sign of the queue")
	})
	if err == nil || LostReason(err) != "" {
		w.givenUp = nil
		return
	}
	w.trouble(err)
}

// do runs the task and ends its context when the worker must stop at once.
func (w *Worker) do(ctx, jobCtx context.Context, l *lease, t Task) outcome {
	done := make(chan outcome, 1)
	job := Job{Task: t, Guard: func(ctx context.Context) error { return w.guard(ctx, l, t) }}
	go func() {
		output, err := w.Do(jobCtx, job)
		done <- outcome{output, err}
	}()
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
		_ = l.lose(ErrStopped)
		return <-done
	}
}

// guard first asks the clock: after a pause nobody need be asked to know that
// the task may be another's. A store that does not answer changes nothing
// while trust lasts; nor does a worker that must stop at once, whose task is
// still its own.
func (w *Worker) guard(ctx context.Context, l *lease, t Task) error {
	if err := w.trust(l, t); err != nil {
		return err
	}
	if err := l.state(); err != nil && !errors.Is(err, ErrStopped) {
		return err
	}
	now := w.Clock.Boot()
	if l.age(now) <= w.Times.Fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Times.Fresh)
	defer cancel()
	err := w.Backend.Check(ctx, t)
	if LostReason(err) != "" {
		return l.lose(err)
	}
	if err == nil {
		l.confirm(now)
	}
	return w.trust(l, t)
}

// trust says what the clock says, also when the task was lost otherwise before.
func (w *Worker) trust(l *lease, t Task) error {
	age := l.age(w.Clock.Boot())
	if age < w.Times.Trust {
		return nil
	}
	err := lockLost(t.TaskID, LostSilent, "since", age.Round(time.Second))
	_ = l.lose(err)
	return err
}

// keep beats in the background while a task is in hand. The function it gives
// ends that, and says whether the worker lost its own place meanwhile.
func (w *Worker) keep(ctx context.Context, l *lease, t Task) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	trust := time.AfterFunc(w.Times.Trust+margin, func() { _ = w.trust(l, t) })
	go func() { done <- w.beats(ctx, l, t, trust) }()
	return func() error {
		cancel()
		trust.Stop()
		return <-done
	}
}

// margin keeps the timer of trust behind the boot clock.
const margin = 10 * time.Millisecond

func (w *Worker) beats(ctx context.Context, l *lease, t Task, trust *time.Timer) error {
	renew := w.Clock.Boot() + w.Times.Renew
	for proc.Sleep(ctx, w.Poll) == nil && w.trust(l, t) == nil {
		began := w.Clock.Boot()
		if err := w.Backend.Beat(ctx, w.runner); LostReason(err) != "" {
			_ = l.lose(err)
			return err
		}
		ask := w.Backend.Check
		if began >= renew {
			ask, renew = w.Backend.Heartbeat, began+w.Times.Renew
		}
		switch err := ask(ctx, t); {
		case err == nil:
			l.confirm(began)
			trust.Reset(w.Times.Trust + margin - (w.Clock.Boot() - began))
		case LostReason(err) != "":
			_ = l.lose(err)
			return nil
		case ctx.Err() == nil:
			w.trouble(err)
		}
		if _, err := w.watchOthers(ctx); ctx.Err() == nil {
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
			return w.Backend.Fail(ctx, t, message(o.err))
		}
		return w.Backend.Complete(ctx, t, o.output)
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
		if err := w.Backend.Beat(ctx, w.runner); LostReason(err) != "" {
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
