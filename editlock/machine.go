package editlock

import (
	"slices"
	"time"
)

// The project lock as a pure function: state and input give the next state,
// the events that everybody hears and the commands for whoever runs it. Its
// twin is server/ui/src/lib/locks/machine.ts; testdata/locks/project-*.json
// drive both.

// Limits of the project lock; the same numbers are in limits.ts.
const (
	heartbeatLead   = 5 * time.Second
	writeMargin     = time.Second
	maxTries        = 3
	maxFailedRenews = 2
	clockTolerance  = 5 * time.Second
	longestTTL      = 5 * time.Minute
)

func pauses() []time.Duration {
	return []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}
}

type stateName string

const (
	psIdle           stateName = "idle"
	psAcquireWebLock stateName = "acquire-web-lock"
	psAcquireFile    stateName = "acquire-file-lock"
	psAcquireWaiting stateName = "acquire-waiting"
	psActiveWebLock  stateName = "active-web-lock"
	psActiveFile     stateName = "active-file-lock"
	psRenewing       stateName = "renewing"
	psRenewWaiting   stateName = "renew-waiting"
	psReleasing      stateName = "releasing"
	psReleaseWaiting stateName = "release-waiting"
	psReadonly       stateName = "readonly"
)

type machineState struct {
	name     stateName
	leaseID  string
	strategy Strategy
	web      bool // Web Locks may be tried (again)
	limit    int
	backoff  []time.Duration
	tries    int // failed tries of the acquire, renewal or release under way
	missed   int // failed tries since the last renewal that succeeded
	failures int // failed renewals in a row
	acquired time.Time
	expires  time.Time
	force    bool
	hidden   bool // given up because the page was hidden
	reason   Code
}

func idleProject(leaseID string) machineState {
	return machineState{
		name: psIdle, leaseID: leaseID, strategy: WebLock,
		limit: maxTries, backoff: pauses(),
	}
}

type input struct {
	kind    string // as in the vectors
	leaseID string
	web     bool
	limit   int
	backoff []time.Duration
	code    Code
	started time.Time
	force   bool
}

type command struct {
	do        string
	wait      time.Duration
	code      Code
	retryable bool
}

type transition struct {
	state    machineState
	emitted  []Event
	commands []command
}

func action(do string) command { return command{do: do} }

func stay(s machineState, commands ...command) transition {
	return transition{state: s, commands: commands}
}

func (s machineState) is(names ...stateName) bool { return slices.Contains(names, s.name) }

func (s machineState) active() bool { return s.is(psActiveWebLock, psActiveFile) }
func (s machineState) held() bool   { return s.active() || s.is(psRenewing, psRenewWaiting) }
func (s machineState) trying() bool { return s.is(psAcquireWebLock, psAcquireFile) }

func (s machineState) acquiring() bool { return s.trying() || s.is(psAcquireWaiting) }
func (s machineState) releasing() bool { return s.is(psReleasing, psReleaseWaiting) }

// writable: the lease is held and will be for longer than a write takes.
func (s machineState) writable(at time.Time) bool {
	return s.held() && at.Before(s.expires.Add(-writeMargin))
}

// step takes one input. Inputs that do not fit the state are answers that came
// too late: they change nothing.
func (s machineState) step(in input, at time.Time) transition {
	switch {
	case in.kind == "acquire" && s.is(psIdle, psReadonly):
		return startProject(in)
	case in.kind == "web-lock-granted":
		return s.granted()
	case in.kind == "web-lock-refused" && s.is(psAcquireWebLock):
		s.web = in.code != WebLockUnsupported
		return s.attemptFile()
	case in.kind == "published" && s.trying():
		return s.published(in.started, at)
	case in.kind == "publish-failed" && s.trying():
		return s.tryAgain(in.code)
	case in.kind == "due":
		return s.due(at)
	}
	return s.stepHeld(in, at)
}

func (s machineState) stepHeld(in input, at time.Time) transition {
	switch {
	case in.kind == "renew" && s.active():
		s.tries = 0
		return s.renew(at)
	case in.kind == "renewed" && s.is(psRenewing):
		return s.renewed(in.started, at)
	case in.kind == "renew-failed" && s.is(psRenewing):
		return s.renewFailed(at)
	case in.kind == "lost" && s.held(), in.kind == "check" && s.held() && !s.writable(at):
		return s.lose(LeaseStale)
	}
	return s.stepEnd(in, at)
}

func (s machineState) stepEnd(in input, at time.Time) transition {
	switch {
	case in.kind == "release":
		return s.release(in.force)
	case in.kind == "removed" && s.is(psReleasing):
		return s.released(at)
	case in.kind == "remove-failed" && s.is(psReleasing):
		return s.removeFailed()
	case in.kind == "remove-refused" && s.is(psReleasing):
		return s.removeRefused(at)
	case in.kind == "abort":
		return s.abort()
	case in.kind == "hide":
		return s.hide(at)
	case in.kind == "show" && s.hidden:
		s.hidden = false
		return s.readonly(LeaseStale, 0)
	case in.kind == "reset" && s.is(psReadonly):
		return stay(idleProject(s.leaseID))
	}
	return stay(s)
}

func startProject(in input) transition {
	s := idleProject(in.leaseID)
	s.web = in.web
	s.limit = max(1, in.limit)
	if in.backoff != nil {
		s.backoff = in.backoff
	}
	return s.attempt()
}

func (s machineState) granted() transition {
	if s.is(psAcquireWebLock) {
		return stay(s, action("publish-record"))
	}
	return stay(s, action("drop-web-lock"))
}

func (s machineState) attempt() transition {
	if !s.web {
		return s.attemptFile()
	}
	s.name, s.strategy = psAcquireWebLock, WebLock
	return transition{s, []Event{s.attempted("acquire")}, []command{action("request-web-lock")}}
}

func (s machineState) attemptFile() transition {
	s.name, s.strategy = psAcquireFile, FileLock
	return transition{s, []Event{s.attempted("acquire")}, []command{action("publish-record")}}
}

func (s machineState) published(started, at time.Time) transition {
	next := s
	next.name, next.tries = s.activeName(), 0
	next.acquired, next.expires = started, started.Add(s.strategy.ttl())
	if !at.Before(next.expires.Add(-heartbeatLead)) {
		return s.tryAgain(AcquireTimeout)
	}
	return transition{
		next,
		[]Event{next.leaseEvent("lock:acquired"), next.scheduled(at)},
		[]command{next.heartbeat(at), action("succeed")},
	}
}

func (s machineState) activeName() stateName {
	if s.strategy == WebLock {
		return psActiveWebLock
	}
	return psActiveFile
}

func (s Strategy) ttl() time.Duration {
	if s == WebLock {
		return WebLockTTL
	}
	return FileLockTTL
}

func (s machineState) heartbeatIn(at time.Time) time.Duration {
	return max(0, s.expires.Add(-heartbeatLead).Sub(at))
}

func (s machineState) heartbeat(at time.Time) command {
	return command{do: "heartbeat", wait: s.heartbeatIn(at)}
}

func (s machineState) tryAgain(code Code) transition {
	var commands []command
	if s.strategy == WebLock {
		commands = append(commands, action("drop-web-lock"))
	}
	s.tries++
	if s.tries >= s.limit {
		end := s.readonly(code, s.tries)
		end.commands = append(append(commands, action("tidy-record")), end.commands...)
		return end
	}
	s.name = psAcquireWaiting
	return stay(s, append(commands, backoffPause(s.backoffAfter(s.tries)))...)
}

func backoffPause(d time.Duration) command { return command{do: "wait", wait: d} }

func (s machineState) backoffAfter(tries int) time.Duration {
	if len(s.backoff) == 0 {
		return 0
	}
	return s.backoff[min(tries, len(s.backoff))-1]
}

func (s machineState) readonly(reason Code, retry int) transition {
	s.name, s.reason = psReadonly, reason
	e := Event{
		Type: "lock:readonly-entered", Info: &Readonly{reason}, Retry: &retry, LeaseID: s.leaseID,
	}
	return transition{s, []Event{e}, []command{{do: "fail", code: reason}}}
}

func (s machineState) due(at time.Time) transition {
	switch {
	case s.is(psAcquireWaiting):
		return s.attempt()
	case s.active():
		s.tries = 0
		return s.renew(at)
	case s.is(psRenewWaiting):
		return s.renew(at)
	case s.is(psReleaseWaiting):
		return s.remove()
	}
	return stay(s)
}

func (s machineState) renew(at time.Time) transition {
	if !s.writable(at) {
		return s.lose(LeaseStale)
	}
	s.name = psRenewing
	return transition{s, []Event{s.attempted("renew")}, []command{action("renew-record")}}
}

func (s machineState) renewed(started, at time.Time) transition {
	next := s
	next.name, next.expires = s.activeName(), started.Add(s.strategy.ttl())
	next.tries, next.missed, next.failures = 0, 0, 0
	if !next.writable(at) {
		return s.lose(LeaseStale)
	}
	e := next.leaseEvent("lock:renewed")
	e.Retry = &s.missed
	return transition{
		next,
		[]Event{e, next.scheduled(at)},
		[]command{next.heartbeat(at), action("succeed")},
	}
}

// renewFailed: a renewal is up to three tries; two failed renewals in a row,
// or no time left for another try, end the lease.
func (s machineState) renewFailed(at time.Time) transition {
	held := s
	s.tries++
	s.missed++
	over := s.tries >= maxTries
	if over {
		s.failures++
	}
	pause := pauses()[s.tries-1]
	if s.failures >= maxFailedRenews || !held.writable(at.Add(pause)) {
		return s.lose(RenewFailed)
	}
	s.name = psRenewWaiting
	if !over {
		return stay(s, backoffPause(pause))
	}
	s.tries = 0
	return stay(s, backoffPause(pause), command{do: "fail", code: RenewFailed, retryable: true})
}

func (s machineState) lose(reason Code) transition {
	end := s.readonly(reason, s.missed)
	// A write that was begun in good faith ends before others are let in.
	later := command{do: "tidy-record", wait: writeMargin}
	end.commands = append([]command{action("drop-web-lock"), later}, end.commands...)
	return end
}

func (s machineState) release(force bool) transition {
	switch {
	case s.releasing():
		s.force = s.force || force
		return stay(s)
	case s.is(psReadonly) && !s.isRemovable(force):
		return stay(idleProject(s.leaseID), action("succeed"))
	case !s.held() && !s.is(psReadonly):
		return stay(s, action("succeed"))
	}
	asked := s.leaseEvent("lock:release-requested")
	s.tries, s.force = 0, force
	next := s.remove()
	next.emitted = append([]Event{asked}, next.emitted...)
	return next
}

// isRemovable: a lost lease's record is tidied away already; one whose
// removal failed is tried again, and force tries always.
func (s machineState) isRemovable(force bool) bool {
	return !s.acquired.IsZero() && (force || s.reason == ReleaseFailed)
}

func (s machineState) remove() transition {
	s.name = psReleasing
	return transition{s, []Event{s.attempted("release")}, []command{action("remove-record")}}
}

func (s machineState) released(at time.Time) transition {
	return transition{
		idleProject(s.leaseID),
		[]Event{s.releasedEvent(at)},
		[]command{action("drop-web-lock"), action("succeed")},
	}
}

func (s machineState) removeFailed() transition {
	retry, force := s.tries, s.force
	failed := Event{Type: "lock:release-failed", LeaseID: s.leaseID, Retry: &retry, Force: &force}
	s.tries++
	if s.tries < maxTries {
		s.name = psReleaseWaiting
		return transition{s, []Event{failed}, []command{backoffPause(pauses()[s.tries-1])}}
	}
	end := s.readonly(ReleaseFailed, s.tries)
	end.emitted = append([]Event{failed}, end.emitted...)
	end.commands = []command{action("drop-web-lock"), {do: "fail", code: ReleaseFailed, retryable: !s.force}}
	return end
}

// removeRefused: somebody took over without our noticing, and what was written
// meanwhile was not protected.
func (s machineState) removeRefused(at time.Time) transition {
	if s.force {
		return s.released(at)
	}
	end := s.readonly(LeaseStale, s.tries)
	end.commands = append([]command{action("drop-web-lock")}, end.commands...)
	return end
}

// abort: back to idle from wherever an acquire or a release is, silently. A
// renewal goes on without whoever asked.
func (s machineState) abort() transition {
	if s.acquiring() || s.releasing() {
		return stay(idleProject(s.leaseID), action("drop-web-lock"), action("tidy-record"), action("quit"))
	}
	return stay(s, action("quit"))
}

// hide: a page that goes away keeps nothing.
func (s machineState) hide(at time.Time) transition {
	if s.acquiring() {
		return s.abort()
	}
	if !s.held() {
		return stay(s)
	}
	emitted := []Event{s.leaseEvent("lock:release-requested"), s.releasedEvent(at)}
	s.name, s.hidden = psIdle, true
	return transition{s, emitted, []command{
		action("tidy-record"), action("drop-web-lock"), {do: "fail", code: LeaseStale},
	}}
}

func (s machineState) leaseEvent(kind string) Event {
	return Event{Type: kind, Lease: &LeaseInfo{s.leaseID, s.strategy, Time{s.acquired}, Time{s.expires}}}
}

func (s machineState) attempted(operation string) Event {
	retry := s.tries
	if operation == "renew" {
		retry = s.missed
	}
	return Event{
		Type: "lock:attempt", Strategy: s.strategy, Retry: &retry, Operation: operation, LeaseID: s.leaseID,
	}
}

func (s machineState) scheduled(at time.Time) Event {
	e := s.leaseEvent("lock:renew-scheduled")
	ms := s.heartbeatIn(at).Milliseconds()
	e.NextHeartbeatInMS = &ms
	return e
}

func (s machineState) releasedEvent(at time.Time) Event {
	ms := max(0, at.Sub(s.acquired).Milliseconds())
	return Event{Type: "lock:released", LeaseID: s.leaseID, Strategy: s.strategy, DurationMS: &ms}
}
