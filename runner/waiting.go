package runner

import (
	"context"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runner/agent"
	"aiflow/runner/stage"
)

// providerWaits says what a request has to wait for before it can go on. Outside of a
// session only a time that a program named holds anything up: a person who asks
// again sees what comes of it.
func (r *Runner) providerWaits(o Options, s *project.Survey) func(*reqmeta.Request) *stage.ProviderWait {
	open := r.Providers().Open(r.Project.Now())
	for name, w := range open {
		if o.Lost == nil && !w.Named {
			delete(open, name)
		}
	}
	for name, f := range o.Lost {
		never := r.Project.Now().AddDate(100, 0, 0)
		w := stage.ProviderWait{Lost: f}
		w.Provider, w.ReasonCode, w.Until = name, f.Code, &never
		open[name] = w
	}
	if len(open) == 0 {
		return func(*reqmeta.Request) *stage.ProviderWait { return nil }
	}
	router, _, err := config.LoadRouter(r.Project.Dir, r.Project.Config)
	return func(req *reqmeta.Request) *stage.ProviderWait {
		if err != nil {
			return nil // what needs the router is refused, the rest asks nobody
		}
		return open.Blocking(router, req, s.Latest(req.ID))
	}
}

// waitForProvider lets the session wait for a provider. false: that is longer than the
// session may last, and it is over.
func (a *auto) waitForProvider(ctx context.Context, w *stage.ProviderWait) bool {
	now := a.r.Project.Now()
	until := w.Until.Add(agent.Spread(w.Until.Sub(now), a.r.Project.RandomHex(1)[0]))
	if end := a.deadline(); w.Lost != nil || !end.IsZero() && until.After(end) {
		if w.Lost == nil { // the same session would not wait that long either
			minutes := stage.SessionMinutes(until.Sub(now), end.Sub(*a.session.StartedAt))
			a.given.Until, a.given.MaxMinutes = time.Time{}, min(minutes, config.MaxMinutes)
		}
		a.end(Stopped, w.Refusal(a.r.Project, ""))
		return false
	}
	a.change(func(s *Session) {
		s.ProviderWait, s.Waits = &w.ProviderWait, append(s.Waits, SessionWait{w.ProviderWait, now})
	})
	a.r.Tell(stage.Event{Kind: stage.Waiting, Until: until, What: a.r.Words.Text("work.waits_for", w.Facts())})
	for left := until.Sub(now); left > 0 && ctx.Err() == nil && !stopAsked(a.r.Project); left = until.Sub(a.r.Project.Now()) {
		_ = proc.Sleep(ctx, min(left, time.Duration(a.r.Project.Config.AutoRun.PollIntervalMS)*time.Millisecond))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session.ProviderWait = nil
	return true
}

// deadline is when the session ends at the latest; zero is never.
func (a *auto) deadline() time.Time {
	end := a.o.Until
	if a.o.MaxMinutes > 0 {
		if t := a.session.StartedAt.Add(time.Duration(a.o.MaxMinutes) * time.Minute); end.IsZero() || t.Before(end) {
			end = t
		}
	}
	return end
}
