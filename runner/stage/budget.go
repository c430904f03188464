package stage

import (
	"sync"
	"time"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// maxCostFlag bounds a session.
const maxCostFlag = "--max-cost"

// SessionBudget is what a session may spend, in all of its runs together.
type SessionBudget struct {
	runs.Budget
	Since time.Time // when the session began
	Jobs  int       // runs at a time; each call is told a part of what is left

	mu        sync.Mutex
	used      map[string]*runs.Usage // by run, in this session
	reserved  map[string]float64     // by run: what its present call may cost
	exhausted *fault.Error
}

// Record takes down what a run has used so far. Its present call is over.
func (p *SessionBudget) Record(st *runs.Stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record(st)
}

func (p *SessionBudget) record(st *runs.Stage) {
	if p.used == nil {
		p.used, p.reserved = map[string]*runs.Usage{}, map[string]float64{}
	}
	p.used[st.RunID] = st.UsageSince(p.Since)
	delete(p.reserved, st.RunID)
}

// Used is what all runs of the session have used.
func (p *SessionBudget) Used() *runs.Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum()
}

func (p *SessionBudget) sum() (sum *runs.Usage) {
	for _, u := range p.used {
		sum = sum.Add(u)
	}
	return sum
}

// Exhausted says that nothing is left; nil is that something is.
func (p *SessionBudget) Exhausted() *fault.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.checkExhausted()
}

func (p *SessionBudget) checkExhausted() *fault.Error {
	if f := p.Spent(p.sum()); p.exhausted == nil && f != nil {
		f.Facts["key"] = maxCostFlag
		p.exhausted = f
	}
	return p.exhausted
}

// reserve gives a call of a run its part of what no other call may cost: however many
// are asked at once, they cannot spend more than there is.
func (p *SessionBudget) reserve(st *runs.Stage) (dollars float64, gone *fault.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record(st)
	if p.CostUSD <= 0 || p.checkExhausted() != nil {
		return 0, p.exhausted
	}
	left := p.LeftUSD(p.sum())
	for _, others := range p.reserved {
		left -= others
	}
	left = max(left/float64(max(p.Jobs, 1)), minUSD)
	p.reserved[st.RunID] = left
	return left, nil
}

// minUSD is told where others may use up all that is left: 0 would be any amount.
const minUSD = 0.0001

// budget is what the run may use.
func (run *Run) budget() runs.Budget {
	l := run.Project.Config.Limits
	if run.Unbounded {
		return runs.Budget{}
	}
	return runs.Budget{CostUSD: l.MaxCostUSD, Tokens: int64(l.MaxTokens)}
}

// checkBudget refuses a call where nothing is left to spend. Else call is told how
// much is; ofSession is that the session's end comes first.
func checkBudget(run *Run, call *config.Call) (ofSession bool, err error) {
	used := run.Stage.Usage()
	if f := run.budget().Spent(used); f != nil {
		return false, f
	}
	call.Budget = run.budget().LeftUSD(used)
	if run.SessionBudget == nil {
		return false, nil
	}
	left, gone := run.SessionBudget.reserve(run.Stage)
	if gone != nil {
		return true, sessionBudgetSpent(gone)
	}
	if left > 0 && (call.Budget <= 0 || left < call.Budget) {
		call.Budget = left
		return true, nil
	}
	return false, nil
}

// budgetExceeded is what it means that a program ended itself at the sum which it was
// told: err as it is, or the end of the session.
func budgetExceeded(run *Run, ofSession bool, call config.Call, err error) error {
	f, _ := fault.As(err)
	if call.Budget <= 0 || len(call.Command.BudgetArgs) == 0 || !fault.Has(err, fault.BudgetExhausted) {
		return err
	}
	if !ofSession {
		f.Facts["key"] = "limits.max_cost_usd"
		return err
	}
	f.Facts["key"] = maxCostFlag
	run.SessionBudget.mu.Lock()
	defer run.SessionBudget.mu.Unlock()
	run.SessionBudget.exhausted = f
	return sessionBudgetSpent(f)
}

// sessionBudgetSpent interrupts the run: its request did not use up anything of its
// own, and goes on in the next session.
func sessionBudgetSpent(f *fault.Error) error {
	return &fault.Error{Code: fault.Interrupted, Facts: fault.Facts{}, Err: f}
}

// warnUncounted says once of a program that it does not tell what a limit needs.
func warnUncounted(run *Run, provider string, u *runs.Usage) {
	key := run.budget().Uncounted(u)
	if p := run.SessionBudget; key == "" && p != nil && p.Uncounted(u) != "" {
		key = maxCostFlag
	}
	if key == "" || run.uncounted[provider] {
		return
	}
	if run.uncounted == nil {
		run.uncounted = map[string]bool{}
	}
	run.uncounted[provider] = true
	run.Tell(Event{Kind: Warned, What: run.Words.Text("work.uncounted", fault.Facts{"name": provider, "key": key})})
}
