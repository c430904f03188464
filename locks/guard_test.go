package locks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
)

// occupy holds the guard as a stopped process would.
func (w *world) occupy() (letGo func()) {
	w.t.Helper()
	unlock, firm, err := flock.New(w.dir).Lock(context.Background(), true, flock.Patience)
	if err != nil || !firm {
		w.t.Fatal(firm, err)
	}
	return unlock
}

func TestStoppedHolderOfTheGuardBlocksNobodyForEver(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := take(t, w.process(1))
		letGo := w.occupy()
		began := time.Now()
		_, err := w.process(2).Acquire(t.Context(), Queue(), Ask{})
		f := wantCode(t, err, fault.LockHeld)
		wantFacts(t, f, fault.Facts{"reason": "guard_busy", "path": filepath.Join(w.dir, flock.GuardName)})
		if took := time.Since(began); took != flock.Patience {
			t.Errorf("waited %v", took)
		}
		refused(t, w.process(2)) // who has it can be told without the guard
		if err := l.Renew(); !fault.Has(err, fault.LockHeld) {
			t.Errorf("renewal: %v", err)
		}
		began = time.Now()
		if err := l.Release(); !fault.Has(err, fault.LockHeld) || time.Since(began) != guardTimeout {
			t.Errorf("release: %v after %v", err, time.Since(began))
		}
		if err := l.Check(); err != nil {
			t.Errorf("a busy guard lost the lease: %v", err)
		}
		letGo()
		release(t, l)
	})
}

func TestCancelledWhileTheGuardIsBusy(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		defer w.occupy()()
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		began := time.Now()
		_, err := w.process(2).Acquire(ctx, Queue(), Ask{})
		if !errors.Is(err, stop) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A waiter whose guard was deleted must not believe that it has it.
func TestDeletedGuardIsOpenedAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		letGo := w.occupy()
		got := make(chan func())
		go func() {
			unlock, _, err := flock.New(w.dir).Lock(context.Background(), true, flock.Patience)
			if err != nil {
				t.Error(err)
			}
			got <- unlock
		}()
		time.Sleep(time.Second) // it waits for the old file
		path := filepath.Join(w.dir, flock.GuardName)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		letGo()
		unlock := <-got
		if _, err := os.Stat(path); err != nil {
			t.Errorf("locked a file that nobody else can see: %v", err)
		}
		if _, _, err := flock.New(w.dir).Lock(context.Background(), false, 0); !errors.Is(err, flock.ErrBusy) {
			t.Errorf("the new guard is free: %v", err)
		}
		unlock()
	})
}
