package agent

import (
	"testing"
	"time"
)

func TestPauses(t *testing.T) {
	for tries, want := range map[int]time.Duration{0: 30 * time.Second, 1: 30 * time.Second, 2: time.Minute, 3: 2 * time.Minute, 6: 15 * time.Minute, 1000: 15 * time.Minute} {
		if got := Pause(30*time.Second, tries); got != want {
			t.Errorf("after %d tries: %s, want %s", tries, got, want)
		}
	}
	for _, c := range []struct {
		wait   time.Duration
		random byte
		want   time.Duration
	}{{-time.Hour, 255, time.Second}, {10 * time.Second, 0, time.Second}, {10 * time.Second, 255, 2 * time.Second}, {9 * time.Hour, 255, 31 * time.Second}} {
		if got := Spread(c.wait, c.random); got != c.want {
			t.Errorf("a chance of %d in %s: %s, want %s", c.random, c.wait, got, c.want)
		}
	}
}
