package runner

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
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
		{func(a *auto) { *a.session.StartedAt = a.session.StartedAt.Add(-time.Hour) }, fault.MaxDurationReached},
		{func(a *auto) { a.o.Until = g.p.Now().Add(-time.Second) }, fault.MaxDurationReached},
		{func(a *auto) { a.o.Until = g.p.Now().Add(time.Hour) }, ""},
		{func(a *auto) { a.inARow.failed = cfg.MaxConsecutiveFailed }, fault.FailedInARow},
		{func(a *auto) { a.inARow.failed = cfg.MaxConsecutiveFailed - 1 }, ""},
		{func(a *auto) { a.inARow.needsInput = cfg.MaxConsecutiveNeedsInput }, fault.NeedsInputInARow},
		{func(a *auto) {
			for range cfg.MaxConsecutiveSkips {
				a.skipped("RQ-1", fault.New(fault.LockHeld))
			}
		}, fault.MaxSkipsReached},
		{func(a *auto) { a.session.Counters.Runs = a.o.MaxRuns }, fault.MaxRunsReached},
	} {
		now := g.p.Now()
		a := &auto{r: r, o: AutoOptions{MaxRuns: 5, MaxMinutes: 60}, session: Session{StartedAt: &now, LastResult: last}, skip: map[string]bool{}}
		tc.change(a)
		got := fault.Code("")
		if why := a.limitReached(); why != nil {
			got = why.Code
		}
		if got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// It is told until when runs begin, so what counts is the wall clock: the one that a
// reading of time.Now carries besides stands still while the machine sleeps.
func TestASessionLastsByTheWallClock(t *testing.T) {
	g := newGround(t, "---\ntitle: One\nstatus: draft\n---\n")
	g.p.Env.Clock = proc.ClockOf(time.Now, proc.BootClock)
	if a := g.runner().newAuto(AutoOptions{}, nil, nil); *a.session.StartedAt != a.session.StartedAt.Round(0) {
		t.Errorf("%v is not of the wall clock alone", a.session.StartedAt)
	}
}

// A session ends with what keeps every request from its run.
func TestEveryonesTrouble(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	for _, tc := range []struct {
		err  error
		want fault.Code
	}{
		{full, fault.DiskFull},
		{fault.Wrap(full, fault.StageWriteFailed, "path", "runs/x"), fault.DiskFull},
		{fault.Wrap(syscall.EROFS, fault.RunsDirCreateFailed), fault.PathNotWritable},
		{fault.New(fault.GitRepoRefused), fault.GitRepoRefused},
		{fault.Wrap(syscall.EACCES, fault.RunsDirCreateFailed), ""}, // perhaps this request's folder
		{fault.New(fault.LockHeld), ""},
	} {
		got := fault.Code("")
		if why := affectsAllRuns(tc.err); why != nil {
			got = why.Code
		}
		if got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}

// What is wrong with the machine after a run ended badly would end the next ones, too; a
// checkout that somebody changed meanwhile would not.
func TestASessionEndsWithAMachineThatIsUnfit(t *testing.T) {
	for _, tc := range []struct {
		then error
		runs int
		want fault.Code
	}{
		{nil, 2, fault.NeedsInputInARow},
		{fault.New(fault.WorktreeDirty), 2, fault.NeedsInputInARow},
		{fault.New(fault.DoctorFailed, "checks", "disk_space"), 1, fault.DoctorFailed},
	} {
		g := newGround(t, "---\ntitle: One\nstatus: ready\nsteps: [{title: x, run: exit 3}]\n---\n")
		g.write(filepath.Join(g.dir, "requests", "RQ-2.md"), "---\ntitle: Two\nstatus: ready\nsteps: [{title: x, run: exit 3}]\n---\n")
		g.git("add", "-A")
		g.git("commit", "-q", "-m", "two")
		r, asked := g.runner(), 0
		r.Doctor = func(context.Context) error {
			if asked++; asked == 1 { // at the beginning of the session
				return nil
			}
			return tc.then
		}
		s, err := r.Auto(context.Background(), AutoOptions{MaxRuns: 5})
		if err != nil || s.StopReason == nil || s.StopReason.ReasonCode != tc.want || s.Counters.Runs != tc.runs {
			t.Errorf("%v: %v, %+v after %d runs, want %s after %d", tc.then, err, s.StopReason, s.Counters.Runs, tc.want, tc.runs)
		}
	}
}
