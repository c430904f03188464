package queue

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// rates are measured in one run on one server.
type rates struct {
	updates float64 // conditional updates a second that change the state
	touches float64 // conditional updates a second that leave the indexes' keys alone
	claims  float64 // claims a second
	cycles  float64 // claim and completion: tasks a second
}

func measure(t testing.TB, prepare func(*Store), n int) rates {
	t.Helper()
	s := ownServer(t)
	prepare(s)
	ctx := context.Background()
	var r rates
	fill(t, s, n)
	r.touches = rate(n, func() {
		parallel(t, n, func(i int) error {
			_, _, err := s.apply(ctx, change{
				op: "touch", taskID: fmt.Sprintf("t%05d", i), update: "SET updated_at = :now",
				condition: "#status = :queued", names: map[string]string{"#status": "status"},
				values: item{":now": str("x"), ":queued": str("QUEUED")},
			}, func(Task) bool { return false })
			return err
		})
	})
	r.updates = rate(n, func() {
		parallel(t, n, func(i int) error {
			_, ok, err := s.claimTask(ctx, "r", fmt.Sprintf("t%05d", i), "t")
			if !ok && err == nil {
				err = fmt.Errorf("%d is not ours", i)
			}
			return err
		})
	})
	r.claims, _ = race(t, beside(t, s, func(o *Options) { o.API = s.api; o.Namespace = s.ns + "-b" }), n, false)
	r.cycles, _ = race(t, beside(t, s, func(o *Options) { o.API = s.api; o.Namespace = s.ns + "-c" }), n, true)
	return r
}

func rate(n int, f func()) float64 {
	began := time.Now()
	f()
	return float64(n) / time.Since(began).Seconds()
}

// race lets eight runners take n tasks; each has its own client.
func race(t testing.TB, s *Store, n int, complete bool) (perSecond float64, requests map[string]int) {
	t.Helper()
	fill(t, s, n)
	h := &history{}
	peers := make([]string, 8)
	for i := range peers {
		peers[i] = fmt.Sprintf("r%d", i)
	}
	requests = map[string]int{}
	var mu sync.Mutex
	perSecond = rate(n, func() {
		var wg sync.WaitGroup
		for _, id := range peers {
			wg.Go(func() {
				one := beside(t, s, func(o *Options) { o.API = s.api })
				count := counted(one)
				c := one.Claimer(id)
				c.SetPeers(peers)
				for {
					task, ok, err := c.Claim(context.Background())
					if err != nil {
						t.Error(err)
					}
					if err != nil || !ok {
						break
					}
					h.add(event{Kind: "claim", Task: task.TaskID, Runner: id, Fence: task.Fence})
					if complete {
						if err := one.Complete(context.Background(), task, ""); err != nil {
							t.Error(err)
						}
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for k, v := range count.calls {
					requests[k] += v
				}
				requests["items read"] += count.read
			})
		}
		wg.Wait()
	})
	seen := map[string]bool{}
	for _, e := range h.events {
		if seen[e.Task] {
			t.Errorf("%s was claimed twice", e.Task)
		}
		seen[e.Task] = true
	}
	if len(seen) != n {
		t.Errorf("%d of %d tasks claimed", len(seen), n)
	}
	t.Logf("%d tasks, completing %v: %.0f/s, %v", n, complete, perSecond, requests)
	return perSecond, requests
}

// TestSpeed is the measurement of docs/scale.md. It takes half a minute, so it
// runs only when it is asked for.
func TestSpeed(t *testing.T) {
	if os.Getenv("AIFLOW_QUEUE_SPEED") == "" {
		t.Skip("set AIFLOW_QUEUE_SPEED=1")
	}
	hour := time.Now().Add(-time.Hour)
	older := func(i int) time.Time { return hour.Add(time.Duration(i) * time.Millisecond) }
	none := measure(t, func(*Store) {}, 2000)
	foreign := measure(t, func(s *Store) { bulk(t, s, "others", "QUEUED", 10_000, older) }, 2000)
	both := measure(t, func(s *Store) {
		bulk(t, s, "others", "QUEUED", 10_000, older)
		for _, ns := range []string{s.ns + "-b", s.ns + "-c"} {
			bulk(t, s, ns, "COMPLETE", 10_000, older)
		}
	}, 2000)
	for _, m := range []struct {
		name string
		r    rates
	}{{"alone", none}, {"10,000 foreign", foreign}, {"10,000 foreign and 10,000 finished", both}} {
		t.Logf("%-36s updates %.0f/s touches %.0f/s claims %.0f/s (%.0f %% of updates, %.0f %% of touches) cycles %.0f/s (%.0f %% of updates)",
			m.name, m.r.updates, m.r.touches, m.r.claims, 100*m.r.claims/m.r.updates, 100*m.r.claims/m.r.touches, m.r.cycles, 200*m.r.cycles/m.r.updates)
	}
	if none.claims < 0.6*none.updates {
		t.Errorf("claims %.0f/s are less than 60 %% of %.0f/s", none.claims, none.updates)
	}
	if foreign.claims < 0.8*none.claims {
		t.Errorf("with 10,000 foreign tasks %.0f/s, without %.0f/s", foreign.claims, none.claims)
	}
}
