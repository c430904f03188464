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
	defer limit.stop()
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

// slotsTaken names who holds the slots, and the run of the first of them.
func (m *Manager) slotsTaken(n int, held []Entry) error {
	all, _ := m.List()
	requestOf := func(e Entry) string {
		for _, o := range all {
			if o.RequestID != "" && o.RunID == e.RunID && o.PID == e.PID {
				return o.RequestID
			}
		}
		return ""
	}
	first := Entry{}
	names := make([]string, len(held))
	for i, e := range held {
		names[i] = strings.TrimSpace(fmt.Sprintf("%s %s (%d)", requestOf(e), e.RunID, e.PID))
		if e.PID == 0 {
			names[i] = e.Path // cannot be read, or names nobody
		}
		if first.RunID == "" {
			first = e
		}
	}
	first.RequestID = requestOf(first)
	return fault.New(fault.SlotsTaken, first.pairs("holders", strings.Join(names, ", "), "count", strconv.Itoa(n))...)
}
