package runner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
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
	Jobs       int    // runs at a time; 0: limits.jobs
	LandInto   string // branch onto which each finished run lands, and from which runs start; "" is none
}

// Auto runs one request after the other, or as many at a time as it may, under the
// queue lock until a rule says stop (design.md 6.4). Its error is a refusal to begin;
// why a session ended is in its StopReason.
func (r *Runner) Auto(ctx context.Context, o AutoOptions) (Session, error) {
	given := o
	queue, err := r.LockQueue(ctx, Options{})
	if err != nil {
		return Session{}, err
	}
	defer queue.Release()
	if o.Jobs <= 0 {
		o.Jobs = r.Project.Config.Jobs()
	}
	slots, err := project.TakeSlots(queue.Context(), r.Project, o.Jobs)
	if err != nil {
		return Session{}, err
	}
	for _, slot := range slots {
		defer slot.Release()
	}
	ctx = slots[len(slots)-1].Context()
	a := r.newAuto(o, queue, slots)
	a.given = given
	r.Tell(stage.Event{Kind: stage.SessionBegun, What: a.describeBounds(o)})
	_ = os.Remove(stage.CacheFile(r.Project, stopFile))
	a.session.Before = r.keepPrevious(ctx)
	a.setState(Starting)
	if r.Doctor != nil {
		if err := r.Doctor(ctx); err != nil {
			a.end(Stopped, fault.Of(err, fault.InternalError))
			return a.session, err
		}
	}
	r.cleanUpFinished(ctx)
	if o.LandInto != "" {
		if err := a.openLanding(ctx); err != nil {
			a.end(Stopped, fault.Of(err, fault.InternalError))
			return a.session, err
		}
	}
	a.loop(ctx)
	return a.session, nil
}

// command starts a session with the same bounds again.
func (o AutoOptions) command() string {
	words := []string{"aiflow run auto"}
	add := func(flag, value string, given bool) {
		if given {
			words = append(words, flag, proc.Word(value))
		}
	}
	add("--max-runs", strconv.Itoa(o.MaxRuns), o.MaxRuns > 0)
	add("--max-minutes", strconv.Itoa(o.MaxMinutes), o.MaxMinutes > 0)
	add("--until", o.Until.Local().Format("15:04"), !o.Until.IsZero())
	add("--max-cost", strconv.FormatFloat(o.MaxCostUSD, 'f', -1, 64), o.MaxCostUSD > 0)
	add("--base", o.Base, o.Base != "")
	if o.Stack {
		words = append(words, "--stack")
	}
	add("--jobs", strconv.Itoa(o.Jobs), o.Jobs > 0)
	add("--land-into", o.LandInto, o.LandInto != "")
	return strings.Join(words, " ")
}

type auto struct {
	r          *Runner
	given      AutoOptions // as given: what starts it again
	o          AutoOptions
	queue      *locks.Lease
	slots      []*locks.Lease
	active     []*activeRun // by slot; nil is free
	ended      chan endedRun
	skip       map[string]bool
	lost       map[string]*fault.Error
	budget     stage.SessionBudget
	stopReason *fault.Error                            // no run begins any more
	inARow     struct{ needsInput, failed, skips int } // in a row

	landing sync.Mutex // one of its runs lands at a time
	mu      sync.Mutex // of s: runs say that they begin
	session Session
}

// activeRun is a run that a slot of the session is doing.
type activeRun struct {
	requestID string
	turn      int // of the session
	calls     []config.Call
	exclusive bool // no other run may go on beside it
	cancel    context.CancelCauseFunc
}

// endedRun is what became of an active run.
type endedRun struct {
	slot      int
	outcome   Outcome
	err       error // it could not begin
	landed    string
	notLanded fault.Code
	lost      map[string]*fault.Error
	stopped   bool // a person stopped this run alone
}

func (r *Runner) newAuto(o AutoOptions, queue *locks.Lease, slots []*locks.Lease) *auto {
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
	now := r.Project.Now().Round(0) // the wall clock, by which its end is told: the other one stands still while a machine sleeps
	a := &auto{
		r: r, o: o, queue: queue, slots: slots, session: idleSession(), active: make([]*activeRun, len(slots)), ended: make(chan endedRun, len(slots)),
		skip: map[string]bool{}, lost: map[string]*fault.Error{},
		budget: stage.SessionBudget{Budget: runs.Budget{CostUSD: o.MaxCostUSD}, Since: now, Jobs: len(slots)},
	}
	a.session.StartedAt = &now
	a.session.Limits = SessionLimits{
		MaxRuns: o.MaxRuns, MaxMinutes: o.MaxMinutes, MaxCostUSD: o.MaxCostUSD, Jobs: len(slots), Stack: o.Stack || r.Project.Config.AutoRun.Stack,
	}
	if !o.Until.IsZero() {
		a.session.Limits.Until = &o.Until
	}
	return a
}

// describeBounds says when the session stops by itself, and what says so: a flag that
// was given, or the configuration.
func (a *auto) describeBounds(given AutoOptions) string {
	by := func(flag, key string, isGiven bool) string {
		if isGiven {
			return flag
		}
		return key
	}
	at, why := a.deadline(), "--until"
	if !at.Equal(a.o.Until) {
		why = by("--max-minutes", "auto_run.max_duration_min", given.MaxMinutes > 0)
	}
	facts := fault.Facts{
		"at": at.Local().Format("2006-01-02 15:04"), "why": why,
		"runs": strconv.Itoa(a.o.MaxRuns), "why_runs": by("--max-runs", "auto_run.max_runs_per_session", given.MaxRuns > 0),
	}
	if cost := a.o.MaxCostUSD; cost > 0 {
		facts["cost"] = (&runs.Usage{CostUSD: &cost}).Facts()["cost"]
	}
	if len(a.slots) > 1 {
		facts["jobs"] = strconv.Itoa(len(a.slots))
	}
	return a.r.Words.Text("work.session_bounds", facts)
}

// change changes the record and writes it.
func (a *auto) change(f func(s *Session)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.session)
	a.session.CurrentRequestID, a.session.CurrentRunID = nil, nil
	if i := slices.IndexFunc(a.session.Turns, func(t Turn) bool { return t.Until == nil && t.RunID != "" }); i >= 0 {
		a.session.CurrentRequestID, a.session.CurrentRunID = &a.session.Turns[i].RequestID, &a.session.Turns[i].RunID
	}
	a.r.SaveCache(sessionFile, &a.session)
}

func (a *auto) setState(state SessionState) { a.change(func(s *Session) { s.State = state }) }

func (a *auto) end(state SessionState, why *fault.Error) {
	now := a.r.Project.Now()
	why.Facts["auto"] = a.given.command()
	a.change(func(s *Session) {
		s.State, s.EndedAt = state, &now
		s.StopReason = a.r.stopReason(context.Background(), why)
	})
	a.notify("on_stop", string(why.Code), Result{})
}

// loop begins what can begin in the slots that are free, in the order of the queue,
// until something says stop and no run is active any more.
func (a *auto) loop(ctx context.Context) {
	for told := ""; ; {
		a.updateStopReason(ctx)
		active, slot := a.countActive()
		switch {
		case active == 0 && a.stopReason != nil:
			a.end(Stopped, a.stopReason)
			return
		case a.stopReason != nil || slot < 0 || a.session.Counters.Runs+active >= a.o.MaxRuns:
			a.awaitEnd(ctx, time.Time{})
			continue
		case active == 0:
			a.setState(Selecting)
		}
		c, out, err := a.r.pick(ctx, a.options(slot), a.queue)
		switch {
		case c != nil:
			a.begin(slot, c)
		case ctx.Err() != nil:
		case err != nil:
			a.stopReason = fault.Of(err, fault.InternalError)
		case active > 0 && out.Waits != nil:
			a.awaitEnd(ctx, *out.Waits.Until)
		case active > 0: // what it comes to may be what others wait for
			a.awaitEnd(ctx, time.Time{})
		case out.taken != nil: // by a run that is not of this session
			if said := a.r.InWords(out.taken); said != told {
				told = said
				a.r.Tell(stage.Event{Kind: stage.Noted, RequestID: fault.Of(out.taken, fault.TouchesTaken).Facts["id"], What: said})
			}
			a.awaitEnd(ctx, a.r.Project.Now().Add(touchesPoll))
		case out.Waits != nil:
			if !a.waitForProvider(ctx, out.Waits) {
				return
			}
		default:
			a.end(Completed, completed(out.Selection))
			return
		}
	}
}

// updateStopReason finds why no run may begin any more. What interrupts the session comes before
// what was known.
func (a *auto) updateStopReason(ctx context.Context) {
	switch {
	case ctx.Err() != nil:
		if why := interruption(ctx); a.stopReason == nil || a.stopReason.Code != why.Code {
			a.stopReason = why
		}
	case a.stopReason == nil:
		a.stopReason = a.limitReached()
	}
}

// countActive counts the active runs; slot is the first that is free, -1 for none.
func (a *auto) countActive() (n, slot int) {
	slot = -1
	for i, run := range a.active {
		switch {
		case run != nil:
			n++
		case slot < 0:
			slot = i
		}
	}
	return n, slot
}

func (a *auto) options(slot int) Options {
	skip := maps.Clone(a.skip)
	for _, run := range a.active {
		if run != nil {
			skip[run.requestID] = true
		}
	}
	return Options{Base: a.o.Base, Stack: a.o.Stack, Slot: a.slots[slot], Skip: skip, Lost: a.lost, budget: &a.budget, mustWait: a.mustWait()}
}

// mustWait says of a request that it has to wait for active runs: it asks a provider
// whose limit they use up, or the process that worked for it, or for them, has died
// before. Which of several at once was the reason only shows when each has its last
// chance alone.
func (a *auto) mustWait() func(*reqmeta.Request, *runs.Stage) bool {
	asked, alone, some := map[string]int{}, false, false
	for _, run := range a.active {
		if run == nil {
			continue
		}
		some, alone = true, alone || run.exclusive
		for _, c := range run.calls {
			asked[c.Provider]++
		}
	}
	router, err := config.Router{}, error(nil)
	if len(asked) > 0 {
		router, _, err = config.LoadRouter(a.r.Project.Dir, a.r.Project.Config)
	}
	return func(req *reqmeta.Request, last *runs.Stage) bool {
		return some && (alone || a.lastChance(last)) ||
			err == nil && slices.ContainsFunc(stage.LimitedCalls(router, req, last), func(c config.Call) bool { return asked[c.Provider] >= c.Jobs })
	}
}

func (a *auto) lastChance(last *runs.Stage) bool {
	return last != nil && runs.LastChance(last, a.slots[0].Record().BootID)
}

// begin runs in a slot what was chosen.
func (a *auto) begin(slot int, c *claimed) {
	ctx, cancel := context.WithCancelCause(c.lease.Context())
	last := c.survey.Latest(c.id)
	run := &activeRun{requestID: c.id, cancel: cancel, exclusive: a.lastChance(last)}
	if last != nil { // an earlier wish to stop, before which the run was killed
		_ = os.Remove(stage.StopMark(a.r.Project.Run(c.id, last.RunID)))
	}
	title := ""
	req, err := c.survey.Folder.Get(c.id)
	if err == nil {
		title = req.Title()
	}
	if err == nil && len(a.slots) > 1 {
		if router, _, err := config.LoadRouter(a.r.Project.Dir, a.r.Project.Config); err == nil {
			run.calls = stage.LimitedCalls(router, req, last)
		}
	}
	a.active[slot] = run
	a.change(func(s *Session) {
		run.turn = len(s.Turns)
		s.Turns = append(s.Turns, Turn{Slot: slot + 1, RequestID: c.id, Title: title, From: a.r.Project.Now()})
	})
	o := a.options(slot)
	o.Lost = maps.Clone(a.lost)
	o.Begun = func(_, runID string) {
		a.change(func(s *Session) { s.Turns[run.turn].RunID, s.State = runID, Running })
	}
	go func() {
		out, err := a.r.start(ctx, o, *c)
		out.RequestID = c.id
		ended := endedRun{slot: slot, outcome: out, err: err, lost: o.Lost, stopped: ctx.Err() != nil && c.lease.Context().Err() == nil}
		cancel(nil)
		_ = c.lease.Release()
		ended.landed, ended.notLanded = a.landRun(a.slots[len(a.slots)-1].Context(), out)
		a.ended <- ended
	}()
}

// awaitEnd waits until an active run has ended, and at most until a moment. Meanwhile a
// person may stop one run alone.
func (a *auto) awaitEnd(ctx context.Context, until time.Time) {
	tick := time.NewTicker(stopMarkPoll)
	defer tick.Stop()
	for {
		select {
		case ended := <-a.ended:
			a.recordEnd(ctx, ended)
			return
		case <-tick.C:
			if len(a.slots) > 1 {
				a.stopAlone()
			}
			if !until.IsZero() && !a.r.Project.Now().Before(until) {
				return
			}
		}
	}
}

// stopMarkPoll is how often a session of several runs looks whether one is to stop.
const stopMarkPoll = 100 * time.Millisecond

// stopAlone ends the runs that a person wants to stop, and no other.
func (a *auto) stopAlone() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, run := range a.active {
		if run == nil || a.session.Turns[run.turn].RunID == "" {
			continue
		}
		t := a.session.Turns[run.turn]
		if _, err := os.Lstat(stage.StopMark(a.r.Project.Run(t.RequestID, t.RunID))); err == nil {
			run.cancel(fault.New(fault.Interrupted))
		}
	}
}

// completed says how many branches wait to be merged, and how many stand on what has
// changed, if any do: those that can be moved there, and those below which something must
// be run again first.
func completed(sel *choose.Result) *fault.Error {
	f := fault.New(fault.AutoCompleted)
	names := map[string]string{"latest_done": "count", "latest_stale": "stale", "latest_land_failed": "fail"}
	counts := map[string]int{}
	for _, e := range sel.Excluded {
		if name := names[e.Kind]; name == "stale" && e.Fact("again") == "false" {
			counts["anew"]++
		} else if name != "" {
			counts[name]++
		}
	}
	for name, n := range counts {
		f.Facts[name] = strconv.Itoa(n)
	}
	return f
}

func interruption(ctx context.Context) *fault.Error {
	if f, ok := fault.As(context.Cause(ctx)); ok {
		return f
	}
	return fault.New(fault.Interrupted)
}

// recordEnd takes a run that ended out of its slot, finds out whether more runs may
// begin after it, and records its result.
func (a *auto) recordEnd(ctx context.Context, ended endedRun) {
	now := a.r.Project.Now()
	turn := a.active[ended.slot].turn
	a.active[ended.slot] = nil
	maps.Copy(a.lost, ended.lost)
	if len(a.slots) > 1 {
		_ = a.slots[ended.slot].SetRun("") // a lost lock shows elsewhere
	}
	a.change(func(s *Session) { s.Turns[turn].Until = &now })
	if ended.err != nil && ctx.Err() == nil {
		a.skipped(ended.outcome.RequestID, ended.err)
		a.stopReason = cmp.Or(a.stopReason, affectsAllRuns(ended.err))
	}
	if ended.err != nil || ended.outcome.Stage == nil {
		return
	}
	a.noteUsage(ended.outcome)
	a.noteInterruption(ctx, ended)
	if fault.CodeOf(ended.outcome.Err).Waits() {
		a.skipUnlessKnownToWait(ended.outcome, now)
		return // its request is ready, and goes on later
	}
	a.recordResult(ended, now)
	if state := ended.outcome.Stage.State; state == runs.NeedsInput || state == runs.Failed {
		a.stopReason = cmp.Or(a.stopReason, a.unfit(ctx))
	}
}

// noteUsage adds what a run used to the session's usage, and tells that it ended.
func (a *auto) noteUsage(out Outcome) {
	st := out.Stage
	a.budget.Record(st)
	a.change(func(s *Session) { s.Usage = a.budget.Used() })
	if len(a.slots) > 1 {
		what := strings.TrimSpace(string(st.State) + " " + string(fault.CodeOf(out.Err)))
		a.r.Tell(stage.Event{Kind: stage.Ended, RequestID: out.RequestID, RunID: out.RunID, Title: st.Title, What: what})
	}
}

// noteInterruption finds out whether a run that did not end stops the session. Of several
// runs that were interrupted the first is named, and the others beside it.
func (a *auto) noteInterruption(ctx context.Context, ended endedRun) {
	out := ended.outcome
	switch {
	case ctx.Err() != nil:
		why := interruption(ctx)
		if f, ok := fault.As(out.Err); ok && f.Code == why.Code {
			why = f // which names the run
		}
		if a.stopReason == nil || a.stopReason.Code != why.Code || a.stopReason.Facts["run_id"] == "" {
			a.stopReason = why
		} else if id := why.Facts["run_id"]; id != "" && id != a.stopReason.Facts["run_id"] {
			a.stopReason.Facts["also"] = strings.TrimSpace(a.stopReason.Facts["also"] + " " + id)
		}
	case ended.stopped:
		a.skip[out.RequestID] = true // a person stopped this run, and not the session
	case !out.Stage.State.Ended():
		a.stopReason = cmp.Or(a.stopReason, affectsAllRuns(out.Err))
	}
}

// skipUnlessKnownToWait skips the request of a run whose provider has to be waited for,
// where that could not be written down: it would be asked again and again.
func (a *auto) skipUnlessKnownToWait(out Outcome, now time.Time) {
	name := fault.Of(out.Err, fault.InternalError).Facts["name"]
	if _, known := a.r.Providers().Open(now)[name]; !known {
		a.skip[out.RequestID] = true
	}
}

// recordResult writes the result of a run into the session and notifies the person.
func (a *auto) recordResult(ended endedRun, now time.Time) {
	out, st := ended.outcome, ended.outcome.Stage
	res := Result{
		RequestID: out.RequestID, RunID: out.RunID, Title: st.Title, State: st.State, WorkBranch: st.Git.WorkBranch,
		ReasonCode: fault.CodeOf(out.Err), Warnings: st.Warnings(), StartedAt: st.StartedAt, EndedAt: now,
		Usage: st.Usage(), LandedInto: ended.landed, NotLanded: ended.notLanded,
	}
	if f, ok := fault.As(out.Err); ok {
		res.Said = f.Facts["said"]
	}
	a.inARow.skips = 0
	a.change(func(s *Session) {
		s.LastResult, s.Results = &res, append(s.Results, res)
		s.Counters.Runs++
		a.count(s, st.State)
	})
	switch st.State {
	case runs.Done:
		a.notify("on_done", "", res)
	case runs.NeedsInput, runs.Failed:
		a.notify("on_needs_input", string(res.ReasonCode), res)
	}
}

// unfit is what the environment check fails on after a run that ended badly: a disk that
// is nearly full, say, would end the next ones, too. Whether a checkout that is not
// clean matters, each run judges.
func (a *auto) unfit(ctx context.Context) *fault.Error {
	if a.r.Doctor == nil {
		return nil
	}
	err := a.r.Doctor(ctx)
	if err == nil || fault.Has(err, fault.WorktreeDirty) {
		return nil
	}
	return fault.Of(err, fault.InternalError)
}

// affectsAllRuns is why no request can begin, where that keeps more than one from it: nil
// where it may be this request's own trouble.
func affectsAllRuns(err error) *fault.Error {
	f := fault.Of(err, fault.InternalError)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS):
		return fault.NotWritable(err, f.Facts["path"])
	case f.Code == fault.DiskFull, f.Code == fault.GitNotRepo, f.Code == fault.GitRepoRefused, f.Code == fault.GitBareRepo:
		return f
	}
	return nil
}

func (a *auto) count(s *Session, state runs.State) {
	switch state {
	case runs.Done:
		s.Counters.Done++
		a.inARow.needsInput, a.inARow.failed = 0, 0
	case runs.NeedsInput:
		s.Counters.NeedsInput++
		a.inARow.needsInput++
		a.inARow.failed = 0
	case runs.Failed:
		s.Counters.Failed++
		a.inARow.failed++
		a.inARow.needsInput = 0
	}
}

// skipped notes a request that could not be started; it is not tried again in
// this session.
func (a *auto) skipped(id string, err error) {
	a.skip[id] = true
	a.inARow.skips++
	f := fault.Of(err, fault.InternalError)
	a.change(func(s *Session) {
		s.Counters.Skips++
		s.Skipped = append(s.Skipped, a.r.skipReason(id, f))
	})
	a.r.Tell(stage.Event{Kind: stage.Skipped, RequestID: id, What: string(f.Code)})
}

// limitReached says why no further run may begin, nil when one may.
func (a *auto) limitReached() *fault.Error {
	cfg, now := a.r.Project.Config.AutoRun, a.r.Project.Now()
	switch {
	case stopAsked(a.r.Project):
		return fault.New(fault.StopRequested)
	case a.budget.Exhausted() != nil:
		return a.budget.Exhausted()
	case cfg.StopOnFailed && a.inARow.failed >= cfg.MaxConsecutiveFailed:
		return fault.New(fault.FailedInARow, "count", a.inARow.failed, "run_id", a.session.LastResult.RunID)
	case cfg.StopOnNeedsInput && a.inARow.needsInput >= cfg.MaxConsecutiveNeedsInput:
		return fault.New(fault.NeedsInputInARow, "count", a.inARow.needsInput, "run_id", a.session.LastResult.RunID)
	case a.inARow.skips >= cfg.MaxConsecutiveSkips:
		return fault.New(fault.MaxSkipsReached, "count", a.inARow.skips, "reason", a.session.Skipped[len(a.session.Skipped)-1].ReasonCode)
	case a.session.Counters.Runs >= a.o.MaxRuns:
		return fault.New(fault.MaxRunsReached, "count", a.session.Counters.Runs)
	case a.o.MaxMinutes > 0 && now.Sub(*a.session.StartedAt) >= time.Duration(a.o.MaxMinutes)*time.Minute:
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
