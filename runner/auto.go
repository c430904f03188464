package runner

import (
	"context"
	"os"
	"strconv"
	"time"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta/choose"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// AutoOptions bound a session. Zero values are the configuration's.
type AutoOptions struct {
	MaxRuns    int
	MaxMinutes int
	Until      time.Time
	MaxCostUSD float64 // 0: any
	Base       string
	Stack      bool
	LandInto   string // branch onto which each finished run lands, and from which runs start; "" is none
}

// Auto runs one request after the other under the queue lock until a rule says
// stop (design.md 6.4). Its error is a refusal to begin; why a session ended is
// in its StopReason.
func (r *Runner) Auto(ctx context.Context, o AutoOptions) (Session, error) {
	queue, err := r.LockQueue(ctx, Options{})
	if err != nil {
		return Session{}, err
	}
	defer queue.Release()
	slot, err := r.Project.TakeSlot(queue.Context(), 0)
	if err != nil {
		return Session{}, err
	}
	defer slot.Release()
	a := r.newAuto(o, queue, slot)
	r.Tell(stage.Event{Kind: stage.SessionBegun, What: a.bounds(o)})
	_ = os.Remove(stage.CacheFile(r.Project, stopFile))
	a.s.Before = r.keepLast(ctx)
	a.set(Starting)
	if r.Doctor != nil {
		if err := r.Doctor(ctx); err != nil {
			a.end(Stopped, fault.Of(err, fault.InternalError))
			return a.s, err
		}
	}
	r.putAwayLeft(slot.Context())
	if o.LandInto != "" {
		if err := a.openLanding(slot.Context()); err != nil {
			a.end(Stopped, fault.Of(err, fault.InternalError))
			return a.s, err
		}
	}
	a.loop(slot.Context())
	return a.s, nil
}

type auto struct {
	r     *Runner
	o     AutoOptions
	queue *locks.Lease
	slot  *locks.Lease
	s     Session
	skip  map[string]bool
	lost  map[string]*fault.Error
	used  map[string]*runs.Usage // by run, in this session
	purse stage.Purse
	row   struct{ needsInput, failed, skips int } // in a row
}

func (r *Runner) newAuto(o AutoOptions, queue, slot *locks.Lease) *auto {
	cfg := r.Project.Config.AutoRun
	if o.MaxRuns <= 0 {
		o.MaxRuns = cfg.MaxRunsPerSession
	}
	if o.MaxMinutes <= 0 && o.Until.IsZero() { // either, when given, takes the place of the default
		o.MaxMinutes = cfg.MaxDurationMin
	}
	if o.LandInto != "" {
		o.Base = o.LandInto
	}
	now := r.Project.Now()
	a := &auto{r: r, o: o, queue: queue, slot: slot, s: idle(), skip: map[string]bool{}, lost: map[string]*fault.Error{}, used: map[string]*runs.Usage{}, purse: stage.Purse{Budget: runs.Budget{CostUSD: o.MaxCostUSD}}}
	a.s.StartedAt = &now
	a.s.Limits = SessionLimits{MaxRuns: o.MaxRuns, MaxMinutes: o.MaxMinutes, MaxCostUSD: o.MaxCostUSD, Stack: o.Stack || r.Project.Config.AutoRun.Stack}
	if !o.Until.IsZero() {
		a.s.Limits.Until = &o.Until
	}
	return a
}

// bounds says when the session stops by itself, and what says so: a flag that
// was given, or the configuration.
func (a *auto) bounds(given AutoOptions) string {
	by := func(flag, key string, isGiven bool) string {
		if isGiven {
			return flag
		}
		return key
	}
	at, why := a.o.Until, "--until"
	if end := a.s.StartedAt.Add(time.Duration(a.o.MaxMinutes) * time.Minute); a.o.MaxMinutes > 0 && (at.IsZero() || end.Before(at)) {
		at, why = end, by("--max-minutes", "auto_run.max_duration_min", given.MaxMinutes > 0)
	}
	facts := fault.Facts{
		"at": at.Local().Format("2006-01-02 15:04"), "why": why,
		"runs": strconv.Itoa(a.o.MaxRuns), "why_runs": by("--max-runs", "auto_run.max_runs_per_session", given.MaxRuns > 0),
	}
	if cost := a.o.MaxCostUSD; cost > 0 {
		facts["cost"] = (&runs.Usage{CostUSD: &cost}).Facts()["cost"]
	}
	return a.r.Words.Text("work.session_bounds", facts)
}

func (a *auto) set(state SessionState) {
	a.s.State = state
	a.r.SaveCache(sessionFile, &a.s)
}

func (a *auto) end(state SessionState, why *fault.Error) {
	now := a.r.Project.Now()
	a.s.EndedAt, a.s.CurrentRequestID, a.s.CurrentRunID = &now, nil, nil
	a.s.StopReason = a.r.stopReason(context.Background(), why)
	a.set(state)
	a.hook("on_stop", string(why.Code), Result{})
}

// loop selects and runs until something says stop.
func (a *auto) loop(ctx context.Context) {
	for {
		if why := a.stop(ctx); why != nil {
			a.end(Stopped, why)
			return
		}
		a.set(Selecting)
		out, err := a.r.Next(ctx, Options{Base: a.o.Base, Stack: a.o.Stack, Slot: a.slot, Skip: a.skip, Begun: a.begun, Lost: a.lost, purse: &a.purse}, a.queue)
		switch {
		case ctx.Err() != nil:
			a.note(ctx, out)
			a.end(Stopped, interruptedIn(out, interruption(ctx)))
			return
		case err != nil && out.RequestID == "":
			a.end(Stopped, fault.Of(err, fault.InternalError))
			return
		case err != nil:
			a.skipped(out.RequestID, err)
		case out.Waits != nil:
			if !a.wait(ctx, out.Waits) {
				return
			}
		case out.Selection != nil:
			a.end(Completed, completed(out.Selection))
			return
		default:
			a.note(ctx, out)
		}
	}
}

// completed says how many branches wait to be merged, if any do.
func completed(sel *choose.Result) *fault.Error {
	unmerged := 0
	for _, e := range sel.Excluded {
		if e.ReasonCode == fault.LatestRunDone {
			unmerged++
		}
	}
	if unmerged == 0 {
		return fault.New(fault.AutoCompleted)
	}
	return fault.New(fault.AutoCompleted, "count", unmerged)
}

func interruption(ctx context.Context) *fault.Error {
	if f, ok := fault.As(context.Cause(ctx)); ok {
		return f
	}
	return fault.New(fault.Interrupted)
}

// interruptedIn names the run that was cut short, if one was.
func interruptedIn(out Outcome, why *fault.Error) *fault.Error {
	if f, ok := fault.As(out.Err); ok && f.Code == why.Code {
		return f
	}
	return why
}

// begun is told when a run has a name.
func (a *auto) begun(requestID, runID string) {
	a.s.CurrentRequestID, a.s.CurrentRunID = &requestID, &runID
	a.set(Running)
}

// note counts how a run ended and tells who asked to know.
func (a *auto) note(ctx context.Context, out Outcome) {
	if out.Stage == nil {
		return
	}
	st := out.Stage
	a.use(st)
	if fault.CodeOf(out.Err).Waits() {
		a.putOff(out)
		return
	}
	res := Result{
		RequestID: out.RequestID, RunID: out.RunID, Title: st.Title, State: st.State, WorkBranch: st.Git.WorkBranch,
		ReasonCode: fault.CodeOf(out.Err), Warnings: st.Warnings(), StartedAt: st.StartedAt, EndedAt: a.r.Project.Now(),
		Said: saidIn(out.Err), Usage: st.Usage(),
	}
	a.landed(ctx, &res)
	a.s.CurrentRequestID, a.s.CurrentRunID = nil, nil
	a.s.LastResult, a.s.Results = &res, append(a.s.Results, res)
	a.s.Counters.Runs++
	a.row.skips = 0
	a.count(st.State)
	a.r.SaveCache(sessionFile, &a.s)
	switch st.State {
	case runs.Done:
		a.hook("on_done", "", res)
	case runs.NeedsInput, runs.Failed:
		a.hook("on_needs_input", string(res.ReasonCode), res)
	}
}

// use sums up what AI commands took in this session; a run may take part twice.
func (a *auto) use(st *runs.Stage) {
	a.used[st.RunID] = st.UsageSince(*a.s.StartedAt)
	a.s.Usage = nil
	for _, u := range a.used {
		a.s.Usage = a.s.Usage.Add(u)
	}
	a.purse.Used = a.s.Usage
}

// saidIn is what the AI command said when it failed; "" is nothing.
func saidIn(err error) string {
	if f, ok := fault.As(err); ok {
		return f.Facts["said"]
	}
	return ""
}

func (a *auto) count(state runs.State) {
	switch state {
	case runs.Done:
		a.s.Counters.Done++
		a.row.needsInput, a.row.failed = 0, 0
	case runs.NeedsInput:
		a.s.Counters.NeedsInput++
		a.row.needsInput++
		a.row.failed = 0
	case runs.Failed:
		a.s.Counters.Failed++
		a.row.failed++
		a.row.needsInput = 0
	}
}

// skipped notes a request that could not be started; it is not tried again in
// this session.
func (a *auto) skipped(id string, err error) {
	a.skip[id] = true
	a.s.Counters.Skips++
	a.row.skips++
	f := fault.Of(err, fault.InternalError)
	a.s.Skipped = append(a.s.Skipped, a.r.skipReason(id, f))
	a.r.Tell(stage.Event{Kind: stage.Skipped, RequestID: id, What: string(f.Code)})
	a.r.SaveCache(sessionFile, &a.s)
}

// stop says why no further run may begin, nil when one may.
func (a *auto) stop(ctx context.Context) *fault.Error {
	cfg, now := a.r.Project.Config.AutoRun, a.r.Project.Now()
	switch {
	case ctx.Err() != nil:
		return interruption(ctx)
	case stopAsked(a.r.Project):
		return fault.New(fault.StopRequested)
	case a.purse.Gone != nil:
		return a.purse.Gone
	case a.purse.Exhausted(a.s.Usage) != nil:
		return a.purse.Exhausted(a.s.Usage)
	case cfg.StopOnFailed && a.row.failed >= cfg.MaxConsecutiveFailed:
		return fault.New(fault.FailedInARow, "count", a.row.failed, "run_id", a.s.LastResult.RunID)
	case cfg.StopOnNeedsInput && a.row.needsInput >= cfg.MaxConsecutiveNeedsInput:
		return fault.New(fault.NeedsInputInARow, "count", a.row.needsInput, "run_id", a.s.LastResult.RunID)
	case a.row.skips >= cfg.MaxConsecutiveSkips:
		return fault.New(fault.MaxSkipsReached, "count", a.row.skips, "reason", a.s.Skipped[len(a.s.Skipped)-1].ReasonCode)
	case a.s.Counters.Runs >= a.o.MaxRuns:
		return fault.New(fault.MaxRunsReached, "count", a.s.Counters.Runs)
	case a.o.MaxMinutes > 0 && now.Sub(*a.s.StartedAt) >= time.Duration(a.o.MaxMinutes)*time.Minute:
		return fault.New(fault.MaxDurationReached, "minutes", a.o.MaxMinutes)
	case !a.o.Until.IsZero() && !now.Before(a.o.Until):
		return fault.New(fault.MaxDurationReached)
	}
	return nil
}

// stopAsked reports whether somebody asked the session to stop after the run in
// hand.
func stopAsked(p *project.Project) bool {
	_, err := os.Lstat(stage.CacheFile(p, stopFile))
	return err == nil
}

// Err is why the session did not end well: nil when it ended by itself or
// was asked to.
func (s *Session) Err() error {
	if s.StopReason == nil {
		return nil
	}
	why := &fault.Error{Code: s.StopReason.ReasonCode, Facts: s.StopReason.Facts}
	if why.Code.Info().Exit == 0 {
		return nil
	}
	return why
}
