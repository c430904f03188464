package locks

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// clockReading is one look at both clocks.
type clockReading struct {
	wall time.Time
	boot time.Duration
}

func (m *Manager) readClocks() clockReading {
	return clockReading{m.clock.Now().Round(0), m.clock.Boot()}
}

// Lease is a lock that is held. It is renewed by itself until Release.
type Lease struct {
	m         *Manager
	key       Key
	file      string // its name in the lock directory
	path      string
	token     string
	ctx       context.Context
	cancel    context.CancelCauseFunc
	recovered *Record       // nil: nobody's
	done      chan struct{} // closed when the lease is over

	mu    sync.Mutex
	rec   Record
	raw   []byte // as we wrote it last
	timer *time.Timer
	last  clockReading // when the last successful renewal began
	over  error        // why it is ours no more
	end   error        // what Release says from then on
}

type leaseKey struct{}

func (m *Manager) newLease(ctx context.Context, k Key, rec Record, raw []byte, began clockReading) *Lease {
	l := &Lease{m: m, key: k, file: k.file(), path: m.path(k), token: rec.Token, rec: rec, raw: raw, last: began, done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(context.WithValue(ctx, leaseKey{}, k))
	m.mu.Lock()
	m.held[l.file] = l
	m.mu.Unlock()
	m.startHeartbeat(l)
	return l
}

// Context ends when the lease is lost or released, with that as its cause.
func (l *Lease) Context() context.Context { return l.ctx }

// Over is closed when the lease is lost or released, whatever becomes of the
// context that it was asked for with. Check says which it was.
func (l *Lease) Over() <-chan struct{} { return l.done }

// Recovered is the record of the holder that this lease was taken over from.
func (l *Lease) Recovered() (Record, bool) {
	if l.recovered == nil {
		return Record{}, false
	}
	return *l.recovered, true
}

// Record is what the lock file says.
func (l *Lease) Record() Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rec
}

// Path is the lock file.
func (l *Lease) Path() string { return l.path }

// interval between renewals.
func (m *Manager) interval() time.Duration { return m.ttl / 6 }

// margin before the end of a lease when its holder stops trusting it: others
// may take it only after the whole TTL.
func (m *Manager) margin() time.Duration { return m.ttl / 4 }

const maxTick = 5 * time.Second

// heartbeat looks at both clocks often and renews when either says so: timers
// stand still while the machine sleeps.
func (l *Lease) heartbeat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	every := min(l.m.interval()/2, maxTick)
	l.timer = time.AfterFunc(every, func() {
		if l.renewIfDue() {
			l.timer.Reset(every)
		}
	})
}

// renewIfDue renews the lease when it is time, and says whether it is still ours.
func (l *Lease) renewIfDue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wall, boot := l.elapsed(); l.over == nil && (wall < 0 || max(wall, boot) >= l.m.interval()) {
		_ = l.renew(nil)
	}
	return l.over == nil
}

// elapsed since the last renewal began, by either clock.
func (l *Lease) elapsed() (wall, boot time.Duration) {
	now := l.m.readClocks()
	return now.wall.Sub(l.last.wall), now.boot - l.last.boot
}

// isTrusted: by both clocks nobody else can have taken the lease yet. A wall
// clock that was set back says nothing; the boot clock does.
func (l *Lease) isTrusted() bool {
	wall, boot := l.elapsed()
	return max(wall, boot) < l.m.ttl-l.m.margin()
}

// Check makes sure that the lease is still ours: LOCK_LOST when it is not.
// Call it before each step and each shared write.
func (l *Lease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return l.over
	}
	if l.isTrusted() {
		// Who is stopped between opening the file and reading it sees what it was.
		if err := l.verify(); err != nil || l.isTrusted() {
			return err
		}
	}
	return l.renew(nil)
}

// SetRun names the run in the record.
func (l *Lease) SetRun(runID string) error {
	return l.change(func(r *Record) { r.RunID = runID })
}

// SetCommand names a command that runs under the lock: should this process die,
// the lock is held until that has ended too. group says that pid leads a
// process group of its own; then all of the group counts.
func (l *Lease) SetCommand(pid int, group bool) error {
	start := proc.StartOf(pid)
	return l.change(func(r *Record) { r.Command, r.CommandStart, r.CommandGroup = pid, start, group })
}

func (l *Lease) change(f func(*Record)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return l.over
	}
	return l.renew(f)
}

// guardTimeout bounds renewal and release, which ignore cancellation.
const guardTimeout = 5 * time.Second

func (l *Lease) guard() (func(), bool, error) {
	return l.m.guard.Lock(context.Background(), false, guardTimeout)
}

// renew is compare-and-swap: it replaces the record only while it is ours. l.mu
// is held.
func (l *Lease) renew(change func(*Record)) error {
	began := l.m.readClocks()
	unlock, _, err := l.guard()
	if err != nil {
		return l.unconfirmed(err)
	}
	defer unlock()
	if err := l.verify(); err != nil {
		return err
	}
	next := l.rec
	next.Beat++
	next.ExpiresAt = stamp(began.wall.Add(l.m.ttl))
	if next.CreatedAt.After(began.wall) {
		next.CreatedAt = stamp(began.wall) // the clock was set back
	}
	if change != nil {
		change(&next)
	}
	raw, err := l.m.publish(l.key, next, false)
	if err != nil {
		return l.unconfirmed(fault.NotWritable(err, l.path))
	}
	l.rec, l.raw, l.last = next, raw, began
	return nil
}

// verify re-reads the token, once, guard or not. l.mu is held.
func (l *Lease) verify() error {
	data, _, f, err := l.m.files.Read(l.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l.lose(l.fault("vanished"))
	case err != nil:
		return l.unconfirmed(unreadable(err, l.path))
	case f == flock.NoAccess:
		return l.unconfirmed(unreadable(nil, l.path, "reason", f))
	case f != "":
		return l.lose(l.fault(string(f)))
	}
	if bytes.Equal(data, l.raw) {
		return nil
	}
	rec, f := parse(data, "")
	switch {
	case f != "":
		return l.lose(l.fault(string(f)))
	case rec.Token != l.token:
		return l.lose(lost(rec, l.path, "taken"))
	}
	return nil
}

// unconfirmed: the lease could not be confirmed. As long as it is trusted that is
// only an error; then it is a loss.
func (l *Lease) unconfirmed(err error) error {
	if l.isTrusted() {
		return err
	}
	lost := l.fault("not_renewed")
	lost.Err, lost.Facts["cause"] = err, err.Error()
	return l.lose(lost)
}

func (l *Lease) fault(reason string) *fault.Error {
	return lost(l.rec, l.path, reason)
}

func lost(rec Record, path, reason string) *fault.Error {
	return fault.New(fault.LockLost, Entry{Record: rec, Path: path}.pairs("reason", reason)...)
}

func (l *Lease) lose(err *fault.Error) error {
	l.finish(err, err)
	return err
}

// finish ends the lease once; over is what Check says from now on.
func (l *Lease) finish(over, end error) {
	l.over, l.end = over, end
	l.m.forget(l)
	if l.timer != nil {
		l.timer.Stop()
	}
	l.cancel(over)
	close(l.done)
}

// Release gives the lock back; LOCK_LOST when it was not ours any more, and
// then somebody else's record is left alone. Further calls say the same again.
// It takes no context: a lock is given back on every way out.
func (l *Lease) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over != nil {
		return l.end
	}
	unlock, _, err := l.guard()
	if err != nil {
		return l.unconfirmed(err)
	}
	defer unlock()
	if err := l.verify(); err != nil {
		return err
	}
	if err := l.m.disk.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l.unconfirmed(fault.NotWritable(err, l.path))
	}
	l.finish(&fault.Error{Code: fault.LockLost, Facts: fault.Facts{"path": l.path, "reason": "released"}}, nil)
	return nil
}
