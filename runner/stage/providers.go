package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runner/agent"
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

	Lost *fault.Error `json:"-"` // it has to be mended by a person
}

type Waits map[string]ProviderWait

// Providers reads what is known; what cannot be read is not known.
func (s *Setup) Providers() Waits {
	waits := Waits{}
	if data, err := os.ReadFile(CacheFile(s.Project, providersFile)); err == nil {
		_ = json.Unmarshal(data, &waits)
	}
	now := s.Project.Now()
	maps.DeleteFunc(waits, func(_ string, w ProviderWait) bool { return w.Until == nil || now.Sub(*w.Until) > forgetAfter })
	return waits
}

// forgetAfter is how long after its end a wait still counts towards the next.
const forgetAfter = time.Hour

// Open are those that cannot be asked now.
func (w Waits) Open(now time.Time) Waits {
	left := Waits{}
	for name, wait := range w {
		if now.Before(*wait.Until) {
			left[name] = wait
		}
	}
	return left
}

// noteProvider remembers that a provider cannot be asked, or that it can again.
// Nobody stops where that cannot be written.
func (s *Setup) noteProvider(ctx context.Context, provider string, err error) {
	f, failed := fault.As(err)
	if _, known := s.Providers()[provider]; !(err == nil && known) && !(failed && f.Code.Waits()) {
		return
	}
	if turn, err := s.Project.Locks().Acquire(context.WithoutCancel(ctx), locks.Named("providers"), locks.Ask{Wait: providersLockWait}); err == nil { // other runs write there too
		defer turn.Release()
	}
	waits := s.Providers()
	if err == nil {
		delete(waits, provider)
	} else {
		now := s.Project.Now()
		w := ProviderWait{Tries: waits[provider].Tries + 1}
		w.Provider, w.ReasonCode, w.Said = provider, f.Code, f.Facts["said"]
		until, e := time.Parse(time.RFC3339, f.Facts["until"])
		if w.Named = e == nil; !w.Named {
			until = now.Add(agent.Pause(time.Duration(s.Project.Config.AutoRun.PauseSec)*time.Second, w.Tries))
			f.Facts["pause"] = until.Local().Format(shownTime)
		}
		w.Until = &until
		maps.Copy(f.Facts, sessionFacts(s.Project, until))
		waits[provider] = w
	}
	s.SaveCache(providersFile, waits)
}

// providersLockWait is how long a writer waits for another one.
const providersLockWait = 10 * time.Second

// acquireProvider waits until the provider of a call may be asked by one more (providers.*.jobs).
func acquireProvider(ctx context.Context, run *Run, q question, call config.Call) (release func(), err error) {
	if call.Jobs <= 0 {
		return func() {}, nil
	}
	for told := false; ; told = true {
		for i := 1; i <= call.Jobs; i++ {
			turn, err := run.Project.Locks().Acquire(ctx, locks.Named(locks.NameFor("provider", call.Provider)+"-"+strconv.Itoa(i)), locks.Ask{RunID: run.Stage.RunID})
			if err == nil {
				return func() { _ = turn.Release() }, nil
			}
			if !fault.Has(err, fault.LockHeld) {
				return nil, err
			}
		}
		if !told {
			run.Tell(Event{Kind: Noted, StepID: q.stepID(), What: run.Words.Text("work.provider_turn", fault.Facts{"name": call.Provider, "count": strconv.Itoa(call.Jobs)})})
		}
		if err := proc.Sleep(ctx, providerPoll); err != nil {
			return nil, err
		}
	}
}

// providerPoll is between two looks whether a provider has room.
const providerPoll = 200 * time.Millisecond

// LimitedCalls are the calls that a run of the request will begin with, of the providers that
// have a limit of their own. last is its latest run.
func LimitedCalls(router config.Router, req *reqmeta.Request, last *runs.Stage) []config.Call {
	var list []config.Call
	for _, role := range rolesOf(router, req, last) {
		call := router.Calls(role)[0]
		if call.Jobs > 0 && !slices.ContainsFunc(list, func(c config.Call) bool { return c.Provider == call.Provider }) {
			list = append(list, call)
		}
	}
	return list
}

// availableCalls leaves out those that cannot be asked now, where another can.
func availableCalls(run *Run, calls []config.Call) []config.Call {
	if len(calls) < 2 {
		return calls
	}
	open := run.Providers().Open(run.Project.Now())
	for name := range run.Lost {
		open[name] = ProviderWait{}
	}
	left := slices.DeleteFunc(slices.Clone(calls), func(c config.Call) bool { _, waits := open[c.Provider]; return waits })
	if len(left) == 0 {
		return calls
	}
	return left
}

// Blocking is the provider that has to be waited for before the request can go on;
// nil is none. last is its latest run.
func (w Waits) Blocking(router config.Router, req *reqmeta.Request, last *runs.Stage) *ProviderWait {
	var longest *ProviderWait
	for _, role := range rolesOf(router, req, last) {
		calls := router.Calls(role)
		if slices.ContainsFunc(calls, func(c config.Call) bool { return w[c.Provider].Until == nil }) {
			continue // that one can be asked
		}
		soon := w[slices.MinFunc(calls, func(a, b config.Call) int {
			return cmp.Or(w[a.Provider].Until.Compare(*w[b.Provider].Until), strings.Compare(a.Provider, b.Provider))
		}).Provider]
		if longest == nil || soon.Until.After(*longest.Until) {
			longest = &soon
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

// Refusal is the refusal to ask a provider before its time.
func (w *ProviderWait) Refusal(p *project.Project, requestID string) *fault.Error {
	if w.Lost != nil {
		return w.Lost
	}
	f := fault.New(w.ReasonCode, "name", w.Provider, "said", w.Said, "request_id", requestID,
		"until", w.Until.UTC().Format(time.RFC3339), "at", w.Until.Local().Format(shownTime))
	maps.Copy(f.Facts, sessionFacts(p, *w.Until))
	return f
}

// sessionFacts name the session that waits until then, where the usual one does
// not last as long; far is longer than any may.
func sessionFacts(p *project.Project, until time.Time) fault.Facts {
	wait, usual := until.Sub(p.Now()), time.Duration(p.Config.AutoRun.MaxDurationMin)*time.Minute
	switch minutes := SessionMinutes(wait, usual); {
	case minutes > config.MaxMinutes:
		return fault.Facts{"far": "true"}
	case wait > usual:
		return fault.Facts{"auto": "aiflow run auto --max-minutes " + strconv.Itoa(minutes)}
	}
	return nil
}

// SessionMinutes is how many minutes a session may last that waits first and then works
// as long as it was to.
func SessionMinutes(wait, work time.Duration) int { return int((wait+work)/time.Minute) + 1 }
