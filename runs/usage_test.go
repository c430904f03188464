package runs

import (
	"testing"
	"time"

	"aiflow/internal/fault"
)

func TestUsageIsSummedUp(t *testing.T) {
	at := time.Date(2026, 11, 28, 23, 5, 0, 0, time.UTC)
	s := NewStage("RQ-1", "RUN-1", "One", at)
	if s.Usage() != nil {
		t.Error("nobody reported anything")
	}
	cost := func(c float64) *float64 { return &c }
	s.Attempts.Calls = []RoleCall{
		{StartedAt: at, Usage: &Usage{Input: 1, Cached: 2, Output: 3, Turns: 1, DurationMS: 5, SessionID: "s", Denied: []string{"x"}}},
		{StartedAt: at.Add(time.Minute)},
		{StartedAt: at.Add(time.Hour), Usage: &Usage{Input: 10, Output: 30, CostUSD: cost(0.25)}},
		{StartedAt: at.Add(time.Hour), Usage: &Usage{Output: 300, CostUSD: cost(0.5)}},
	}
	u := s.Usage()
	if u.Input != 11 || u.Cached != 2 || u.Output != 333 || u.Turns != 1 || u.DurationMS != 5 || *u.CostUSD != 0.75 || u.SessionID != "" || u.Denied != nil {
		t.Errorf("%+v", u)
	}
	if later := s.UsageSince(at.Add(time.Second)); later.Input != 10 || later.Output != 330 {
		t.Errorf("%+v", later)
	}
	if *s.Attempts.Calls[2].Usage.CostUSD != 0.25 {
		t.Error("the sum changed what was summed up")
	}
	for sum, want := range map[float64]string{0: "0.0000", 0.0012: "0.0012", 0.0123: "0.01", 12.345: "12.35"} {
		if got := dollars(sum); got != want {
			t.Errorf("%v: %s, want %s", sum, got, want)
		}
	}
}

// A run that was put off waits until something is done with it.
func TestPutOff(t *testing.T) {
	at := time.Date(2026, 11, 28, 23, 5, 0, 0, time.UTC)
	s := NewStage("RQ-1", "RUN-1", "One", at)
	if s.Waits() != nil {
		t.Error("it waits for nothing")
	}
	s.PutOff(at, fault.New(fault.ProviderLimit, "name", "claude", "said", "no more", "until", "2026-11-29T01:10:00Z"))
	w := s.Waits()
	if w == nil || w.Provider != "claude" || w.Said != "no more" || w.ReasonCode != fault.ProviderLimit || !w.Until.Equal(at.Add(125*time.Minute)) {
		t.Fatalf("%+v", w)
	}
	s.PutOff(at, fault.New(fault.ProviderOverloaded, "name", "claude"))
	if w := s.Waits(); w == nil || w.Until != nil {
		t.Errorf("%+v", w)
	}
	s.AddEvent(at, EventResumed, "", "")
	if s.Waits() != nil {
		t.Error("it goes on")
	}
	s.AddEvent(at, EventInterrupted, "", fault.Interrupted)
	if s.Waits() != nil {
		t.Error("it was interrupted by somebody")
	}
}
