package main

import (
	"strings"

	"aiflow/internal/fault"
	"aiflow/reqmeta/choose"
)

// nothing is the sentence for a queue in which nothing can run: why, in total.
func (q *question) nothing(r choose.Result) string {
	switch {
	case r.Stats.Total == 0:
		return q.Text("next.nothing_there", "dir", q.p.RequestsDir())
	case len(r.Excluded) == 0:
		return q.Text("next.nothing_left", "count", r.Stats.Total)
	}
	return q.Text("next.nothing", "count", r.Stats.Total, "reasons", strings.Join(q.totals(r), ", "))
}

// totals says how many there are of each reason, the most urgent first.
func (q *question) totals(r choose.Result) []string {
	n := map[string]int{"over": r.Stats.Total - len(r.Excluded) - r.Stats.Runnable}
	for i := range r.Excluded {
		n[total(&r.Excluded[i])]++
	}
	var list []string
	for _, kind := range []string{"broken", "unmerged", "land_failed", "stale", "needs_input", "blocked", "kept", "running", "missing", "cycle", "waiting", "draft", "over"} {
		if n[kind] > 0 {
			list = append(list, q.Text("next.total_"+kind, "count", n[kind]))
		}
	}
	return list
}

func total(e *choose.Exclusion) string {
	switch {
	case e.Kind == "locked":
		return "running"
	case e.Obstacle() != nil:
		return "kept"
	case e.Kind == "latest_stale":
		return "stale"
	case e.Kind == "latest_land_failed":
		return "land_failed"
	}
	switch e.ReasonCode {
	case fault.RequestInvalidFormat, fault.DuplicateID:
		return "broken"
	case fault.LatestRunDone:
		return "unmerged"
	case fault.LatestRunNeedsInput:
		return "needs_input"
	case fault.DependsNotFound:
		return "missing"
	case fault.DependsCycle:
		return "cycle"
	case fault.DependsNotDone:
		return "waiting"
	}
	return strings.TrimPrefix(e.Kind, "not_ready_") // draft, blocked, running
}
