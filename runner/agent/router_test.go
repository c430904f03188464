package agent

import (
	"testing"

	"aiflow/internal/config"
	"aiflow/internal/fault"
)

func TestTurn(t *testing.T) {
	p, f := config.Call{Provider: "p"}, config.Call{Provider: "f"}
	for _, tc := range []struct {
		calls          []config.Call
		tries, retries int
		want           string
	}{
		{[]config.Call{p, f}, 1, 1, "p"},
		{[]config.Call{p, f}, 2, 1, "pf"},
		{[]config.Call{p, f}, 3, 1, "ppf"},
		{[]config.Call{p, f}, 4, 1, "ppff"},
		{[]config.Call{p, f}, 4, 0, "pfff"},
		{[]config.Call{p, f}, 4, 9, "pppf"},
		{[]config.Call{p}, 3, 0, "ppp"},
	} {
		c := &Router{Router: config.Router{Defaults: config.RouterDefaults{MaxRetriesPerCall: tc.retries}}}
		got := ""
		for try := range tc.tries {
			got += c.Turn(tc.calls, try, tc.tries).Provider
		}
		if got != tc.want {
			t.Errorf("%d tries, %d retries: %s, want %s", tc.tries, tc.retries, got, tc.want)
		}
	}
}

func TestTriesUsedUp(t *testing.T) {
	last := fault.New(fault.JSONSchemaInvalid, "key", "planning", "cause", "is missing", "path", "log")
	if got := TriesUsedUp("planner", 1, last); got != error(last) {
		t.Errorf("one try: %v", got)
	}
	got, _ := fault.As(TriesUsedUp("planner", 2, last))
	want := fault.Facts{"name": "planner", "allowed": "2", "reason": "JSON_SCHEMA_INVALID", "key": "planning", "cause": "is missing", "path": "log"}
	if got.Code != fault.RetryLimitExceeded || len(got.Facts) != len(want) {
		t.Errorf("%v", got)
	}
	for k, v := range want {
		if got.Facts[k] != v {
			t.Errorf("%s is %q, want %q", k, got.Facts[k], v)
		}
	}
	if got, _ := fault.As(TriesUsedUp("qa", 2, last)); got.Facts["no_plan"] == "" {
		t.Errorf("another plan is to mend what qa answers: %v", got)
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
		err := InsteadOf(c.err, c.before)
		f, _ := fault.As(err)
		if fault.CodeOf(err) != c.want || f != nil && f.Facts["until"] != c.until {
			t.Errorf("%s: %v", name, err)
		}
	}
}
