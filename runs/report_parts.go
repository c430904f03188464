package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/term"
)

func (w *reporter) head() {
	w.line("<!-- " + w.text("report.head", nil) + " -->")
	w.line("# " + inline(w.s.Title))
	w.line("")
	for _, f := range []struct{ name, value string }{
		{"request_id", w.s.RequestID},
		{"run_id", w.s.RunID},
		{"status", string(w.s.State)},
		{"started_at", stamp(&w.s.StartedAt)},
		{"finished_at", stamp(w.s.EndedAt)},
		{"base_branch", w.s.Git.BaseBranch},
		{"working_branch", w.s.Git.WorkBranch},
		{"replaces", w.s.Replaces},
		{"replaced_by", w.s.ReplacedBy},
		{"dropped_at", stamp(w.s.DroppedAt)},
	} {
		if f.value != "" {
			w.line("- " + f.name + ": " + inline(f.value))
		}
	}
	for _, on := range w.s.Git.StackedOn {
		w.line("- stacked_on: " + inline(on.RequestID) + " " + inline(on.Branch) + " " + term.ShortHash(on.Commit))
	}
	if l := w.s.Landed; l != nil {
		w.line("- landed: " + inline(l.Into) + " " + term.ShortHash(l.Commit) + " " + stamp(l.At))
	}
}

func (w *reporter) summary() {
	goal := w.s.Title
	if w.p != nil {
		goal = cmp.Or(w.p.Context.Summary, goal)
	}
	if goal != "" {
		w.item("report.summary.goal", fault.Facts{"value": goal})
	}
	w.item(resultKey(w.s.State), fault.Facts{"reason": w.s.ReasonCode()})
	if wait := w.s.Waits(); wait != nil {
		w.item("report.summary.waits", wait.Facts())
	}
	if e := w.s.Error; e != nil {
		w.line("- **" + inline(e.Title) + "** " + inline(e.Message))
		for q := range strings.Lines(e.Meta[fault.QuestionsFact]) { // what a role could not go on without
			w.item("report.summary.question", fault.Facts{"value": q})
		}
	}
	done, files, added, deleted := w.totals()
	w.item("report.summary.steps", fault.Facts{"value": strconv.Itoa(done), "allowed": strconv.Itoa(len(w.s.Steps))})
	if files > 0 {
		w.item("report.summary.size", fault.Facts{
			"files": strconv.Itoa(files), "added": strconv.Itoa(added), "deleted": strconv.Itoa(deleted),
		})
	}
	if u := w.s.Usage(); u != nil {
		w.item("report.summary.usage", u.Facts())
	}
	if w.s.HasEvent(EventOldSteps) {
		w.item("report.summary.old_steps", fault.Facts{"fresh": Fresh(w.s)})
	}
	for _, warned := range w.s.Warnings() {
		if warned != ChangedNothing { // which the step says
			w.item("report.warning", fault.Facts{"kind": w.text("work."+strings.ToLower(string(warned)), nil)})
		}
	}
	for _, f := range w.f.Findings {
		if !f.Fail {
			w.item(unusual[f.Kind], f.Facts)
		}
	}
}

// unusual are the sentences for what is allowed of a plan, and rarely wise.
var unusual = map[string]string{
	"many_steps":       "report.unusual.many_steps",
	"many_assumptions": "report.unusual.many_assumptions",
	"many_files":       "report.unusual.many_files",
}

func resultKey(s State) string {
	switch s {
	case Done:
		return "report.result.done"
	case NeedsInput:
		return "report.result.needs_input"
	case Failed:
		return "report.result.failed"
	}
	return "report.result.going_on"
}

func (w *reporter) totals() (done, files, added, deleted int) {
	for i := range w.s.Steps {
		p := &w.s.Steps[i]
		if p.Status.Settled() {
			done++
		}
		files += p.DiffStat.FilesChanged
		added += p.DiffStat.LinesAdded
		deleted += p.DiffStat.LinesDeleted
	}
	return done, files, added, deleted
}

func (w *reporter) criteria() {
	if w.p == nil || len(w.p.Context.AcceptanceCriteria) == 0 {
		w.say("report.criteria.none")
		return
	}
	for _, c := range w.p.Context.AcceptanceCriteria {
		text := criterionText(c)
		box := "[ ]"
		ticked, behind := tickOf(w.was, text)
		if ticked {
			box = "[x]"
		}
		w.line("- " + box + " " + text + behind)
	}
}

func criterionText(c Criterion) string {
	text := c.Text
	if text == "" {
		text = strings.TrimSpace(fmt.Sprintf("Given %s When %s Then %s", c.Given, c.When, c.Then))
	}
	return strings.TrimSpace(inline(c.ID + " " + text))
}

func (w *reporter) progress() {
	if len(w.s.Steps) == 0 {
		w.say("report.progress.none")
		return
	}
	w.say("report.progress.columns")
	w.line("|---|---|---|---|---|")
	for i := range w.s.Steps {
		p := &w.s.Steps[i]
		w.line(fmt.Sprintf("| %s | %s | %s | %d | %s |", p.StepID, inline(p.Title), p.Status, p.Attempt, w.note(p)))
	}
}

func (w *reporter) note(p *Step) string {
	note := w.ownNote(p)
	for _, n := range p.Notes {
		note = strings.TrimPrefix(note+"; "+inline(n), "; ")
	}
	return note
}

func (w *reporter) ownNote(p *Step) string {
	switch {
	case p.Error != nil:
		return inline(string(p.Error.ReasonCode) + " " + p.Error.Title)
	case p.Summary != "":
		return inline(p.Summary)
	}
	for _, c := range w.s.Git.Commits {
		if c.StepID == p.StepID {
			return term.ShortHash(c.Hash)
		}
	}
	return ""
}

func (w *reporter) evidence() {
	for _, c := range w.s.Git.Commits {
		w.line("- " + term.ShortHash(c.Hash) + " " + inline(c.Subject))
	}
	for _, path := range w.paths() {
		w.line("- " + code(path))
	}
	for _, l := range w.s.Artifacts.Left {
		w.item(l.Key(), l.Facts())
	}
	w.item("report.evidence.diff", fault.Facts{"run_id": w.s.RunID})
	if w.f.CompareURL != "" {
		w.line("- " + inline(w.f.CompareURL))
	}
}

// paths are those of all patches and logs, each once.
func (w *reporter) paths() []string {
	var all []string
	add := func(path string) {
		if !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	for _, path := range w.s.Artifacts.Patches {
		add(path)
	}
	for i := range w.s.Steps {
		p := &w.s.Steps[i]
		for _, path := range p.Logs {
			add(path)
		}
		for _, t := range []TestResult{p.Test.Unit, p.Test.E2E, p.Test.Static} {
			if t.LogPath != nil {
				add(*t.LogPath)
			}
		}
	}
	return all
}

func (w *reporter) gates() {
	rows := append(w.testGates(), w.f.Gates...)
	if len(rows) == 0 {
		w.say("report.gates.none")
		return
	}
	w.say("report.gates.columns")
	w.line("|---|---|---|")
	for _, g := range rows {
		w.line("| " + inline(g.Name) + " | " + string(g.Status) + " | " + inline(g.Note) + " |")
	}
}

// testGates are the tests of all steps that were asked for.
func (w *reporter) testGates() []Gate {
	var rows []Gate
	for i := range w.s.Steps {
		p := &w.s.Steps[i]
		for _, t := range []struct {
			name string
			r    TestResult
		}{{"unit", p.Test.Unit}, {"e2e", p.Test.E2E}, {"static", p.Test.Static}} {
			if t.r.Status == TestNotRun || t.r.Status == "" {
				continue
			}
			shown := t.r.Status
			if t.r.Warning {
				shown = testWarn
			}
			rows = append(rows, Gate{Name: p.StepID + " " + t.name, Status: shown, Note: testNote(t.r)})
		}
		if p.QA != nil {
			rows = append(rows, Gate{Name: p.StepID + " qa", Status: p.QA.Status, Note: p.QA.Summary})
		}
	}
	if slices.Contains(w.s.Warnings(), NoTestRan) {
		rows = append(rows, Gate{Name: w.text("report.gates.tests", nil), Status: testWarn, Note: w.text(NoTestRan.Key(), nil)})
	}
	return rows
}

// testWarn is what the report shows of a gate that stops nothing.
const testWarn TestStatus = "WARN"

// findings lists what qa found, grave or not.
func (w *reporter) findings() {
	for i := range w.s.Steps {
		p := &w.s.Steps[i]
		if p.QA == nil {
			continue
		}
		for _, issue := range p.QA.Issues {
			w.line("- " + p.StepID + " **" + inline(issue.Severity) + "** " + issue.place() + inline(issue.Description))
		}
		for _, t := range p.QA.Tests {
			w.item("report.findings.test", fault.Facts{"step_id": p.StepID, "value": t})
		}
	}
	w.say("report.findings.how")
}

func (i Issue) place() string {
	switch {
	case i.File == "":
		return ""
	case i.Line > 0:
		return code(i.File+":"+strconv.Itoa(i.Line)) + " "
	}
	return code(i.File) + " "
}

func testNote(r TestResult) string {
	var notes []string
	if r.Command != nil {
		notes = append(notes, *r.Command)
	}
	if r.DurationMS != nil {
		notes = append(notes, fmt.Sprintf("%.1f s", float64(*r.DurationMS)/1000))
	}
	if r.FailedSummary != nil {
		notes = append(notes, *r.FailedSummary)
	}
	return strings.Join(notes, ", ")
}

func (w *reporter) safety() {
	w.item("report.safety.scope", fault.Facts{"branch": w.s.Git.WorkBranch})
	if w.s.Git.WorkBranch != "" && w.s.ReplacedBy == "" && w.s.DroppedAt == nil {
		w.item("report.safety.drop", fault.Facts{"run_id": w.s.RunID})
		w.item("report.safety.revert", nil)
		if n := len(w.s.Git.Commits); n > 0 {
			w.item("report.safety.revert_range", fault.Facts{"base": w.s.Git.BaseCommit, "commit": w.s.Git.Commits[n-1].Hash})
		}
	}
}

func (w *reporter) next() {
	switch {
	case w.s.DroppedAt != nil:
		w.item("report.next.dropped", fault.Facts{"ref": "refs/aiflow/attempts/" + w.s.RunID})
	case w.s.ReplacedBy != "" && w.s.Error == nil:
		w.item("report.next.replaced", fault.Facts{"run_id": w.s.ReplacedBy})
	case w.s.Error != nil:
		if w.s.ReplacedBy == "" {
			w.item("report.next.now", fault.Facts{"run_id": w.s.RunID})
		}
		for i, a := range w.s.Error.Actions {
			w.line(strconv.Itoa(i+1) + ". " + command(a))
		}
	case w.s.State == Done:
		w.nextAfterDone()
	default:
		w.item("report.next.going_on", fault.Facts{"run_id": w.s.RunID})
	}
}

func (w *reporter) nextAfterDone() {
	w.item("report.next.look", fault.Facts{"run_id": w.s.RunID})
	if w.f.Stale != "" {
		w.item("report.next.stale", fault.Facts{"on": w.f.Stale, "run_id": w.s.RunID})
		w.f.MergeCommand = ""
	}
	for _, c := range []struct{ key, command string }{
		{"report.next.merge", w.f.MergeCommand}, {"report.next.push", w.f.PushCommand},
	} {
		if c.command != "" {
			w.line("- " + w.text(c.key, nil) + " " + code(c.command))
		}
	}
	if w.f.CompareURL != "" {
		w.line("- " + w.text("report.next.compare", nil) + " " + inline(w.f.CompareURL))
	}
	w.item("report.next.reject", fault.Facts{"run_id": w.s.RunID})
}

// history lists what made the run more than one straight way.
func (w *reporter) history() {
	var rows []string
	for i := range w.s.History {
		if e := &w.s.History[i]; w.worthTelling(i) {
			row := "- " + e.At.Format(reportTimeForm) + " " + e.Event
			for _, s := range []string{e.StepID, e.ReasonCode} {
				if s != "" && s != e.Event {
					row += " " + inline(s)
				}
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return
	}
	w.line("## " + w.text("report.heading.history", nil))
	w.line("")
	for _, r := range rows {
		w.line(r)
	}
}

func (w *reporter) worthTelling(i int) bool {
	e := w.s.History[i]
	switch e.Event {
	case EventNeedsInput, EventFailed, EventRetry, EventResumed, EventReplanned, EventOldSteps, EventWentBack, EventInterrupted,
		EventStopRequested, EventLockRecovered, EventRebuilt:
		return true
	case EventStepStart:
		for _, before := range w.s.History[:i] {
			if before.Event == EventStepStart && before.StepID == e.StepID {
				return true
			}
		}
	}
	return false
}
