package queue

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// speed is how fast n operations went: by the clock, and by the server's own
// processor time, which others who use the machine do not disturb.
type speed struct{ wall, server float64 }

// rates are measured in one run on one server.
type rates struct {
	updates speed // single conditional updates that change the state
	touches speed // single conditional updates that leave the keys of the index alone
	claims  speed
	cycles  speed // claim and completion
}

func measure(t testing.TB, prepare func(s *Store, namespaces []string), n int) rates {
	t.Helper()
	s, pid := ownServerPID(t)
	var spaces []string
	for i := range 3 {
		spaces = append(spaces, fmt.Sprintf("%s-%d", s.ns, i))
	}
	prepare(s, spaces)
	in := func(i int) *Store {
		one := beside(t, s, func(o *Options) { o.API = s.api; o.Namespace = spaces[i] })
		fill(t, one, n)
		return one
	}
	var r rates
	one := in(0)
	r.touches = rate(t, pid, n, func() { parallel(t, n, func(i int) error { return touch(one, i) }) })
	r.updates = rate(t, pid, n, func() { parallel(t, n, func(i int) error { return take(one, i) }) })
	one = in(1)
	r.claims = rate(t, pid, n, func() { race(t, one, n, false) })
	one = in(2)
	r.cycles = rate(t, pid, n, func() { race(t, one, n, true) })
	return r
}

func rate(t testing.TB, pid, n int, f func()) speed {
	began, used := time.Now(), processorTime(t, pid)
	f()
	return speed{float64(n) / time.Since(began).Seconds(), float64(n) / (processorTime(t, pid) - used).Seconds()}
}

// processorTime reads how long a process has computed, in hundredths of a
// second.
func processorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip("no /proc to read the server's processor time from")
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// touch is a single conditional update that leaves the indexes' keys alone.
func touch(s *Store, i int) error {
	_, _, err := s.apply(context.Background(), change{
		op: "touch", taskID: fmt.Sprintf("t%05d", i), update: "SET updated_at = :now",
		condition: "#status = :queued", names: map[string]string{"#status": "status"},
		values: item{":now": str("x"), ":queued": str("QUEUED")},
	}, func(Task) bool { return false })
	return err
}

// take is the single conditional update that a claim is.
func take(s *Store, i int) error {
	_, ok, err := s.claimTask(context.Background(), "r", fmt.Sprintf("t%05d", i), "t")
	if !ok && err == nil {
		err = fmt.Errorf("%d is not ours", i)
	}
	return err
}

// race lets eight runners take n tasks; each has its own client.
func race(t testing.TB, s *Store, n int, complete bool) {
	t.Helper()
	h := &history{}
	peers := make([]string, 8)
	for i := range peers {
		peers[i] = fmt.Sprintf("r%d", i)
	}
	requests := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range peers {
		wg.Go(func() {
			one := beside(t, s, func(o *Options) { o.API = s.api })
			count := counted(one)
			c := one.Claimer(id)
			c.SetPeers(peers)
			if err := takeAll(one, c, id, h, complete); err != nil {
				t.Error(err)
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
	t.Logf("%d tasks, completing %v: %v", n, complete, requests)
}

func takeAll(s *Store, c *Claimer, id string, h *history, complete bool) error {
	ctx := context.Background()
	for {
		task, ok, err := c.Claim(ctx)
		if err != nil || !ok {
			return err
		}
		h.add(event{Kind: "claim", Task: task.TaskID, Runner: id, Fence: task.Fence})
		if !complete {
			continue
		}
		if err := s.Complete(ctx, task, ""); err != nil {
			return err
		}
	}
}

// TestSpeed is the measurement of docs/scale.md. It takes minutes, so it runs only
// when it is asked for.
func TestSpeed(t *testing.T) {
	if os.Getenv("AIFLOW_QUEUE_SPEED") == "" {
		t.Skip("set AIFLOW_QUEUE_SPEED=1")
	}
	hour := time.Now().Add(-time.Hour)
	older := func(i int) time.Time { return hour.Add(time.Duration(i) * time.Millisecond) }
	none := measure(t, func(*Store, []string) {}, 2000)
	foreign := measure(t, func(s *Store, _ []string) { bulk(t, s, "others", "QUEUED", 10_000, older) }, 2000)
	both := measure(t, func(s *Store, spaces []string) {
		bulk(t, s, "others", "QUEUED", 10_000, older)
		for _, ns := range spaces {
			bulk(t, s, ns, "COMPLETE", 10_000, older)
		}
	}, 2000)
	for _, m := range []struct {
		name string
		r    rates
	}{{"alone", none}, {"10,000 foreign", foreign}, {"10,000 foreign, 10,000 finished", both}} {
		for _, k := range []struct {
			clock string
			of    func(speed) float64
		}{{"wall", func(s speed) float64 { return s.wall }}, {"server", func(s speed) float64 { return s.server }}} {
			u, c := k.of(m.r.updates), k.of(m.r.claims)
			t.Logf("%-32s %-6s updates %.0f/s touches %.0f/s claims %.0f/s (%.0f %% of updates) cycles %.0f/s (%.0f %%)",
				m.name, k.clock, u, k.of(m.r.touches), c, 100*c/u, k.of(m.r.cycles), 200*k.of(m.r.cycles)/u)
		}
	}
	if none.claims.server < 0.6*none.updates.server {
		t.Error("claims are slower than 60 % of single updates")
	}
	if foreign.claims.server < 0.8*none.claims.server {
		t.Error("10,000 foreign tasks cost more than 20 %")
	}
}
