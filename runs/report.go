package runs

import (
	"strconv"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/term"
)

// Text gives a sentence by its key; faces pass it in.
type Text func(key string, facts fault.Facts) string

// ReportFacts are the particulars that neither stage nor plan knows.
type ReportFacts struct {
	CompareURL   string
	PushCommand  string
	MergeCommand string
	Stale        string // the request on which the run stands and that changed since: it is not to be merged as it is
	Gates        []Gate
	Findings     []Finding
}

// Gate is a line of the report's quality gates.
type Gate struct {
	Name   string
	Status TestStatus
	Note   string
}

// The parts of a report: what stands above the sections, D37's nine sections,
// and the retry history at the bottom.
const (
	partHead       = 0
	partSummary    = 1
	partCriteria   = 2
	partTestLog    = 3
	partProgress   = 4
	partEvidence   = 5
	partGates      = 6
	partSafety     = 7
	partFindings   = 8
	partNext       = 9
	partHistory    = 10
	numberOfParts  = 11
	reportTimeForm = time.RFC3339
)

// Report is report.md: D37's nine sections and the retry history. What the
// tool writes stands between marks and is written anew each time; what a
// person wrote outside of them, and the ticks of the acceptance criteria, are
// taken over from old ("" at the beginning).
func Report(s *Stage, p *Plan, f ReportFacts, old string, text Text) string {
	was := parseReport(old)
	w := &reporter{s: s, p: p, f: f, text: text, was: was[partCriteria].ours}
	var b strings.Builder
	for n := range numberOfParts {
		ours := w.part(n)
		theirs := was[n].theirs
		if n == partCriteria {
			theirs = linesBetween(was[n].ours, ours, text("report.criteria.none", nil)) + theirs
		}
		if form := reportParts[n].form; form != "" && !was[n].found {
			theirs += text(form, nil) + "\n"
		}
		if ours == "" && theirs == "" {
			continue
		}
		writePart(&b, n, ours, theirs)
	}
	return b.String()
}

// RenderReport writes the report anew and keeps what a person wrote.
func (d *Dir) RenderReport(s *Stage, p *Plan, f ReportFacts, text Text) error {
	old, err := d.LoadReport()
	if err != nil {
		return err
	}
	now := Report(s, p, f, old, text)
	if now == old {
		return nil
	}
	return d.SaveReport(now)
}

// reporter writes the tool's part of each section.
type reporter struct {
	s    *Stage
	p    *Plan
	f    ReportFacts
	text Text
	was  string // the acceptance criteria as they are now
	b    strings.Builder
}

// reportParts are the parts of a report in order: the heading, what a person finds there to
// fill in, which is written once, and what the tool writes.
var reportParts = [numberOfParts]struct {
	heading, form string
	write         func(*reporter)
}{
	partHead:     {write: (*reporter).head},
	partSummary:  {heading: "report.heading.summary", write: (*reporter).summary},
	partCriteria: {heading: "report.heading.criteria", write: (*reporter).criteria},
	partTestLog:  {heading: "report.heading.testlog", form: "report.testlog.form", write: func(w *reporter) { w.say("report.testlog.how") }},
	partProgress: {heading: "report.heading.progress", write: (*reporter).progress},
	partEvidence: {heading: "report.heading.evidence", write: (*reporter).evidence},
	partGates:    {heading: "report.heading.gates", write: (*reporter).gates},
	partSafety:   {heading: "report.heading.safety", form: "report.safety.form", write: (*reporter).safety},
	partFindings: {heading: "report.heading.findings", form: "report.findings.form", write: (*reporter).findings},
	partNext:     {heading: "report.heading.next", write: (*reporter).next},
	partHistory:  {write: (*reporter).history}, // whose heading stands only where there is any
}

func (w *reporter) part(n int) string {
	w.b.Reset()
	p := reportParts[n]
	if p.heading != "" {
		w.line("## " + strconv.Itoa(n) + ". " + w.text(p.heading, nil))
		w.line("")
	}
	p.write(w)
	return w.b.String()
}

func (w *reporter) line(s string) {
	w.b.WriteString(s)
	w.b.WriteByte('\n')
}

func (w *reporter) say(key string) { w.line(w.text(key, nil)) }

func (w *reporter) item(key string, facts fault.Facts) { w.line("- " + w.text(key, safeFacts(facts))) }

func safeFacts(facts fault.Facts) fault.Facts {
	safe := fault.Facts{}
	for k, v := range facts {
		safe[k] = inline(v)
	}
	return safe
}

// inline makes foreign text fit into a line or a cell of markdown: it cannot
// begin a line, end a cell, be a tag, or be one of our marks.
func inline(s string) string { return cells.Replace(oneLine(s)) }

var cells = strings.NewReplacer("|", `\|`, "<", "&lt;")

func oneLine(s string) string { return term.Escape(strings.Join(strings.Fields(s), " ")) }

// command is a sentence of ours, code spans and all; only the marks are kept
// out of it.
func command(s string) string { return strings.ReplaceAll(oneLine(s), "<!--", "&lt;!--") }

// code is foreign text as it is, in backticks that it cannot close.
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	s = oneLine(s)
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Format(reportTimeForm)
}
