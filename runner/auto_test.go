package runner

import (
	"testing"
	"time"

	"aiflow/internal/fault"
)

// Each rule that ends a session, told by what it counts.
func TestWhatEndsASession(t *testing.T) {
	g := newGround(t, "---\ntitle: One\nstatus: draft\n---\n")
	r, cfg := g.runner(), g.p.Config.AutoRun
	last := &Result{RunID: "RUN-20260101-000000-abcdef"}
	for _, tc := range []struct {
		change func(a *auto)
		want   fault.Code
	}{
		{func(*auto) {}, ""},
		{func(a *auto) { *a.s.StartedAt = a.s.StartedAt.Add(-time.Hour) }, fault.MaxDurationReached},
		{func(a *auto) { a.o.Until = g.p.Now().Add(-time.Second) }, fault.MaxDurationReached},
		{func(a *auto) { a.o.Until = g.p.Now().Add(time.Hour) }, ""},
		{func(a *auto) { a.row.failed = cfg.MaxConsecutiveFailed }, fault.FailedInARow},
		{func(a *auto) { a.row.failed = cfg.MaxConsecutiveFailed - 1 }, ""},
		{func(a *auto) { a.row.needsInput = cfg.MaxConsecutiveNeedsInput }, fault.NeedsInputInARow},
		{func(a *auto) {
			for range cfg.MaxConsecutiveSkips {
				a.skipped("RQ-1", fault.New(fault.LockHeld))
			}
		}, fault.MaxSkipsReached},
		{func(a *auto) { a.s.Counters.Runs = a.o.MaxRuns }, fault.MaxRunsReached},
	} {
		now := g.p.Now()
		a := &auto{r: r, o: AutoOptions{MaxRuns: 5, MaxMinutes: 60}, s: Session{StartedAt: &now, LastResult: last}, skip: map[string]bool{}}
		tc.change(a)
		got := fault.Code("")
		if why := a.stop(t.Context()); why != nil {
			got = why.Code
		}
		if got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
