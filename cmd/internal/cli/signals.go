package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

type signals struct {
	mu     sync.Mutex
	number int
	cancel context.CancelFunc
	ch     chan os.Signal
}

// Context ends when the process is asked to stop (SIGINT, SIGTERM, SIGHUP). A
// second signal kills it as if nobody had listened. From the first call on a
// reader that went away (SIGPIPE) is an error of the write, not the end of the
// process, so that a run outlives `| head`.
func (s *Shell) Context() context.Context {
	ctx, _ := s.listen(nil)
	return ctx
}

// Patience is Context for work that must still be recorded when it is stopped:
// a second signal does not kill the process but closes hurry, and only a third
// one kills.
func (s *Shell) Patience() (ctx context.Context, hurry <-chan struct{}) {
	return s.listen(make(chan struct{}))
}

func (s *Shell) listen(hurry chan struct{}) (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 1)
	s.signals.mu.Lock()
	s.signals.cancel, s.signals.ch = cancel, ch
	s.signals.mu.Unlock()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go s.signals.wait(ctx, ch, hurry)
	return ctx, hurry
}

func (s *signals) wait(ctx context.Context, ch chan os.Signal, hurry chan struct{}) {
	select {
	case sig := <-ch:
		s.mu.Lock()
		if n, ok := sig.(syscall.Signal); ok {
			s.number = int(n)
		}
		s.cancel()
		s.mu.Unlock()
		if hurry != nil {
			<-ch
			close(hurry)
		}
		signal.Stop(ch)
	case <-ctx.Done():
	}
}

// got is the number of the signal that came, or 0.
func (s *signals) got() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number
}

func (s *signals) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		signal.Stop(s.ch)
		s.cancel()
	}
}
