package runs

import (
	"fmt"
	"time"

	"aiflow/internal/fault"
)

// RoleCall is one call of a role: who was asked, what came of it, what it took.
type RoleCall struct {
	Role       string     `json:"role"`
	StepID     string     `json:"step_id,omitempty"`
	Attempt    int        `json:"attempt"`
	Provider   string     `json:"provider"`
	StartedAt  time.Time  `json:"started_at"`
	ReasonCode fault.Code `json:"reason_code,omitempty"` // why the answer could not be used
	Usage      *Usage     `json:"usage,omitempty"`       // as the program reports it; nil: it does not
}

// Usage is what calls of AI commands took, as the programs report it.
type Usage struct {
	Input      int64    `json:"input"`  // tokens that were read, without those of the cache
	Cached     int64    `json:"cached"` // tokens that were read from the provider's cache
	Output     int64    `json:"output"`
	CostUSD    *float64 `json:"cost_usd,omitempty"` // nil: no program said it
	Turns      int      `json:"turns"`
	SessionID  string   `json:"session_id,omitempty"`
	Model      string   `json:"model,omitempty"`
	DurationMS int64    `json:"duration_ms"`
	Denied     []string `json:"denied,omitempty"` // tools that were refused
}

// Add makes the sum of two: what is about one call alone is left out.
func (u *Usage) Add(o *Usage) *Usage {
	if u == nil {
		u, o = o, nil
	}
	if u == nil {
		return nil
	}
	sum := *u
	sum.SessionID, sum.Model, sum.Denied = "", "", nil
	if o == nil {
		return &sum
	}
	sum.Input, sum.Cached, sum.Output = u.Input+o.Input, u.Cached+o.Cached, u.Output+o.Output
	sum.Turns, sum.DurationMS = u.Turns+o.Turns, u.DurationMS+o.DurationMS
	if o.CostUSD != nil {
		cost := *o.CostUSD
		if u.CostUSD != nil {
			cost += *u.CostUSD
		}
		sum.CostUSD = &cost
	}
	return &sum
}

// Usage is what all calls of the run took; nil where no program reported any.
func (s *Stage) Usage() *Usage { return s.UsageSince(time.Time{}) }

// UsageSince is what the calls took that began at a time or later.
func (s *Stage) UsageSince(at time.Time) *Usage {
	var sum *Usage
	for _, c := range s.Attempts.Calls {
		if !c.StartedAt.Before(at) {
			sum = sum.Add(c.Usage)
		}
	}
	return sum
}

// Facts are what a sentence may name of it.
func (u *Usage) Facts() fault.Facts {
	f := fault.NewFacts("input", u.Input, "cached", u.Cached, "output", u.Output)
	if u.CostUSD != nil {
		f["cost"] = dollars(*u.CostUSD)
	}
	return f
}

// Budget is what AI commands may use, as they report it; 0 is any amount.
type Budget struct {
	CostUSD float64
	Tokens  int64 // read, without those of the cache, and written
}

// Spent says that nothing of it is left; nil is that something is.
func (b Budget) Spent(u *Usage) *fault.Error {
	switch {
	case u == nil:
	case b.CostUSD > 0 && u.CostUSD != nil && *u.CostUSD >= b.CostUSD:
		return exhausted("limits.max_cost_usd", "$"+dollars(*u.CostUSD), "$"+dollars(b.CostUSD))
	case b.Tokens > 0 && u.Input+u.Output >= b.Tokens:
		return exhausted("limits.max_tokens", u.Input+u.Output, b.Tokens)
	}
	return nil
}

func exhausted(key string, used, allowed any) *fault.Error {
	return fault.New(fault.BudgetExhausted, "used", used, "allowed", allowed, "key", key)
}

// LeftUSD are the dollars that are left; 0 is any amount.
func (b Budget) LeftUSD(u *Usage) float64 {
	if b.CostUSD > 0 && u != nil && u.CostUSD != nil {
		return b.CostUSD - *u.CostUSD
	}
	return b.CostUSD
}

// Uncounted is the limit that cannot hold for a call which reported u; "" is none.
func (b Budget) Uncounted(u *Usage) string {
	switch {
	case b.CostUSD > 0 && (u == nil || u.CostUSD == nil):
		return "limits.max_cost_usd"
	case b.Tokens > 0 && u == nil:
		return "limits.max_tokens"
	}
	return ""
}

// dollars is a sum as people read it: cents, and more where it is less than one.
func dollars(sum float64) string {
	if sum < 0.01 {
		return fmt.Sprintf("%.4f", sum)
	}
	return fmt.Sprintf("%.2f", sum)
}

// PutOff records that the provider of a role cannot be asked now: the run stands where it
// is until it may be.
func (s *Stage) PutOff(now time.Time, cause *fault.Error) {
	e := s.AddEvent(now, EventInterrupted, s.CurrentStepID, cause.Code)
	e.Detail = map[string]string{"provider": cause.Facts["name"]}
	for _, name := range []string{"said", "until"} {
		if v := cause.Facts[name]; v != "" {
			e.Detail[name] = v
		}
	}
}

// ProviderWait is what a run waits for whose provider cannot be asked.
type ProviderWait struct {
	Provider   string     `json:"provider"`
	ReasonCode fault.Code `json:"reason_code"`
	Said       string     `json:"said,omitempty"`  // in the program's own words
	Until      *time.Time `json:"until,omitempty"` // as far as it is known
}

// Waits is what the run waits for since it was put off; nil is nothing.
func (s *Stage) Waits() *ProviderWait {
	if s.State.Ended() || len(s.History) == 0 {
		return nil
	}
	e := s.History[len(s.History)-1]
	if e.Event != EventInterrupted || !fault.Code(e.ReasonCode).Waits() {
		return nil
	}
	w := &ProviderWait{Provider: e.Detail["provider"], ReasonCode: fault.Code(e.ReasonCode), Said: e.Detail["said"]}
	if t, err := time.Parse(time.RFC3339, e.Detail["until"]); err == nil {
		w.Until = &t
	}
	return w
}

// Facts are what a sentence may name of it.
func (w *ProviderWait) Facts() fault.Facts {
	f := fault.NewFacts("name", w.Provider, "said", w.Said, "reason", w.ReasonCode)
	if w.Until != nil {
		f["at"] = w.Until.Local().Format("2006-01-02 15:04")
	}
	return f
}
