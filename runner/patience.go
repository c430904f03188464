package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// What is known of providers that cannot be asked now is in one file of the
// cache: every command of the project that would ask them looks there.
const providersFile = "providers.json"

// ProviderWait is one of them.
type ProviderWait struct {
	runs.ProviderWait
	Named bool `json:"named"` // the program said until when
	Tries int  `json:"tries"` // in a row, without anything done

	lost *fault.Error // it has to be mended by a person
}

type waitsOf map[string]ProviderWait

// providers reads what is known; what cannot be read is not known.
func (r *Runner) providers() waitsOf {
	waits := waitsOf{}
	if data, err := os.ReadFile(sessionPath(r.Project, providersFile)); err == nil {
		_ = json.Unmarshal(data, &waits)
	}
	now := r.Project.Now()
	for name, w := range waits {
		if w.Until == nil || now.Sub(*w.Until) > forgotten {
			delete(waits, name)
		}
	}
	return waits
}

// forgotten is how long after its end a wait still counts towards the next.
const forgotten = time.Hour

// open are those that cannot be asked now.
func (w waitsOf) open(now time.Time) waitsOf {
	left := waitsOf{}
	for name, wait := range w {
		if now.Before(*wait.Until) {
			left[name] = wait
		}
	}
	return left
}

// first is the one whose time comes soonest.
func (w waitsOf) first() *ProviderWait {
	var soon *ProviderWait
	for _, wait := range w {
		if soon == nil || wait.Until.Before(*soon.Until) || wait.Until.Equal(*soon.Until) && wait.Provider < soon.Provider {
			soon = &wait
		}
	}
	return soon
}

// noteProvider remembers that a provider cannot be asked, or that it can again.
// Nobody stops where that cannot be written.
func (r *Runner) noteProvider(provider string, err error) {
	waits := r.providers()
	f, failed := fault.As(err)
	_, known := waits[provider]
	switch {
	case err == nil && known:
		delete(waits, provider)
	case !failed || !f.Code.Waits():
		return
	default:
		now := r.Project.Now()
		w := ProviderWait{Tries: waits[provider].Tries + 1}
		w.Provider, w.ReasonCode, w.Said = provider, f.Code, f.Facts["said"]
		until, e := time.Parse(time.RFC3339, f.Facts["until"])
		if w.Named = e == nil; !w.Named {
			until = now.Add(pause(time.Duration(r.Project.Config.AutoRun.PauseSec)*time.Second, w.Tries))
			f.Facts["pause"] = until.Local().Format(shownTime)
		}
		w.Until = &until
		waits[provider] = w
	}
	path := sessionPath(r.Project, providersFile)
	data, e := json.MarshalIndent(waits, "", "  ")
	if e == nil {
		e = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if e == nil {
		e = atomicfile.Write(r.Project.Env.Disk, path, append(data, '\n'), atomicfile.Options{TempSuffix: r.Project.Suffix(), Volatile: true})
	}
	if e != nil {
		r.tell(Event{Kind: Warned, What: e.Error()})
	}
}

// longestPause is how long a session waits at most where nobody says until when.
const longestPause = 15 * time.Minute

// pause doubles with each try in a row.
func pause(first time.Duration, tries int) time.Duration {
	for ; tries > 1 && first < longestPause; tries-- {
		first *= 2
	}
	return min(first, longestPause)
}

// notWaiting leaves out those that cannot be asked now, where another can.
func (j *job) notWaiting(calls []config.Call) []config.Call {
	if len(calls) < 2 {
		return calls
	}
	open := j.providers().open(j.Project.Now())
	for name := range j.opts.Lost {
		open[name] = ProviderWait{}
	}
	left := slices.DeleteFunc(slices.Clone(calls), func(c config.Call) bool { _, waits := open[c.Provider]; return waits })
	if len(left) == 0 {
		return calls
	}
	return left
}

// holdsUp is the provider that has to be waited for before the request can go on;
// nil is none. last is its latest run.
func (w waitsOf) holdsUp(router config.Router, req *reqmeta.Request, last *runs.Stage) *ProviderWait {
	var longest *ProviderWait
	for _, role := range rolesOf(router, req, last) {
		waits := waitsOf{}
		calls := router.Calls(role)
		for _, call := range calls {
			if wait, ok := w[call.Provider]; ok {
				waits[call.Provider] = wait
			}
		}
		if len(calls) == 0 || len(waits) < len(calls) {
			continue // one of them can be asked
		}
		if soon := waits.first(); longest == nil || soon.Until.After(*longest.Until) {
			longest = soon
		}
	}
	return longest
}

// rolesOf are the roles that a run of the request has yet to ask.
func rolesOf(router config.Router, req *reqmeta.Request, last *runs.Stage) []string {
	roles := []string{config.RoleQA}
	own := req.Meta.Steps
	if len(own) == 0 || slices.ContainsFunc(own, func(s reqmeta.Step) bool { return s.Run == "" }) {
		roles = append(roles, config.RoleImplementer)
	}
	if len(own) == 0 && (last == nil || last.State.Ended() || len(last.Steps) == 0) {
		roles = append(roles, config.RolePlanner)
	}
	return slices.DeleteFunc(roles, func(role string) bool { return len(router.Calls(role)) == 0 })
}

// fault is the refusal to ask a provider before its time.
func (w *ProviderWait) fault(requestID string) *fault.Error {
	if w.lost != nil {
		return w.lost
	}
	return fault.New(w.ReasonCode, "name", w.Provider, "said", w.Said, "request_id", requestID,
		"until", w.Until.UTC().Format(time.RFC3339), "at", w.Until.Local().Format(shownTime))
}

// heldUp says what a request has to wait for before it can go on. Outside of a
// session only a time that a program named holds anything up: a person who asks
// again sees what comes of it.
func (r *Runner) heldUp(o Options, s *project.Survey) func(*reqmeta.Request) *ProviderWait {
	open := r.providers().open(r.Project.Now())
	for name, w := range open {
		if o.Lost == nil && !w.Named {
			delete(open, name)
		}
	}
	for name, f := range o.Lost {
		never := r.Project.Now().AddDate(100, 0, 0)
		w := ProviderWait{lost: f}
		w.Provider, w.ReasonCode, w.Until = name, f.Code, &never
		open[name] = w
	}
	if len(open) == 0 {
		return func(*reqmeta.Request) *ProviderWait { return nil }
	}
	router, _, err := config.LoadRouter(r.Project.Dir, r.Project.Config)
	return func(req *reqmeta.Request) *ProviderWait {
		if err != nil {
			return nil // what needs the router is refused, the rest asks nobody
		}
		return open.holdsUp(router, req, s.Latest(req.ID))
	}
}

// chance is a little more than was named: clocks differ, and not everybody should
// come back in the same second.
func chance(wait time.Duration, random byte) time.Duration {
	most := min(max(wait/10, 0), 30*time.Second)
	return time.Second + most*time.Duration(random)/255
}

// wait lets the session wait for a provider. false: that is longer than the
// session may last, and it is over.
func (a *auto) wait(ctx context.Context, w *ProviderWait) bool {
	now := a.r.Project.Now()
	until := w.Until.Add(chance(w.Until.Sub(now), a.r.Project.RandomHex(1)[0]))
	if end := a.latest(); w.lost != nil || !end.IsZero() && until.After(end) {
		a.end(Stopped, w.fault(""))
		return false
	}
	a.s.ProviderWait = &w.ProviderWait
	a.s.Waits = append(a.s.Waits, SessionWait{w.ProviderWait, now})
	a.set(Selecting)
	a.r.tell(Event{Kind: Waiting, Until: until, What: a.r.Words.Text("work.waits_for", w.Facts())})
	for left := until.Sub(now); left > 0 && ctx.Err() == nil && !stopAsked(a.r.Project); left = until.Sub(a.r.Project.Now()) {
		select {
		case <-ctx.Done():
		case <-time.After(min(left, time.Duration(a.r.Project.Config.AutoRun.PollIntervalMS)*time.Millisecond)):
		}
	}
	a.s.ProviderWait = nil
	return true
}

// latest is when the session ends at the latest; zero is never.
func (a *auto) latest() time.Time {
	end := a.o.Until
	if a.o.MaxMinutes > 0 {
		if t := a.s.StartedAt.Add(time.Duration(a.o.MaxMinutes) * time.Minute); end.IsZero() || t.Before(end) {
			end = t
		}
	}
	return end
}

// putOff notes a run whose provider cannot be asked now: its request is ready, and
// goes on later.
func (a *auto) putOff(out Outcome) {
	f := asFault(out.Err)
	a.s.CurrentRequestID, a.s.CurrentRunID = nil, nil
	if _, known := a.r.providers().open(a.r.Project.Now())[f.Facts["name"]]; !known {
		a.skip[out.RequestID] = true // it could not be written down, and would be asked again and again
	}
	a.r.saveSession(&a.s)
}
