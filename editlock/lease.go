package editlock

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// tick is how often a lease looks at the clocks: timers stand still
// while the machine sleeps.
const tick = time.Second

// tidyTime is how long a last removal may take.
const tidyTime = 2 * time.Second

// Lease is a project lock that is held; it is renewed by itself until
// Release.
type Lease struct {
	p              *Lock
	id             string
	heartbeatEnded chan struct{} // closed when the heartbeat has stopped
	stopHeartbeat  context.CancelFunc

	operation chan struct{} // holds one while an operation is under way

	mu    sync.Mutex
	state machineState
	beat  uint64
	trust time.Duration // on the clock that nobody sets: not trusted from here on
	next  time.Time     // when the heartbeat is due
	lost  *Error
	cause error
}

// Acquire takes the lock with the file strategy, in up to three tries; an error is a
// *Error, or why ctx ended, which bounds the waiting alone.
func (p *Lock) Acquire(ctx context.Context) (*Lease, error) { return p.acquire(ctx, maxTries) }

func (p *Lock) acquire(ctx context.Context, tries int) (*Lease, error) {
	id, err := p.uuid()
	if err != nil {
		return nil, err
	}
	l := &Lease{p: p, id: id, heartbeatEnded: make(chan struct{}), operation: make(chan struct{}, 1), state: idleProject(id)}
	if err := l.drive(ctx, input{kind: "acquire", leaseID: id, limit: tries}); err != nil {
		return nil, err
	}
	tend, halt := context.WithCancel(context.WithoutCancel(ctx))
	l.stopHeartbeat = halt
	go l.heartbeat(tend)
	return l, nil
}

// Check is nil while one may write; ask before each write. It looks at both
// clocks, so that it knows of a sleep before any timer does.
func (l *Lease) Check() error {
	l.watch()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.writable(l.p.clock.Now()) {
		return nil
	}
	if l.lost != nil {
		return l.lost
	}
	return l.p.failure(command{code: LeaseStale}, nil)
}

// Renew renews at once instead of at the next heartbeat.
func (l *Lease) Renew(ctx context.Context) error {
	if err := l.Check(); err != nil {
		return err
	}
	return l.drive(ctx, input{kind: "renew"})
}

// Release gives the lock up. It is idempotent; finish writing first.
func (l *Lease) Release(ctx context.Context) error {
	l.stopHeartbeat()
	<-l.heartbeatEnded
	return l.drive(ctx, input{kind: "release"})
}

// drive feeds the machine and does what it says until it says how it ended.
func (l *Lease) drive(ctx context.Context, in input) error {
	if !l.lockDriving(ctx) {
		return context.Cause(ctx)
	}
	defer func() { <-l.operation }()
	if in.kind == "due" && !l.isDue() { // somebody else did it meanwhile
		return nil
	}
	for {
		more, done, err := l.run(ctx, l.feed(in))
		if done {
			return err
		}
		in = more
	}
}

// lockDriving waits for the operation under way to end. A free turn is taken even
// when ctx has ended: releasing must not depend on chance.
func (l *Lease) lockDriving(ctx context.Context) bool {
	select {
	case l.operation <- struct{}{}:
		return true
	default:
	}
	select {
	case l.operation <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// run does a step's commands. It gives the input that comes of them, or how
// the whole ended.
func (l *Lease) run(ctx context.Context, commands []command) (in input, done bool, err error) {
	for _, c := range commands {
		switch c.do {
		case "publish-record":
			return l.claim(ctx), false, nil
		case "renew-record":
			return l.renewRecord(ctx), false, nil
		case "remove-record":
			return l.removeRecord(ctx), false, nil
		case "tidy-record":
			l.removeLater(c.wait)
		case "wait":
			if slices.ContainsFunc(commands, func(c command) bool { return c.do == "fail" }) { // a whole renewal: the heartbeat begins the next one
				continue
			}
			if proc.Sleep(ctx, c.wait) != nil {
				return input{kind: "abort"}, false, nil
			}
			return input{kind: "due"}, false, nil
		case "fail":
			err = l.failure(c)
		case "quit":
			err = context.Cause(ctx)
		}
	}
	return in, true, err
}

// feed takes one step and tells everybody.
func (l *Lease) feed(in input) []command {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.p.clock.Now().Round(0)
	was := l.state
	s := was.step(in, now)
	l.state = s.state
	for _, c := range s.commands {
		if c.do == "heartbeat" || c.do == "wait" {
			l.next = now.Add(c.wait)
		}
	}
	if was.held() && !s.state.held() {
		for _, c := range s.commands {
			if c.do == "fail" {
				l.lost = l.p.failure(c, l.cause)
			}
		}
		l.stopHeartbeat()
	}
	for _, e := range s.emitted {
		if l.p.hear != nil {
			l.p.hear(e)
		}
	}
	return s.commands
}

func (l *Lease) failure(c command) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil && l.lost.Code == c.code {
		return l.lost
	}
	return l.p.failure(c, l.cause)
}

// watch ends a lease whose time is over by either clock.
func (l *Lease) watch() {
	l.mu.Lock()
	kind := "check"
	if l.state.held() && l.p.clock.Boot() >= l.trust {
		kind = "lost"
	}
	l.mu.Unlock()
	for _, c := range l.feed(input{kind: kind}) {
		if c.do == "tidy-record" {
			l.removeLater(c.wait)
		}
	}
}

// heartbeat renews the lease when that is due, until the lease is lost or released.
func (l *Lease) heartbeat(ctx context.Context) {
	defer close(l.heartbeatEnded)
	for proc.Sleep(ctx, l.untilNextLook()) == nil {
		l.watch()
		if l.isDue() {
			_ = l.drive(ctx, input{kind: "due"})
		}
	}
}

func (l *Lease) untilNextLook() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(tick, max(time.Millisecond, l.next.Sub(l.p.clock.Now())))
}

func (l *Lease) isDue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (l.state.is(psRenewWaiting) || l.state.active()) && !l.p.clock.Now().Before(l.next)
}

// claim looks at the record and writes ours if nobody stands in the way.
func (l *Lease) claim(ctx context.Context) input {
	started, boot := l.p.clock.Now().Round(0), l.p.clock.Boot()
	err := l.p.claim(ctx, l.record(started, started))
	switch {
	case ctx.Err() != nil:
		return input{kind: "abort"}
	case err == nil:
		l.trustFrom(boot)
		return input{kind: "published", started: started}
	}
	l.remember(err)
	if fault.Has(err, fault.Conflict) {
		return input{kind: "publish-failed", code: FallbackConflict}
	}
	return input{kind: "publish-failed", code: AcquireTimeout}
}

func (p *Lock) claim(ctx context.Context, r Record) error {
	found, ok, err := p.look(r.LeaseID)
	if err != nil {
		return err
	}
	if ok && found.Verdict != Mine && found.Verdict != Stale {
		if found.Age < -clockTolerance { // of a clock that was ahead: it ages from now on
			_ = p.files.Touch(recordFile, p.clock.Now())
		}
		return p.conflict(found)
	}
	return p.put(ctx, r, found.ETag)
}

func (p *Lock) put(ctx context.Context, r Record, ifMatch string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return p.CompareAndSwap(ctx, data, ifMatch)
}

func (l *Lease) renewRecord(ctx context.Context) input {
	started, boot := l.p.clock.Now().Round(0), l.p.clock.Boot()
	l.mu.Lock()
	acquired := l.state.acquired
	l.mu.Unlock()
	err := l.p.put(ctx, l.record(acquired, started), leaseETag(l.id))
	if err == nil {
		l.trustFrom(boot)
		return input{kind: "renewed", started: started}
	}
	l.remember(err)
	if fault.Has(err, fault.Conflict) {
		return input{kind: "lost"}
	}
	return input{kind: "renew-failed"}
}

func (l *Lease) removeRecord(ctx context.Context) input {
	err := l.p.remove(ctx, l.id, func(s Stored) bool { return s.Verdict == Mine })
	switch {
	case err == nil:
		return input{kind: "removed"}
	case fault.Has(err, fault.Conflict):
		return input{kind: "remove-refused"}
	case ctx.Err() != nil:
		return input{kind: "abort"}
	}
	l.remember(err)
	return input{kind: "remove-failed"}
}

// removeLater removes our record, at once or after a while; if it cannot, the record
// ends by itself.
func (l *Lease) removeLater(after time.Duration) {
	remove := func() {
		ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
		defer cancel()
		_ = l.p.CompareAndRemove(ctx, leaseETag(l.id))
	}
	if after > 0 {
		time.AfterFunc(after, remove)
		return
	}
	remove()
}

func (l *Lease) record(acquired, now time.Time) Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beat++
	ttl := l.state.strategy.ttl()
	return Record{
		Version: 1, LeaseID: l.id, OwnerID: l.p.owner, Strategy: l.state.strategy,
		AcquiredAt: Time{acquired}, ExpiresAt: Time{now.Add(ttl)}, MTime: Time{now},
		TTLSeconds: ttl.Seconds(), Beat: l.beat,
	}
}

func (l *Lease) trustFrom(boot time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trust = boot + l.state.strategy.ttl() - writeMargin
}

func (l *Lease) remember(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause = err
}
