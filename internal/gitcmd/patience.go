package gitcmd

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"aiflow/internal/proc"
)

const (
	firstWait   = 10 * time.Millisecond
	longestWait = 500 * time.Millisecond
)

// patiently runs try again while another git process holds a lock that it
// needs, with growing, jittered waits, until the patience is used up.
func (g Git) patiently(ctx context.Context, try func() ([]byte, error)) ([]byte, error) {
	limit := cmp.Or(g.Patience, DefaultPatience)
	var waited time.Duration
	for attempt, wait := 1, firstWait; ; attempt, wait = attempt+1, min(2*wait, longestWait) {
		out, err := try()
		if err == nil || !Busy(err) || waited >= limit {
			return out, err
		}
		if g.waiting != nil {
			g.waiting(attempt)
		}
		d := wait/2 + rand.N(wait)
		waited += d
		if err := proc.Sleep(ctx, d); err != nil {
			return out, err
		}
	}
}

// Busy reports whether err is git refusing because another process holds a
// lock file. A branch that exists or has moved is not busy.
func Busy(err error) bool {
	if Exit(err) <= 0 {
		return false
	}
	s := Stderr(err)
	return strings.Contains(s, ".lock': File exists") || strings.Contains(s, "nable to lock") ||
		strings.Contains(s, "could not lock config file") && strings.Contains(s, "File exists")
}
