package locks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"aiflow/internal/proc"
)

func benchManager(b *testing.B) *Manager {
	b.Helper()
	return Open(Options{Dir: filepath.Join(b.TempDir(), "locks"), Clock: proc.ClockOf(time.Now, proc.BootClock), Self: proc.Self()})
}

func must[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// medians runs f as often as the benchmark asks and reports the median and the
// 99th percentile, which a busy machine disturbs less than the mean.
func medians(b *testing.B, f func()) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		f()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
}

// Target: 60 us.
func BenchmarkAcquireRelease(b *testing.B) {
	m, ctx := benchManager(b), context.Background()
	medians(b, func() {
		if err := must[*Lease](b)(m.Acquire(ctx, Request("RQ-1"), Ask{})).Release(); err != nil {
			b.Fatal(err)
		}
	})
}

// Target: 200 us.
func BenchmarkRenew(b *testing.B) {
	l := must[*Lease](b)(benchManager(b).Acquire(context.Background(), Request("RQ-1"), Ask{}))
	medians(b, func() {
		if err := l.Renew(); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	l := must[*Lease](b)(benchManager(b).Acquire(context.Background(), Request("RQ-1"), Ask{}))
	medians(b, func() {
		if err := l.Check(); err != nil {
			b.Fatal(err)
		}
	})
}

// Target: 20 us, reading the record and asking for the process included.
func BenchmarkVerdict(b *testing.B) {
	m := benchManager(b)
	must[*Lease](b)(m.Acquire(context.Background(), Request("RQ-1"), Ask{}))
	other := Open(Options{Dir: m.dir, Clock: m.clock, Self: m.self})
	medians(b, func() {
		if e, ok, err := other.Look(Request("RQ-1")); err != nil || !ok || e.Verdict != Held {
			b.Fatal(e, err)
		}
	})
}

func BenchmarkRefused(b *testing.B) {
	m, ctx := benchManager(b), context.Background()
	must[*Lease](b)(m.Acquire(ctx, Request("RQ-1"), Ask{}))
	medians(b, func() {
		if _, err := m.Acquire(ctx, Request("RQ-1"), Ask{}); err == nil {
			b.Fatal("taken")
		}
	})
}

// Target: 20 ms.
func BenchmarkList2000(b *testing.B) {
	m := benchManager(b)
	if err := os.MkdirAll(m.dir, 0o777); err != nil {
		b.Fatal(err)
	}
	for i := range 2000 {
		k := Request(fmt.Sprintf("RQ-%04d", i))
		r := m.newRecord(k, fmt.Sprintf("RUN-20261127-120000-%06x", i), time.Now())
		r.Token, r.PID = fmt.Sprintf("%032x", i), 1+i%300
		data := must[[]byte](b)(json.Marshal(r))
		if err := os.WriteFile(m.path(k), data, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	medians(b, func() {
		if all, err := m.List(); err != nil || len(all) != 2000 {
			b.Fatal(len(all), err)
		}
	})
}
