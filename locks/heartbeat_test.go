package locks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// inBubble runs f with a world whose clocks are the bubble's, and leases that
// beat by themselves.
func inBubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) { f(t, w) })
}

// beating is process pid with heartbeats, by the bubble's clock.
func (w *world) beating(pid int, ttl time.Duration) *Manager {
	began := time.Now()
	m := w.process(pid, func(o *Options) {
		o.TTL = ttl
		o.Clock = proc.ClockOf(time.Now, func() time.Duration { return time.Since(began) })
	})
	m.startHeartbeat = (*Lease).heartbeat
	return m
}

func TestHeartbeatEverySixthOfTheTTL(t *testing.T) {
	for _, ttl := range []time.Duration{5 * time.Second, time.Minute, 30 * time.Minute} {
		inBubble(t, func(t *testing.T, w *world) {
			l := take(t, w.beating(1, ttl))
			time.Sleep(ttl/6 - 1)
			synctest.Wait()
			if beat := l.Record().Beat; beat != 0 {
				t.Errorf("ttl %v: %d beats too early", ttl, beat)
			}
			time.Sleep(1 + min(ttl/12, maxTick))
			synctest.Wait()
			if beat := l.Record().Beat; beat != 1 {
				t.Errorf("ttl %v: %d beats after a sixth", ttl, beat)
			}
			time.Sleep(10 * ttl)
			synctest.Wait()
			if r := l.Record(); r.Beat < 40 || r.Beat > 61 || time.Until(r.ExpiresAt) < ttl*3/4 {
				t.Errorf("ttl %v: %d beats, %v left", ttl, r.Beat, time.Until(r.ExpiresAt))
			}
			if err := l.Check(); err != nil {
				t.Error(err)
			}
			release(t, l)
		})
	}
}

func TestFailingRenewalEndsTheContextBeforeTheLeaseExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		d := &faultDisk{}
		m := w.beating(1, 30*time.Minute)
		m.disk = d
		l := take(t, m)
		d.at, d.n, d.onwards, d.err = 1, 0, true, fault.New(fault.InternalError)
		until := l.Record().ExpiresAt
		<-l.Context().Done()
		wantCode(t, context.Cause(l.Context()), fault.LockLost)
		if left := time.Until(until); left < 7*time.Minute || left > 8*time.Minute {
			t.Errorf("%v before expiry", left)
		}
	})
}

func TestTakenLeaseEndsTheContextAtTheNextBeat(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := take(t, w.beating(1, 30*time.Minute))
		if _, _, err := w.process(2).Break(t.Context(), Request("RQ-1"), true); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-l.Context().Done()
		if took := time.Since(began); took > 5*time.Minute+maxTick {
			t.Errorf("noticed after %v", took)
		}
		wantFacts(t, wantCode(t, context.Cause(l.Context()), fault.LockLost), fault.Facts{"reason": "vanished"})
	})
}

func TestHeartbeatOutlivesTheCallersContext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		l, err := w.beating(1, time.Minute).Acquire(ctx, Request("RQ-1"), Ask{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(10 * time.Minute)
		if err := l.Check(); err != nil {
			t.Errorf("lost during the clean-up: %v", err)
		}
		release(t, l)
	})
}
