package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"aiflow/internal/proc"
	"aiflow/locks"
)

// lock times acquire and release in this process.
func (b *bench) lock([]int) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	m := locks.Open(locks.Options{
		Dir: filepath.Join(b.work, "locks"), Self: self,
		Clock: locks.ClockOf(time.Now, proc.BootClock),
	})
	var times []time.Duration
	for range 2000 {
		start := time.Now()
		lease, err := m.AcquireRequest(context.Background(), "RQ-1", locks.Ask{})
		if err != nil {
			return err
		}
		if err := lease.Release(); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.table.head("Lock, 2000 times in one process")
	us := func(d time.Duration) string { return fmt.Sprintf("%.4f", float64(d)/1e6) }
	b.table.row("acquire and release", us(times[len(times)/2]), us(times[0]), "", "0.0600 ms")
	return nil
}
