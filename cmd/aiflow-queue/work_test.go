package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/queue"
)

// newProject is a project with one draft and an implementer.
func newProject(t *testing.T) *project.Project {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"requests/RQ-1.md":       "---\ntitle: x\nstatus: draft\n---\n",
		".aiflow/router.v1.json": `{"version": "1.0", "routing": {"implementer": {"primary": "toy"}}, "commands": {"toy": {"bin": "true", "args": []}}}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.Open(project.SystemEnv(dir, os.Environ(), proc.ClockOf(time.Now, proc.BootClock), os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A bare prompt becomes a request file only while the task is the runner's own.
func TestLostPromptMakesNoRequest(t *testing.T) {
	p := newProject(t)
	lost := fault.New(fault.LockLost, "reason", queue.LostReplaced)
	if _, err := (&doer{p: p}).requestOf(queue.Task{Prompt: "p"}, func() error { return lost }); !fault.Has(err, fault.LockLost) {
		t.Errorf("got %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(p.Dir, "requests", "*")); len(files) != 1 {
		t.Errorf("made %v", files)
	}
}

// Only a cancelled task may be put back; the runner hears of it by the guard and
// by the end of its context alike.
func TestOnlyACancelledTaskIsHandedBack(t *testing.T) {
	for reason, want := range map[string]fault.Code{
		queue.LostCancelled: fault.Interrupted, queue.LostReplaced: fault.LockLost, queue.LostEnded: fault.LockLost,
		queue.LostMissing: fault.LockLost, queue.LostSilent: fault.LockLost,
	} {
		lost := fault.New(fault.LockLost, "reason", reason)
		if got := handedBack(lost); !fault.Has(got, want) {
			t.Errorf("%s: %v", reason, got)
		}
		ctx, end := context.WithCancelCause(t.Context())
		ours, done := whileOurs(ctx)
		end(lost)
		<-ours.Done()
		if got := context.Cause(ours); !fault.Has(got, want) {
			t.Errorf("%s: the context ends with %v", reason, got)
		}
		done()
	}
	if handedBack(nil) != nil || handedBack(queue.ErrStopped) != queue.ErrStopped {
		t.Error("what is no loss is changed")
	}
}

// slotBoard has one task.
type slotBoard struct {
	queue.Backend
	claims int
}

func (b *slotBoard) Register(context.Context, string, string) (queue.Runner, error) {
	return queue.Runner{RunnerID: "r"}, nil
}
func (b *slotBoard) Beat(context.Context, queue.Runner) error           { return nil }
func (b *slotBoard) Check(context.Context, queue.Task) error            { return nil }
func (b *slotBoard) Heartbeat(context.Context, queue.Task) error        { return nil }
func (b *slotBoard) StopRunner(context.Context, queue.Runner) error     { return nil }
func (b *slotBoard) Complete(context.Context, queue.Task, string) error { return nil }
func (b *slotBoard) ForRunner(queue.Runner) (queue.Taker, queue.Watch)  { return b, b }
func (b *slotBoard) SetPeers([]string)                                  {}
func (b *slotBoard) Holds(queue.Task) bool                              { return false }
func (b *slotBoard) Look(context.Context) ([]string, error)             { return nil, nil }
func (b *slotBoard) Sweep(context.Context, func(queue.Task) bool) ([]queue.Swept, error) {
	return nil, nil
}

func (b *slotBoard) Claim(context.Context) (queue.Task, bool, error) {
	b.claims++
	return queue.Task{TaskID: "a"}, true, nil
}

// While another run has the only slot a worker claims nothing; as soon as the
// slot is free it holds that one before and for as long as it has a task.
func TestATaskIsClaimedOnlyWithASlot(t *testing.T) {
	p := newProject(t)
	m := p.Locks()
	other, err := m.AcquireSlot(t.Context(), p.Config.Limits.Jobs, locks.Ask{RunID: "RUN-1"})
	if err != nil {
		t.Fatal(err)
	}
	b, d := &slotBoard{}, &doer{p: p}
	var told []string
	w := &queue.Worker{
		Backend: b, Clock: proc.ClockOf(time.Now, proc.BootClock), RunnerID: "r", Poll: time.Millisecond, Once: true, Room: d.room,
		Tell: func(e queue.Event) {
			told = append(told, e.Kind)
			if e.Kind == queue.EventWaiting {
				if b.claims != 0 {
					t.Errorf("%d claims without a slot", b.claims)
				}
				if err := other.Release(); err != nil {
					t.Error(err)
				}
			}
		},
		Do: func(context.Context, queue.Job) (string, error) {
			if e, found, err := m.Look(locks.Slot(1)); err != nil || !found || e.Token != d.slot.Record().Token {
				t.Errorf("the slot of the task is %+v, %v", e, err)
			}
			return "", nil
		},
	}
	if err := w.Run(t.Context(), t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{queue.EventStarted, queue.EventWaiting, queue.EventClaimed, queue.EventComplete, queue.EventStopped}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if e, found, err := m.Look(locks.Slot(1)); err != nil || found {
		t.Errorf("the slot is still held: %+v, %v", e, err)
	}
}

// What makes the slots unusable is told; it is no wait for other runs.
func TestBrokenSlotsAreToldAsTrouble(t *testing.T) {
	p := newProject(t)
	if err := os.WriteFile(filepath.Join(p.Dir, ".aiflow", "locks"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b := &slotBoard{}
	var told []string
	w := &queue.Worker{
		Backend: b, Clock: proc.ClockOf(time.Now, proc.BootClock), RunnerID: "r", Once: true, Room: (&doer{p: p}).room,
		Tell: func(e queue.Event) { told = append(told, e.Kind) },
	}
	if err := w.Run(t.Context(), t.Context()); err == nil || fault.Has(err, fault.SlotsTaken) {
		t.Errorf("ended with %v", err)
	}
	if want := []string{queue.EventStarted, queue.EventTrouble, queue.EventStopped}; !slices.Equal(told, want) || b.claims != 0 {
		t.Errorf("told %v after %d claims, want %v", told, b.claims, want)
	}
}
