package locks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/flock"
	"aiflow/internal/proc"
)

// Ask says how much one wants a lock.
type Ask struct {
	RunID string
	// Wait is how long to try; 0 refuses at once. It is never cut short and
	// never exceeded by half.
	Wait time.Duration
	// TakeOverdue takes a lease whose living holder let it run out.
	TakeOverdue bool
	// Waiting is told once what is being waited for.
	Waiting func(Entry)
}

// Acquire takes the lock k; when it is held the refusal is RUN_IN_PROGRESS of a request,
// QUEUE_IN_PROGRESS of the queue, SLOTS_TAKEN of a slot and LOCK_HELD of a name. Who needs
// the queue and a request takes the queue first. The lease's context descends from ctx.
func (m *Manager) Acquire(ctx context.Context, k Key, a Ask) (*Lease, error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	// Who asks for the queue with the context of a request's lease has the one order
	// (queue, then request) the wrong way round.
	if held, ok := ctx.Value(leaseKey{}).(Key); ok && k.Type == TypeQueue && held.Type == TypeRequest {
		return nil, fault.New(fault.InternalError, "reason", "lock_order", "request_id", held.ID)
	}
	limit := newLimit(a.Wait)
	for orphans := 0; ; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l, refused, err := m.try(ctx, k, a)
		if refused == nil {
			return l, err
		}
		if refused.Orphaned && orphans < orphanTries {
			orphans++
			if err := proc.Sleep(ctx, orphanPause); err != nil {
				return nil, err
			}
			continue
		}
		if limit.over {
			return nil, err
		}
		if a.Waiting != nil {
			a.Waiting(*refused)
			a.Waiting = nil
		}
		if err := limit.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// try makes one attempt. refused is the lock that stands in the way.
func (m *Manager) try(ctx context.Context, k Key, a Ask) (l *Lease, refused *Entry, err error) {
	began, unlock, firm, refused, err := m.lockGuard(ctx, k, a)
	if err != nil {
		return nil, refused, err
	}
	defer unlock()
	e, found, err := m.look(k, true)
	switch {
	case err != nil:
		return nil, nil, unreadable(err, m.path(k))
	case found && !e.free(a):
		endOrphans(e)
		held := e
		return nil, &held, m.refuse(k, e)
	case found && !firm:
		return nil, nil, fault.New(fault.LockStaleDetected, e.pairs("reason", "no_flock")...)
	}
	l, err = m.publishLease(ctx, k, a, began, !firm && !found)
	if err == nil && found {
		before := e.Record
		l.recovered = &before
	}
	return l, nil, err
}

// lockGuard takes the guard. Those who wait for the lock, and those who find the
// guard taken, look at the lock first, so that they do not queue up.
func (m *Manager) lockGuard(ctx context.Context, k Key, a Ask) (began clockReading, unlock func(), firm bool, refused *Entry, err error) {
	if a.Wait <= 0 {
		began = m.readClocks()
		if unlock, firm, err = m.guard.Lock(ctx, true, 0); err == nil {
			return began, unlock, firm, nil, nil
		}
	}
	if e, found, err := m.look(k, false); err == nil && found && e.certain() && !e.free(a) {
		return began, nil, false, &e, m.refuse(k, e)
	}
	began = m.readClocks()
	unlock, firm, err = m.guard.Lock(ctx, true, flock.Patience)
	return began, unlock, firm, nil, err
}

// publishLease publishes the record of a new lease. The guard is held.
func (m *Manager) publishLease(ctx context.Context, k Key, a Ask, began clockReading, exclusive bool) (*Lease, error) {
	token, err := m.newToken()
	if err != nil {
		return nil, fault.Wrap(err, fault.InternalError)
	}
	rec := m.newRecord(k, a.RunID, began.wall)
	rec.Token = token
	raw, err := m.publish(k, rec, exclusive)
	if err != nil {
		if e, found, err := m.look(k, false); err == nil && found && e.Token == token { // it had become visible
			_ = m.disk.Remove(m.path(k))
		}
		return nil, fault.NotWritable(err, m.path(k))
	}
	return m.newLease(ctx, k, rec, raw, began), nil
}

// publish writes a record whole, and gives it as it was written. Without a guard
// a new record is created exclusively instead, since a rename would replace what
// another process created meanwhile.
func (m *Manager) publish(k Key, rec Record, exclusive bool) ([]byte, error) {
	data, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	if exclusive {
		f, err := m.disk.Create(m.path(k), 0o666)
		if err != nil {
			return nil, err
		}
		_, err = f.Write(data)
		return data, errors.Join(err, f.Close())
	}
	return data, atomicfile.Write(m.disk, m.path(k), data, atomicfile.Options{
		Perm: 0o666, Volatile: true, TempSuffix: fmt.Sprintf("%d-%s-%d", rec.PID, rec.Token[:min(16, len(rec.Token))], rec.Beat),
	})
}

func (m *Manager) path(k Key) string { return m.dir + string(filepath.Separator) + k.file() }

// look reads and judges one lock. guarded: the caller holds the guard, so a file
// may be made to read the file system's clock.
func (m *Manager) look(k Key, guarded bool) (Entry, bool, error) {
	data, mtime, f, err := m.files.Read(k.file())
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, err
	}
	rec, f := parse(data, f)
	return m.entry(k, rec, mtime, f, guarded), true, nil
}

// waitLimit bounds waiting: at least as long as asked, less than half as long
// again.
type waitLimit struct {
	end  <-chan time.Time
	next time.Duration
	over bool // the next refusal is final
}

const (
	firstPause = 5 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

func newLimit(wait time.Duration) waitLimit {
	return waitLimit{end: time.After(wait), next: firstPause, over: wait <= 0}
}

// pause sleeps for a while that is jittered, grows, and ends with the limit.
func (l *waitLimit) pause(ctx context.Context) error {
	t := time.After(l.next/2 + rand.N(l.next))
	l.next = min(l.next*3/2, lastPause)
	select {
	case <-t:
	case <-l.end:
		l.over = true
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// A command that outlived its wrapper is ended by who takes the lock, and that
// must be sure that it has ended.
const (
	orphanTries = 40
	orphanPause = 25 * time.Millisecond
)

func endOrphans(e Entry) {
	if e.Orphaned {
		proc.EndCommand(e.Command, e.CommandStart, e.CommandGroup)
	}
}
