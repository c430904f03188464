package runner

import (
	"testing"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/runs"
)

func TestPauses(t *testing.T) {
	for tries, want := range map[int]time.Duration{0: 30 * time.Second, 1: 30 * time.Second, 2: time.Minute, 3: 2 * time.Minute, 6: 15 * time.Minute, 1000: 15 * time.Minute} {
		if got := pause(30*time.Second, tries); got != want {
			t.Errorf("after %d tries: %s, want %s", tries, got, want)
		}
	}
	for _, c := range []struct {
		wait   time.Duration
		random byte
		want   time.Duration
	}{{-time.Hour, 255, time.Second}, {10 * time.Second, 0, time.Second}, {10 * time.Second, 255, 2 * time.Second}, {9 * time.Hour, 255, 31 * time.Second}} {
		if got := chance(c.wait, c.random); got != c.want {
			t.Errorf("a chance of %d in %s: %s, want %s", c.random, c.wait, got, c.want)
		}
	}
}

// What a request waits for: nobody, where each role that it has yet to ask can be
// asked by somebody; else the one that comes last.
func TestWhatHoldsUp(t *testing.T) {
	now := time.Date(2026, 11, 28, 23, 5, 0, 0, time.UTC)
	waits := func(hours map[string]int) waitsOf {
		w := waitsOf{}
		for name, h := range hours {
			until := now.Add(time.Duration(h) * time.Hour)
			one := ProviderWait{}
			one.Provider, one.Until = name, &until
			w[name] = one
		}
		return w
	}
	router := config.Router{Routing: map[string]config.Route{
		config.RolePlanner:     {Primary: "p"},
		config.RoleImplementer: {Primary: "a", Fallback: "b"},
		config.RoleQA:          {Primary: "q"},
	}}
	role := &reqmeta.Request{Meta: reqmeta.Meta{}}
	steps := &reqmeta.Request{Meta: reqmeta.Meta{Steps: []reqmeta.Step{{Title: "x", Run: "true"}}}}
	mixed := &reqmeta.Request{Meta: reqmeta.Meta{Steps: []reqmeta.Step{{Title: "x", Run: "true"}, {Title: "y"}}}}
	planned := runs.NewStage("RQ-1", "RUN-1", "x", now)
	planned.State, planned.Steps = runs.Implementing, []runs.Step{{StepID: "S01"}}
	for _, c := range []struct {
		name  string
		hours map[string]int
		req   *reqmeta.Request
		last  *runs.Stage
		want  string
	}{
		{"nobody waits", nil, role, nil, ""},
		{"the fallback can be asked", map[string]int{"a": 2}, role, nil, ""},
		{"neither can", map[string]int{"a": 2, "b": 1}, role, nil, "b"},
		{"the planner", map[string]int{"p": 1}, role, nil, "p"},
		{"the plan is there", map[string]int{"p": 1}, role, planned, ""},
		{"the last that is needed", map[string]int{"p": 1, "q": 3}, role, nil, "q"},
		{"a stranger", map[string]int{"x": 1}, role, nil, ""},
		{"commands of its own", map[string]int{"a": 1, "b": 1, "p": 1}, steps, nil, ""},
		{"but they are reviewed", map[string]int{"q": 1}, steps, nil, "q"},
		{"a step without one", map[string]int{"a": 1, "b": 1}, mixed, nil, "a"},
	} {
		got := ""
		if w := waits(c.hours).holdsUp(router, c.req, c.last); w != nil {
			got = w.Provider
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Which of two failures a person hears of: the one that has to be waited for least,
// else what the stand-in failed with and what it was to mend.
func TestWhichFailureIsTold(t *testing.T) {
	limit := func(until string) error { return fault.New(fault.ProviderLimit, "name", "a", "until", until) }
	missing := func() error { return fault.New(fault.CLINotAvailable, "name", "b") }
	for name, c := range map[string]struct {
		err, before error
		want        fault.Code
		until       string
	}{
		"alone":                {missing(), nil, fault.CLINotAvailable, ""},
		"a limit, and missing": {missing(), limit("2026-11-29T01:00:00Z"), fault.ProviderLimit, "2026-11-29T01:00:00Z"},
		"missing, and a limit": {limit("2026-11-29T01:00:00Z"), missing(), fault.ProviderLimit, "2026-11-29T01:00:00Z"},
		"the sooner of two":    {limit("2026-11-29T03:00:00Z"), limit("2026-11-29T01:00:00Z"), fault.ProviderLimit, "2026-11-29T01:00:00Z"},
		"the later first":      {limit("2026-11-29T01:00:00Z"), limit("2026-11-29T03:00:00Z"), fault.ProviderLimit, "2026-11-29T01:00:00Z"},
		"one has no time":      {limit("2026-11-29T03:00:00Z"), limit(""), fault.ProviderLimit, "2026-11-29T03:00:00Z"},
		"a crash, and missing": {missing(), fault.New(fault.ProcessCrashed, "said", "boom"), fault.CLINotAvailable, ""},
		"nothing went wrong":   {nil, limit(""), "", ""},
	} {
		err := insteadOf(c.err, c.before)
		f, _ := fault.As(err)
		if fault.CodeOf(err) != c.want || f != nil && f.Facts["until"] != c.until {
			t.Errorf("%s: %v", name, err)
		}
	}
}
