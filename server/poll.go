package server

import (
	"context"
	"strconv"
	"time"
)

// starting polls what is to start, for as long as that may take.
func starting(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return poll(ctx, startPoll, done)
}

// poll asks again and again until done, an error, or the end of ctx, which is
// none.
func poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// number is n as a flag's value; 0 is none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
