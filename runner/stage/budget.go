package stage

import (
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// maxCostFlag bounds a session.
const maxCostFlag = "--max-cost"

// Purse is what a session may spend.
type Purse struct {
	runs.Budget
	Used *runs.Usage  // of the runs before the one in hand
	Gone *fault.Error // nothing is left
}

// Exhausted is Budget.Spent in the session's words.
func (p *Purse) Exhausted(u *runs.Usage) *fault.Error {
	f := p.Spent(u)
	if f != nil {
		f.Facts["key"] = maxCostFlag
	}
	return f
}

// budget is what the run may use.
func (run *Run) budget() runs.Budget {
	l := run.Project.Config.Limits
	if run.Unbounded {
		return runs.Budget{}
	}
	return runs.Budget{CostUSD: l.MaxCostUSD, Tokens: int64(l.MaxTokens)}
}

// inSession is what the session has used up to now.
func inSession(run *Run) *runs.Usage {
	used := run.Purse.Used
	for _, c := range run.Stage.Attempts.Calls[run.callsBefore:] {
		used = used.Add(c.Usage)
	}
	return used
}

// afford refuses a call where nothing is left to spend. Else call is told how
// much is; ofSession is that the session's end comes first.
func afford(run *Run, call *config.Call) (ofSession bool, err error) {
	used := run.Stage.Usage()
	if f := run.budget().Spent(used); f != nil {
		return false, f
	}
	call.Budget = run.budget().LeftUSD(used)
	p := run.Purse
	if p == nil || p.CostUSD <= 0 {
		return false, nil
	}
	if p.Gone = p.Exhausted(inSession(run)); p.Gone != nil {
		return true, outOfMoney(p.Gone)
	}
	if left := p.LeftUSD(inSession(run)); call.Budget <= 0 || left < call.Budget {
		call.Budget = left
		return true, nil
	}
	return false, nil
}

// overdrawn is what it means that a program ended itself at the sum which it was
// told: err as it is, or the end of the session.
func overdrawn(run *Run, ofSession bool, call config.Call, err error) error {
	f, _ := fault.As(err)
	if call.Budget <= 0 || len(call.Command.BudgetArgs) == 0 || !fault.Has(err, fault.BudgetExhausted) {
		return err
	}
	if !ofSession {
		f.Facts["key"] = "limits.max_cost_usd"
		return err
	}
	f.Facts["key"] = maxCostFlag
	run.Purse.Gone = f
	return outOfMoney(f)
}

// outOfMoney interrupts the run in hand: its request did not use up anything of its
// own, and goes on in the next session.
func outOfMoney(f *fault.Error) error {
	return &fault.Error{Code: fault.Interrupted, Facts: fault.Facts{}, Err: f}
}

// warnUncounted says once of a program that it does not tell what a limit needs.
func warnUncounted(run *Run, provider string, u *runs.Usage) {
	key := run.budget().Uncounted(u)
	if p := run.Purse; key == "" && p != nil && p.Uncounted(u) != "" {
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
