package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/queue"
)

// A bare prompt becomes a request file only while the task is the runner's own.
func TestLostPromptMakesNoRequest(t *testing.T) {
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
	p, err := project.Open(project.SystemEnv(dir, os.Environ(), locks.ClockOf(time.Now, proc.BootClock), os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	lost := fault.New(fault.LockLost, "reason", queue.LostReplaced)
	if _, err := (&doer{p: p}).requestOf(queue.Task{Prompt: "p"}, func() error { return lost }); !fault.Has(err, fault.LockLost) {
		t.Errorf("got %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "requests", "*")); len(files) != 1 {
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
