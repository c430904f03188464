package main

import (
	"cmp"
	"fmt"
	"slices"

	"aiflow/cmd/internal/app"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// shown is how many reasons, and how many warnings, are told without --all.
const shown = 10

// line prints one line; on a terminal it does not run over the edge.
func (q *question) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if q.Terminal() {
		text = term.Truncate(text, term.Columns(q.Stdout))
	}
	q.Printf("%s\n", text)
}

// headline is "RQ-1 P0 title", safe to print.
func headline(id, priority, title string) string {
	return term.Escape(id + " " + cmp.Or(priority, "-") + " " + title)
}

func (q *question) printNext(r choose.Result) {
	if r.Next == nil {
		q.Printf("%s\n", q.nothing(r))
	} else { // whole, however long: what is next is what was asked
		q.Printf("%s\n", headline(r.Next.RequestID, r.Next.Priority, r.Next.Title))
		if base := r.Next.Base; base != "" { // not what is checked out
			q.line("%s", q.Text("next.base", "branch", base, "here", q.survey.Here()))
		}
		for _, o := range r.Next.StackedOn {
			q.line("%s", q.Text("next.stacked", "id", o.RequestID, "branch", o.Branch))
		}
	}
	switch h := r.Queue.Holder; {
	case h == nil && r.Queue.Locked:
		q.line("%s", q.Text("next.queue_unreadable"))
	case h != nil:
		q.line("%s", q.Text("next.queue_locked", "run_id", h.RunID, "pid", h.PID, "host", cmp.Or(h.Hostname, h.Host)))
	}
	if n := r.Stats.Runnable; n > 1 {
		q.line("%s", q.Text("next.more", "all", n))
	}
	q.printReasons(r)
	q.printProblems(r)
}

// printReasons tells why the sound ones cannot run now, what a person can act
// on first.
func (q *question) printReasons(r choose.Result) {
	list, rings, n := byUrgency(r.Excluded)
	if n == 0 {
		return
	}
	q.Printf("\n")
	if r.Next == nil {
		q.line("%s", q.Text("next.others_all"))
	} else {
		q.line("%s", q.Text("next.others", "count", n))
	}
	for _, e := range list {
		if e.Kind != "cycle" {
			continue
		}
		if ids := rings[e.Fact("ring")]; len(ids) > 1 { // its members share one line
			e.Detail = q.Text("next.ring", "ids", some(ids), "ring", e.Fact("ring"))
		}
	}
	reasons := app.Reasons(list, q.o.all)
	for i, r := range reasons {
		if i == shown && !q.o.all {
			q.Printf("  %s\n", q.Text("next.hidden", "count", len(reasons)-shown))
			break
		}
		q.Printf("  %s: %s\n", q.Paint(term.Dim, string(r.ReasonCode)), r.Text(q.Shell))
	}
	if e := list[0]; r.Next == nil && e.Obstacle() != nil { // its reason names no command
		q.Printf("\n%s\n", q.Text("next.steps_of", "id", e.RequestID))
	}
}

// byUrgency gives the reasons of the sound ones: what waits for a person, what
// goes on, what merely waits, what was never meant to run. Of the members of a
// ring only the first is in the list, rings has them all; n counts them all.
func byUrgency(excluded []choose.Exclusion) (list []*choose.Exclusion, rings map[string][]string, n int) {
	groups := make([][]*choose.Exclusion, len(urgency)+1)
	rings = map[string][]string{}
	for i := range excluded {
		e := &excluded[i]
		if e.ReasonCode == fault.RequestInvalidFormat || e.ReasonCode == fault.DuplicateID {
			continue
		}
		n++
		if e.Kind == "cycle" {
			ring := e.Fact("ring")
			rings[ring] = append(rings[ring], e.RequestID)
			if len(rings[ring]) > 1 {
				continue
			}
		}
		u := slices.Index(urgency[:], e.Kind) + 1
		groups[u] = append(groups[u], e)
	}
	return slices.Concat(groups...), rings, n
}

// urgency is the order of the reasons; one that is not named comes first.
var urgency = [...]string{
	"latest_done", "latest_landed", "latest_land_failed", "latest_needs_input", "not_ready_blocked", "depends_not_found", "cycle", "cycle_with", "kept", "base_missing", "base_unclear", "not_ready_done_in",
	"locked", "not_ready_running", "waits", "waits_chain", "not_ready_draft",
}

// printProblems tells what is wrong with files: what keeps one from running,
// then the first warnings.
func (q *question) printProblems(r choose.Result) {
	errors, left := q.errors(), app.MostCauses
	if len(errors) > 0 {
		q.Printf("\n")
		q.line("%s", q.Text("next.broken", "count", app.FilesOf(errors)))
		left -= q.printList(errors, app.MostCauses)
	}
	warnings := slices.DeleteFunc(slices.Clone(r.Warnings), func(p reqmeta.Problem) bool { return p.Code == fault.DependsCycle })
	if len(warnings) > 0 { // rings stand among the reasons
		q.Printf("\n")
		q.line("%s", q.Text("next.warnings", "count", app.FilesOf(warnings)))
		q.printList(warnings, max(0, min(left, shown)))
	}
}

func (q *question) errors() []reqmeta.Problem {
	var list []reqmeta.Problem
	for _, f := range q.survey.Folder.Flawed() {
		for _, p := range f.Problems {
			if p.Level == reqmeta.LevelError {
				list = append(list, p)
			}
		}
	}
	reqmeta.DescribeProblems(list, q.Catalog().Text)
	return list
}

// printList tells of problems, and gives the number of their causes.
func (q *question) printList(list []reqmeta.Problem, most int) int {
	causes, hidden := app.Problems(q.Shell, "  ", list, q.o.all, most)
	if hidden > 0 {
		q.Printf("  %s\n", q.Text("next.hidden_problems", "count", hidden))
	}
	return causes
}
