package runs

import (
	"testing"
	"time"
)

func TestWorkedFor(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(min int) time.Time { return start.Add(time.Duration(min) * time.Minute) }
	history := func(events ...any) *Stage {
		s := &Stage{}
		for i := 0; i < len(events); i += 2 {
			s.History = append(s.History, Event{At: at(events[i].(int)), Event: events[i+1].(string)})
		}
		return s
	}
	for _, c := range []struct {
		name string
		s    *Stage
		now  int
		want int
	}{
		{"it works", history(0, EventStarted, 1, EventStepStart), 5, 5},
		{"it is done, and landed on Monday", history(0, EventStarted, 3, EventDone, 9000, "LANDED"), 9000, 3},
		{"it waited for somebody for a night", history(0, EventStarted, 2, EventNeedsInput, 600, EventResumed, 601, EventDone), 900, 3},
		{"it was stopped and waits", history(0, EventStarted, 4, EventInterrupted), 900, 4},
		{"it died, and was gone on with in the morning", history(0, EventStarted, 2, EventStepStart, 600, EventResumed, 603, EventDone), 900, 5},
		{"the clock was put back", history(5, EventStarted, 2, EventDone), 9, 0},
	} {
		if got := WorkedFor(c.s, at(c.now)); got != time.Duration(c.want)*time.Minute {
			t.Errorf("%s: %s, want %d min", c.name, got, c.want)
		}
	}
}
