package locks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/fault"
)

// AcquireSlot takes one of the n slots; SLOTS_TAKEN, which names their holders,
// when all are held. Who needs the lock of a request too takes that one first,
// unless it needs many in turn.
func (m *Manager) AcquireSlot(ctx context.Context, n int, a Ask) (*Lease, error) {
	limit := newLimit(max(a.Wait, slotPatience))
	for {
		var held []Entry
		for i := 1; i <= n; i++ {
			l, err := m.Acquire(ctx, Slot(i), Ask{RunID: a.RunID, TakeOverdue: a.TakeOverdue})
			if err == nil {
				if held, err = m.slotsBefore(i, n); err == nil && len(held) < n {
					return l, nil
				}
				_ = l.Release()
				if err != nil {
					return nil, err
				}
				break
			}
			if !fault.Has(err, fault.SlotsTaken) {
				return nil, err
			}
			if e, found, err := m.Look(Slot(i)); err == nil && found {
				held = append(held, e)
			}
		}
		runs := !slices.ContainsFunc(held, func(e Entry) bool { return e.RunID == "" })
		if limit.over || a.Wait <= 0 && len(held) >= n && runs {
			return nil, m.slotsTaken(n, held)
		}
		if err := limit.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// slotsBefore are the live slots that count before the i-th of n: lower ones, and
// those above n, which were taken when more runs were allowed.
func (m *Manager) slotsBefore(i, n int) ([]Entry, error) {
	all, err := m.List()
	return slices.DeleteFunc(all, func(e Entry) bool {
		key, ok := KeyOf(e.Path)
		number, bad := strconv.Atoi(key.ID)
		return !ok || key.Type != TypeSlot || bad != nil || !e.Live || number >= i && number <= n
	}), err
}

// slotPatience is how long one waits who does not want to wait, where a slot is
// held that no run has: it has just been taken or is about to be given back.
const slotPatience = time.Second

// slotsTaken names who holds the slots, and the run of the first of them; or the
// session that holds all of them for as long as it lives.
func (m *Manager) slotsTaken(n int, held []Entry) error {
	all, _ := m.List()
	session, _, _ := m.Look(Queue())
	ofSession := func(e Entry) bool { return session.Live && session.PID != 0 && e.PID == session.PID }
	if !slices.ContainsFunc(held, func(e Entry) bool { return !ofSession(e) }) {
		held = slices.DeleteFunc(slices.Clone(all), func(e Entry) bool {
			key, ok := KeyOf(e.Path)
			return !ok || key.Type != TypeSlot || !ofSession(e)
		})
		n = max(n, len(held))
	} else {
		session = Entry{}
	}
	requestOf := func(e Entry) string {
		for _, o := range all {
			if o.RequestID != "" && o.RunID == e.RunID && o.PID == e.PID {
				return o.RequestID
			}
		}
		return ""
	}
	first := Entry{}
	var names []string
	for _, e := range held {
		name := strings.TrimSpace(fmt.Sprintf("%s %s (%d)", requestOf(e), e.RunID, e.PID))
		switch {
		case e.PID == 0:
			name = e.Path // cannot be read, or names nobody
		case session.PID != 0 && e.RunID == "":
			continue // free for its next run
		case e.RunID == "": // a command has it (aiflow lock exec), which is no run
			name = fmt.Sprintf("%s %s (%d)", e.LockType, e.Name, e.PID)
		}
		names = append(names, name)
		if first.RunID == "" {
			first = e
		}
	}
	first.RequestID = requestOf(first)
	pairs := first.pairs("holders", strings.Join(names, ", "), "count", strconv.Itoa(n))
	if session.PID != 0 {
		pairs = append(pairs, "session", strconv.Itoa(session.PID))
	}
	return fault.New(fault.SlotsTaken, pairs...)
}
