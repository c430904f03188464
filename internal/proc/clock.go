package proc

import (
	"context"
	"time"
)

// Clock reads the wall clock, which people and other machines share, and the
// time since boot, which nobody can set and which goes on during sleep.
type Clock interface {
	Now() time.Time
	Boot() time.Duration
}

// ClockOf makes a Clock of two functions.
func ClockOf(now func() time.Time, boot func() time.Duration) Clock { return clock{now, boot} }

type clock struct {
	now  func() time.Time
	boot func() time.Duration
}

func (c clock) Now() time.Time      { return c.now() }
func (c clock) Boot() time.Duration { return c.boot() }

// Sleep waits for d, or until ctx ends and then gives its cause.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
