package runner

import (
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// maxCostFlag bounds a session.
const maxCostFlag = "--max-cost"

// purse is what a session may spend.
type purse struct {
	runs.Budget
	used *runs.Usage  // of the runs before the one in hand
	gone *fault.Error // nothing is left
}

// spent is Budget.Spent in the session's words.
func (p *purse) spent(u *runs.Usage) *fault.Error {
	f := p.Spent(u)
	if f != nil {
		f.Facts["key"] = maxCostFlag
	}
	return f
}

// budget is what the run may use.
func (j *job) budget() runs.Budget {
	l := j.Project.Config.Limits
	if j.unbounded {
		return runs.Budget{}
	}
	return runs.Budget{CostUSD: l.MaxCostUSD, Tokens: int64(l.MaxTokens)}
}

// inSession is what the session has used up to now.
func (j *job) inSession() *runs.Usage {
	used := j.opts.purse.used
	for _, c := range j.stage.Attempts.Calls[j.callsBefore:] {
		used = used.Add(c.Usage)
	}
	return used
}

// afford refuses a call where nothing is left to spend. Else call is told how
// much is; ofSession is that the session's end comes first.
func (j *job) afford(call *config.Call) (ofSession bool, err error) {
	used := j.stage.Usage()
	if f := j.budget().Spent(used); f != nil {
		return false, f
	}
	call.Budget = j.budget().LeftUSD(used)
	p := j.opts.purse
	if p == nil || p.CostUSD <= 0 {
		return false, nil
	}
	if p.gone = p.spent(j.inSession()); p.gone != nil {
		return true, outOfMoney(p.gone)
	}
	if left := p.LeftUSD(j.inSession()); call.Budget <= 0 || left < call.Budget {
		call.Budget = left
		return true, nil
	}
	return false, nil
}

// overdrawn is what it means that a program ended itself at the sum which it was
// told: err as it is, or the end of the session.
func (j *job) overdrawn(ofSession bool, call config.Call, err error) error {
	f, _ := fault.As(err)
	if call.Budget <= 0 || len(call.Command.BudgetArgs) == 0 || !fault.Has(err, fault.BudgetExhausted) {
		return err
	}
	if !ofSession {
		f.Facts["key"] = "limits.max_cost_usd"
		return err
	}
	f.Facts["key"] = maxCostFlag
	j.opts.purse.gone = f
	return outOfMoney(f)
}

// outOfMoney interrupts the run in hand: its request did not use up anything of its
// own, and goes on in the next session.
func outOfMoney(f *fault.Error) error {
	return &fault.Error{Code: fault.Interrupted, Facts: fault.Facts{}, Err: f}
}

// warnUncounted says once of a program that it does not tell what a limit needs.
func (j *job) warnUncounted(provider string, u *runs.Usage) {
	key := j.budget().Uncounted(u)
	if p := j.opts.purse; key == "" && p != nil && p.Uncounted(u) != "" {
		key = maxCostFlag
	}
	if key == "" || j.uncounted[provider] {
		return
	}
	if j.uncounted == nil {
		j.uncounted = map[string]bool{}
	}
	j.uncounted[provider] = true
	j.tell(Event{Kind: Warned, What: j.Words.Text("work.uncounted", fault.Facts{"name": provider, "key": key})})
}
