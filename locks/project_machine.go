package locks

import (
	"fmt"
	"slices"
	"time"
)

// The project lock as a pure function: state and input give the next state,
// the events that everybody hears and the commands for whoever runs it. Its
// twin is server/ui/src/lib/locks/machine.ts; testdata/locks/project-*.json
// drive both.

// Limits of the project lock; the same numbers are in limits.ts.
const (
	projectHeartbeatLead   = 5 * time.Second
	projectWriteMargin     = time.Second
	projectMaxTries        = 3
	projectMaxFailedRenews = 2
	projectClockTolerance  = 5 * time.Second
	projectLongestTTL      = 5 * time.Minute
)

func projectBackoff() []time.Duration {
	return []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}
}

type projectStateName string

const (
	psIdle           projectStateName = "idle"
	psAcquireWebLock projectStateName = "acquire-web-lock"
	psAcquireFile    projectStateName = "acquire-file-lock"
	psAcquireWaiting projectStateName = "acquire-waiting"
	psActiveWebLock  projectStateName = "active-web-lock"
	psActiveFile     projectStateName = "active-file-lock"
	psRenewing       projectStateName = "renewing"
	psRenewWaiting   projectStateName = "renew-waiting"
	psReleasing      projectStateName = "releasing"
	psReleaseWaiting projectStateName = "release-waiting"
	psReadonly       projectStateName = "readonly"
)

type projectState struct {
	name     projectStateName
	leaseID  string
	strategy ProjectStrategy
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
	reason   ProjectLockCode
}

func idleProject(leaseID string) projectState {
	return projectState{
		name: psIdle, leaseID: leaseID, strategy: WebLock,
		limit: projectMaxTries, backoff: projectBackoff(),
	}
}

type projectInput struct {
	kind    string // as in the vectors
	leaseID string
	web     bool
	limit   int
	backoff []time.Duration
	code    ProjectLockCode
	started time.Time
	force   bool
}

type projectCommand struct {
	do        string
	wait      time.Duration
	code      ProjectLockCode
	retryable bool
}

func (c projectCommand) String() string {
	switch {
	case c.do == "fail" && c.retryable:
		return fmt.Sprintf("fail %s retryable", c.code)
	case c.do == "fail":
		return fmt.Sprintf("fail %s final", c.code)
	case c.do == "wait" || c.do == "heartbeat" || c.wait > 0:
		return fmt.Sprintf("%s %d", c.do, c.wait.Milliseconds())
	}
	return c.do
}

type projectStep struct {
	state    projectState
	emitted  []ProjectEvent
	commands []projectCommand
}

func projectDo(do string) projectCommand { return projectCommand{do: do} }

func projectStay(s projectState, commands ...projectCommand) projectStep {
	return projectStep{state: s, commands: commands}
}

func (s projectState) is(names ...projectStateName) bool { return slices.Contains(names, s.name) }

func (s projectState) active() bool { return s.is(psActiveWebLock, psActiveFile) }
func (s projectState) held() bool   { return s.active() || s.is(psRenewing, psRenewWaiting) }
func (s projectState) trying() bool { return s.is(psAcquireWebLock, psAcquireFile) }

func (s projectState) acquiring() bool { return s.trying() || s.is(psAcquireWaiting) }
func (s projectState) releasing() bool { return s.is(psReleasing, psReleaseWaiting) }

// writable: the lease is held and will be for longer than a write takes.
func (s projectState) writable(at time.Time) bool {
	return s.held() && at.Before(s.expires.Add(-projectWriteMargin))
}

// step takes one input. Inputs that do not fit the state are answers that came
// too late: they change nothing.
func (s projectState) step(in projectInput, at time.Time) projectStep {
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

func (s projectState) stepHeld(in projectInput, at time.Time) projectStep {
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

func (s projectState) stepEnd(in projectInput, at time.Time) projectStep {
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
		return projectStay(idleProject(s.leaseID))
	}
	return projectStay(s)
}

func startProject(in projectInput) projectStep {
	s := idleProject(in.leaseID)
	s.web = in.web
	s.limit = max(1, in.limit)
	if in.backoff != nil {
		s.backoff = in.backoff
	}
	return s.attempt()
}

func (s projectState) granted() projectStep {
	if s.is(psAcquireWebLock) {
		return projectStay(s, projectDo("publish-record"))
	}
	return projectStay(s, projectDo("drop-web-lock"))
}

func (s projectState) attempt() projectStep {
	if !s.web {
		return s.attemptFile()
	}
	s.name, s.strategy = psAcquireWebLock, WebLock
	return projectStep{s, []ProjectEvent{s.attempted("acquire")}, []projectCommand{projectDo("request-web-lock")}}
}

func (s projectState) attemptFile() projectStep {
	s.name, s.strategy = psAcquireFile, FileLock
	return projectStep{s, []ProjectEvent{s.attempted("acquire")}, []projectCommand{projectDo("publish-record")}}
}

func (s projectState) published(started, at time.Time) projectStep {
	next := s
	next.name, next.tries = s.activeName(), 0
	next.acquired, next.expires = started, started.Add(s.strategy.ttl())
	if !at.Before(next.expires.Add(-projectHeartbeatLead)) {
		return s.tryAgain(AcquireTimeout)
	}
	return projectStep{
		next,
		[]ProjectEvent{next.leaseEvent("lock:acquired"), next.scheduled(at)},
		[]projectCommand{next.heartbeat(at), projectDo("succeed")},
	}
}

func (s projectState) activeName() projectStateName {
	if s.strategy == WebLock {
		return psActiveWebLock
	}
	return psActiveFile
}

func (s ProjectStrategy) ttl() time.Duration {
	if s == WebLock {
		return WebLockTTL
	}
	return FileLockTTL
}

func (s projectState) heartbeatIn(at time.Time) time.Duration {
	return max(0, s.expires.Add(-projectHeartbeatLead).Sub(at))
}

func (s projectState) heartbeat(at time.Time) projectCommand {
	return projectCommand{do: "heartbeat", wait: s.heartbeatIn(at)}
}

func (s projectState) tryAgain(code ProjectLockCode) projectStep {
	var commands []projectCommand
	if s.strategy == WebLock {
		commands = append(commands, projectDo("drop-web-lock"))
	}
	s.tries++
	if s.tries >= s.limit {
		end := s.readonly(code, s.tries)
		end.commands = append(append(commands, projectDo("tidy-record")), end.commands...)
		return end
	}
	s.name = psAcquireWaiting
	return projectStay(s, append(commands, projectPause(s.backoffAfter(s.tries)))...)
}

func projectPause(d time.Duration) projectCommand { return projectCommand{do: "wait", wait: d} }

func (s projectState) backoffAfter(tries int) time.Duration {
	if len(s.backoff) == 0 {
		return 0
	}
	return s.backoff[min(tries, len(s.backoff))-1]
}

func (s projectState) readonly(reason ProjectLockCode, retry int) projectStep {
	s.name, s.reason = psReadonly, reason
	e := ProjectEvent{
		Type: "lock:readonly-entered", Info: &ProjectReadonly{reason}, Retry: &retry, LeaseID: s.leaseID,
	}
	return projectStep{s, []ProjectEvent{e}, []projectCommand{{do: "fail", code: reason}}}
}

func (s projectState) due(at time.Time) projectStep {
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
	return projectStay(s)
}

func (s projectState) renew(at time.Time) projectStep {
	if !s.writable(at) {
		return s.lose(LeaseStale)
	}
	s.name = psRenewing
	return projectStep{s, []ProjectEvent{s.attempted("renew")}, []projectCommand{projectDo("renew-record")}}
}

func (s projectState) renewed(started, at time.Time) projectStep {
	next := s
	next.name, next.expires = s.activeName(), started.Add(s.strategy.ttl())
	next.tries, next.missed, next.failures = 0, 0, 0
	if !next.writable(at) {
		return s.lose(LeaseStale)
	}
	e := next.leaseEvent("lock:renewed")
	e.Retry = &s.missed
	return projectStep{
		next,
		[]ProjectEvent{e, next.scheduled(at)},
		[]projectCommand{next.heartbeat(at), projectDo("succeed")},
	}
}

// renewFailed: a renewal is up to three tries; two failed renewals in a row,
// or no time left for another try, end the lease.
func (s projectState) renewFailed(at time.Time) projectStep {
	held := s
	s.tries++
	s.missed++
	over := s.tries >= projectMaxTries
	if over {
		s.failures++
	}
	pause := projectBackoff()[s.tries-1]
	if s.failures >= projectMaxFailedRenews || !held.writable(at.Add(pause)) {
		return s.lose(RenewFailed)
	}
	s.name = psRenewWaiting
	if !over {
		return projectStay(s, projectPause(pause))
	}
	s.tries = 0
	return projectStay(s, projectPause(pause), projectCommand{do: "fail", code: RenewFailed, retryable: true})
}

func (s projectState) lose(reason ProjectLockCode) projectStep {
	end := s.readonly(reason, s.missed)
	// A write that was begun in good faith ends before others are let in.
	later := projectCommand{do: "tidy-record", wait: projectWriteMargin}
	end.commands = append([]projectCommand{projectDo("drop-web-lock"), later}, end.commands...)
	return end
}

func (s projectState) release(force bool) projectStep {
	switch {
	case s.releasing():
		s.force = s.force || force
		return projectStay(s)
	case s.is(psReadonly) && !s.worthRemoving(force):
		return projectStay(idleProject(s.leaseID), projectDo("succeed"))
	case !s.held() && !s.is(psReadonly):
		return projectStay(s, projectDo("succeed"))
	}
	asked := s.leaseEvent("lock:release-requested")
	s.tries, s.force = 0, force
	next := s.remove()
	next.emitted = append([]ProjectEvent{asked}, next.emitted...)
	return next
}

// worthRemoving: a lost lease's record is tidied away already; one whose
// removal failed is tried again, and force tries always.
func (s projectState) worthRemoving(force bool) bool {
	return !s.acquired.IsZero() && (force || s.reason == ReleaseFailed)
}

func (s projectState) remove() projectStep {
	s.name = psReleasing
	return projectStep{s, []ProjectEvent{s.attempted("release")}, []projectCommand{projectDo("remove-record")}}
}

func (s projectState) released(at time.Time) projectStep {
	return projectStep{
		idleProject(s.leaseID),
		[]ProjectEvent{s.releasedEvent(at)},
		[]projectCommand{projectDo("drop-web-lock"), projectDo("succeed")},
	}
}

func (s projectState) removeFailed() projectStep {
	retry, force := s.tries, s.force
	failed := ProjectEvent{Type: "lock:release-failed", LeaseID: s.leaseID, Retry: &retry, Force: &force}
	s.tries++
	if s.tries < projectMaxTries {
		s.name = psReleaseWaiting
		return projectStep{s, []ProjectEvent{failed}, []projectCommand{projectPause(projectBackoff()[s.tries-1])}}
	}
	end := s.readonly(ReleaseFailed, s.tries)
	end.emitted = append([]ProjectEvent{failed}, end.emitted...)
	end.commands = []projectCommand{projectDo("drop-web-lock"), {do: "fail", code: ReleaseFailed, retryable: !s.force}}
	return end
}

// removeRefused: somebody took over without our noticing, and what was written
// meanwhile was not protected.
func (s projectState) removeRefused(at time.Time) projectStep {
	if s.force {
		return s.released(at)
	}
	end := s.readonly(LeaseStale, s.tries)
	end.commands = append([]projectCommand{projectDo("drop-web-lock")}, end.commands...)
	return end
}

// abort: back to idle from wherever an acquire or a release is, silently. A
// renewal goes on without whoever asked.
func (s projectState) abort() projectStep {
	if s.acquiring() || s.releasing() {
		return projectStay(idleProject(s.leaseID), projectDo("drop-web-lock"), projectDo("tidy-record"), projectDo("quit"))
	}
	return projectStay(s, projectDo("quit"))
}

// hide: a page that goes away keeps nothing.
func (s projectState) hide(at time.Time) projectStep {
	if s.acquiring() {
		return s.abort()
	}
	if !s.held() {
		return projectStay(s)
	}
	emitted := []ProjectEvent{s.leaseEvent("lock:release-requested"), s.releasedEvent(at)}
	s.name, s.hidden = psIdle, true
	return projectStep{s, emitted, []projectCommand{
		projectDo("tidy-record"), projectDo("drop-web-lock"), {do: "fail", code: LeaseStale},
	}}
}

func (s projectState) lease() *ProjectLeaseInfo {
	return &ProjectLeaseInfo{s.leaseID, s.strategy, ProjectTime{s.acquired}, ProjectTime{s.expires}}
}

func (s projectState) leaseEvent(kind string) ProjectEvent {
	return ProjectEvent{Type: kind, Lease: s.lease()}
}

func (s projectState) attempted(operation string) ProjectEvent {
	retry := s.tries
	if operation == "renew" {
		retry = s.missed
	}
	return ProjectEvent{
		Type: "lock:attempt", Strategy: s.strategy, Retry: &retry, Operation: operation, LeaseID: s.leaseID,
	}
}

func (s projectState) scheduled(at time.Time) ProjectEvent {
	e := s.leaseEvent("lock:renew-scheduled")
	ms := s.heartbeatIn(at).Milliseconds()
	e.NextHeartbeatInMS = &ms
	return e
}

func (s projectState) releasedEvent(at time.Time) ProjectEvent {
	ms := max(0, at.Sub(s.acquired).Milliseconds())
	return ProjectEvent{Type: "lock:released", LeaseID: s.leaseID, Strategy: s.strategy, DurationMS: &ms}
}
