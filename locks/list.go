package locks

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// Entry is a lock file and what is thought of it.
type Entry struct {
	Record
	Verdict Verdict
	Live    bool // nobody may take it now
	Path    string
	Problem error // LOCK_UNREADABLE

	// Orphaned: the holder has ended, the command that it ran has not. Who
	// takes or releases the lock ends it.
	Orphaned bool

	// Away: the holder cannot be told to stop from here. It is on another machine
	// or in another pid namespace, or its record does not tell it from others.
	Away bool

	flaw flock.Flaw
}

// certain verdicts need no look at a file's age.
func (e Entry) certain() bool {
	return e.Verdict == Mine || e.Verdict == Held && !e.Orphaned || e.Verdict == Overdue ||
		e.Verdict == Newer || isIrregular(e.flaw)
}

// free reports whether one who asks in this way may take it.
func (e Entry) free(a Ask) bool {
	return !e.Live || e.Verdict == Overdue && a.TakeOverdue
}

// pairs are the facts of e, for fault.New, with more in front.
func (e Entry) pairs(more ...any) []any {
	p := append(more, "path", e.Path, "request_id", e.RequestID, "run_id", e.RunID, "host", e.Host,
		"hostname", e.Hostname, "since", flock.When(e.CreatedAt), "until", flock.When(e.ExpiresAt), "name", e.Name)
	if e.PID != 0 {
		p = append(p, "pid", e.PID)
	} else {
		p = append(p, "pid", "")
	}
	if e.Verdict != "" {
		p = append(p, "verdict", e.Verdict)
	}
	if e.Away {
		p = append(p, "away", cmp.Or(e.Hostname, e.Host))
	}
	return p
}

// Fault is code with what is known about the lock.
func (e Entry) Fault(code fault.Code) *fault.Error { return fault.New(code, e.pairs()...) }

// refuse says who has it; an unreadable record is the cause.
func (m *Manager) refuse(k Key, e Entry) error {
	return e.refuse(k.refusal())
}

func (e Entry) refuse(code fault.Code) error {
	f := e.Fault(code)
	f.Err = e.Problem
	if p, ok := fault.As(e.Problem); ok {
		f.Facts["reason"], f.Facts["flaw"] = p.Facts["reason"], p.Facts["reason"]
	}
	return f
}

// entry judges what was read.
func (m *Manager) entry(k Key, rec Record, mtime time.Time, f flock.Flaw, guarded bool) Entry {
	e := Entry{Record: rec, Path: m.path(k), flaw: f}
	if f != "" {
		e.Record = Record{Version: rec.Version}
		e.setKey(k)
		e.Problem = flawFault(e.Path, f, rec.Version)
	}
	j := judge(evidence{
		rec: e.Record, flaw: f, self: m.self, now: m.clock.Now().Round(0), ttl: m.ttl,
		mine:      m.holds(k.file(), rec.Token),
		processes: m.processes, group: proc.GroupAlive,
		age:    func() (time.Duration, bool) { return m.age(k, mtime, guarded) },
		shared: m.files.Shared,
	})
	e.Verdict, e.Live, e.Orphaned = j.verdict, j.live, j.orphaned
	e.Away = e.PID != 0 && (!e.isOnMachine(m.self) || e.PIDNS != m.self.PIDNS || e.PIDStart == 0)
	return e
}

// age of a file by the file system's clock, or by ours for those who only
// look. A file from the future begins to age when one who may write sees it.
func (m *Manager) age(k Key, mtime time.Time, guarded bool) (time.Duration, bool) {
	if !guarded {
		return m.clock.Now().Sub(mtime), true
	}
	now, err := m.files.Now()
	if err != nil {
		return 0, false
	}
	age := now.Sub(mtime)
	if age < -Grace {
		_ = m.files.Touch(k.file(), now)
	}
	return age, true
}

// List shows every lock, sorted by file name. A bad file is an entry with a
// problem, never an error.
func (m *Manager) List() ([]Entry, error) {
	names, err := m.files.List()
	if err != nil {
		return nil, unreadable(err, m.dir)
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		k, ok := KeyOf(name)
		if !ok {
			continue
		}
		e, found, err := m.look(k, false)
		switch {
		case err != nil:
			e = Entry{Verdict: UnknownRec, Live: true, Path: m.path(k)}
			e.setKey(k)
			e.Problem = unreadable(err, e.Path, "reason", "io_error")
		case !found: // released meanwhile
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Look judges one lock; false when there is none. It writes nothing.
func (m *Manager) Look(k Key) (Entry, bool, error) {
	if err := k.Check(); err != nil {
		return Entry{}, false, err
	}
	e, found, err := m.look(k, false)
	if err != nil {
		return Entry{}, false, unreadable(err, m.path(k))
	}
	return e, found, nil
}

// Sweep removes the records of dead holders, and temporary files that their
// writers left behind, and returns the records that it removed. Each is judged
// again under the guard.
func (m *Manager) Sweep(ctx context.Context) ([]Entry, error) {
	return m.sweep(ctx, func(Entry) bool { return true })
}

// SweepExpired is the light form for the start of a run (D39 section 5.2): only
// records whose time is over, and whose holder is not there.
func (m *Manager) SweepExpired(ctx context.Context) ([]Entry, error) {
	now := m.clock.Now()
	return m.sweep(ctx, func(e Entry) bool { return e.ExpiresAt.Before(now) && !e.ExpiresAt.IsZero() })
}

func (m *Manager) sweep(ctx context.Context, wanted func(Entry) bool) ([]Entry, error) {
	names, err := m.files.List()
	if err != nil {
		return nil, unreadable(err, m.dir)
	}
	var removed []Entry
	for _, name := range names {
		k, ok := KeyOf(name)
		if !ok {
			continue
		}
		if e, found, err := m.look(k, false); err != nil || !found || e.certain() || !wanted(e) {
			continue
		}
		e, gone, err := sweepOne(ctx, m, k)
		if err != nil {
			return removed, err
		}
		if gone {
			removed = append(removed, e)
		}
	}
	return removed, sweepTemps(ctx, m, names)
}

func sweepOne(ctx context.Context, m *Manager, k Key) (Entry, bool, error) {
	unlock, firm, err := m.guard.Lock(ctx, false, flock.Patience)
	if err != nil {
		return Entry{}, false, err
	}
	defer unlock()
	e, found, err := m.look(k, true)
	if err != nil || !found || e.Live || !firm {
		return e, false, nil
	}
	if err := m.disk.Remove(e.Path); err != nil {
		return e, false, fault.NotWritable(err, e.Path)
	}
	return e, true, nil
}

// sweepTemps: records are written under the guard only, so whoever holds it
// sees no temporary file but those of the dead.
func sweepTemps(ctx context.Context, m *Manager, names []string) error {
	for _, name := range names {
		if !atomicfile.IsTemp(name) {
			continue
		}
		unlock, firm, err := m.guard.Lock(ctx, false, flock.Patience)
		if err != nil {
			return err
		}
		if firm {
			_ = m.disk.Remove(filepath.Join(m.dir, name))
		}
		unlock()
	}
	return nil
}

// Break removes a lock by hand: a dead one always, with what its command left
// running; a live one only by force, which its holder notices at its next
// check. A lock that is not there is success (false).
func (m *Manager) Break(ctx context.Context, k Key, force bool) (Entry, bool, error) {
	for left := orphanTries; ; left-- {
		e, gone, err := m.tryBreak(ctx, k, force, left > 0)
		if err == nil || !e.Orphaned || left == 0 {
			return e, gone, err
		}
		if err := proc.Sleep(ctx, orphanPause); err != nil {
			return e, false, err
		}
	}
}

// tryBreak makes one attempt; patient leaves a lock whose command has been ended
// but may not have gone yet.
func (m *Manager) tryBreak(ctx context.Context, k Key, force, patient bool) (Entry, bool, error) {
	e, found, err := m.Look(k)
	if err != nil || !found {
		return e, false, err
	}
	unlock, _, err := m.guard.Lock(ctx, false, flock.Patience)
	if err != nil {
		return e, false, err
	}
	defer unlock()
	e, found, err = m.look(k, true)
	endOrphans(e)
	switch {
	case err != nil:
		return e, false, unreadable(err, m.path(k))
	case !found:
		return e, false, nil
	case e.flaw == flock.Directory:
		return e, false, e.Problem // nobody's to remove, not even by force
	case e.Live && (!force || e.Orphaned && patient):
		return e, false, e.refuse(fault.LockNotYours)
	}
	if err := m.disk.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e, false, fault.NotWritable(err, e.Path)
	}
	return e, true, nil
}

// flawFault is LOCK_UNREADABLE for a file with a flaw. One that no time makes free
// stays, and a folder is to be moved away by hand.
func flawFault(path string, f flock.Flaw, version string) error {
	more := []any{"reason", f, "version", version}
	if f == flawNewer || isIrregular(f) {
		more = append(more, "stays", f)
	}
	if f == flock.Directory {
		more = append(more, "odd", path)
	}
	return unreadable(nil, path, more...)
}

func unreadable(err error, path string, more ...any) error {
	return fault.Wrap(err, fault.LockUnreadable, append(more, "path", path)...)
}
