package stage

import (
	"math"
	"strconv"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/runs"
)

// Calls of several runs at once, each of which costs all that it was told, cost together
// what the session may; when that is used up, nobody is told anything more.
func TestSessionBudgetIsNeverOverdrawn(t *testing.T) {
	for _, jobs := range []int{1, 2, 3, 7} {
		p := &SessionBudget{Budget: runs.Budget{CostUSD: 10}, Since: time.Unix(100, 0), Jobs: jobs}
		stages, told := make([]*runs.Stage, jobs), make([]float64, jobs)
		for i := range stages {
			stages[i] = &runs.Stage{RunID: "RUN-" + strconv.Itoa(i)}
			old := 50.0 // of a session before this one
			stages[i].Attempts.Calls = []runs.RoleCall{{StartedAt: time.Unix(1, 0), Usage: &runs.Usage{CostUSD: &old}}}
		}
		for turn := range 400 {
			i := (turn * 5) % jobs // a call ends, the next one of its run begins
			if told[i] > 0 {
				cost := told[i]
				stages[i].Attempts.Calls = append(stages[i].Attempts.Calls, runs.RoleCall{StartedAt: time.Unix(200, 0), Usage: &runs.Usage{CostUSD: &cost}})
			}
			left, gone := p.reserve(stages[i])
			if told[i] = left; (left > 0) == (gone != nil) {
				t.Fatalf("%d at a time: told %v, %v", jobs, left, gone)
			}
			sum := 0.0
			for _, d := range told {
				sum += d
			}
			if used := p.Used(); used != nil {
				sum += *used.CostUSD
			}
			if sum > 10+float64(turn+1)*minUSD {
				t.Fatalf("%d at a time: %v after %d calls", jobs, sum, turn)
			}
		}
		for _, st := range stages {
			p.Record(st)
		}
		if gone := p.Exhausted(); jobs == 1 && (gone == nil || gone.Code != fault.BudgetExhausted || gone.Facts["key"] != "--max-cost") {
			t.Errorf("%v", gone)
		}
		if used := *p.Used().CostUSD; math.Abs(used-10) > 0.1 {
			t.Errorf("%d at a time: only %v was spent", jobs, used)
		}
	}
}
