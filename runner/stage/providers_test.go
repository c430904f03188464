package stage

import (
	"testing"
	"time"

	"aiflow/internal/config"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// What a request waits for: nobody, where each role that it has yet to ask can be
// asked by somebody; else the one that comes last.
func TestWhatHoldsUp(t *testing.T) {
	now := time.Date(2026, 11, 28, 23, 5, 0, 0, time.UTC)
	waits := func(hours map[string]int) Waits {
		w := Waits{}
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
		if w := waits(c.hours).Blocking(router, c.req, c.last); w != nil {
			got = w.Provider
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
