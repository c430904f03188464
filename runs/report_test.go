package runs

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

// words is a language that shows which key and which facts were asked for.
func words(key string, facts fault.Facts) string {
	var parts []string
	for k, v := range facts {
		parts = append(parts, k+"="+v)
	}
	sort.Strings(parts)
	return strings.Join(append([]string{key}, parts...), " ")
}

func other(key string, facts fault.Facts) string { return "別の言葉 " + words(key, facts) }

func planWithCriteria() *Plan {
	p := planOf(3)
	p.Context.AcceptanceCriteria = []Criterion{
		{ID: "AC-01", Text: "it works"},
		{ID: "AC-02", Given: "a", When: "b", Then: "c | <d>"},
		{ID: "AC-1", Text: "it works"},
		{ID: "AC-1", Text: "it works well"},
	}
	return p
}

func TestReportHasNineSectionsFromTheBeginning(t *testing.T) {
	got := Report(NewStage(reqID, runID, "A title", t0), nil, ReportFacts{}, "", words)
	at := -1
	for n := 1; n <= 9; n++ {
		i := strings.Index(got, fmt.Sprintf("\n## %d. %s\n", n, reportParts[n].heading))
		if i <= at {
			t.Errorf("section %d is missing or out of order", n)
		}
		at = i
	}
	if strings.Contains(got, "report.heading.history") {
		t.Error("a history before anything was retried")
	}
	for _, want := range []string{"- request_id: RQ-1\n", "- run_id: " + runID + "\n", "- status: INIT\n", "- started_at: 2026-11-27T14:32:55Z\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestReportIsTheSameWhenNothingChanged(t *testing.T) {
	s := stopped(t, fault.UnitTestFailed)
	first := Report(s, planWithCriteria(), ReportFacts{}, "", words)
	if second := Report(s, planWithCriteria(), ReportFacts{}, first, words); second != first {
		t.Errorf("it changed:\n%s\n----\n%s", first, second)
	}
}

func edit(t *testing.T, text, old, new string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q is there %d times in\n%s", old, strings.Count(text, old), text)
	}
	return strings.Replace(text, old, new, 1)
}

func TestReportKeepsTicksNotesAndSections(t *testing.T) {
	s, p := stageAt(t, 2), planWithCriteria()
	text := Report(s, p, ReportFacts{}, "", words)
	text = edit(t, text, "- [ ] AC-01 it works\n", "- [X] AC-01 it works (slowly)\n  - on Safari too\n")
	text = edit(t, text, "- [ ] AC-1 it works well\n", "* [x] AC-1 it works well\n")
	text = edit(t, text, "report.testlog.form\n", "- Tester: Aki\n\n```\n<!-- aiflow:3 -->\n## 4. pasted\n<!-- /aiflow:9 -->\n```\n- [x] OK\n")
	text = edit(t, text, "report.findings.form\n", "- Reason: too slow\n\n## My own heading\nmore\n")
	text = edit(t, text, closeMark(partSummary)+"\n", closeMark(partSummary)+"\n\nA note below the summary.\n")
	text = "Something above everything\n" + text

	must(t, s.Fail(at(30), NewError(fault.New(fault.UnitTestFailed))))
	now := Report(s, p, ReportFacts{}, text, words)
	now = Report(s, p, ReportFacts{}, now, other)
	for _, want := range []string{
		"- [x] AC-01 it works (slowly)\n",
		"  - on Safari too\n",
		"- [x] AC-1 it works well\n",
		"- [ ] AC-1 it works\n",
		"- [ ] AC-02 Given a When b Then c \\| &lt;d>\n",
		"- Tester: Aki\n\n```\n<!-- aiflow:3 -->\n## 4. pasted\n<!-- /aiflow:9 -->\n```\n- [x] OK\n",
		"- Reason: too slow\n\n## My own heading\nmore\n",
		"A note below the summary.\n",
		"Something above everything\n",
		"- status: NEEDS_INPUT\n",
		"## 4. 別の言葉 report.heading.progress\n",
	} {
		if strings.Count(now, want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(now, want))
		}
	}
	if strings.Contains(now, "testlog.form") || strings.Contains(now, "findings.form") {
		t.Error("the form came back")
	}
	if t.Failed() {
		t.Log(now)
	}
}

func TestReportWithoutItsMarksLosesNothing(t *testing.T) {
	s, p := stageAt(t, 2), planWithCriteria()
	full := Report(s, p, ReportFacts{}, "", words)
	for _, line := range strings.SplitAfter(full, "\n") {
		if _, _, isMark := parseMark(line); !isMark {
			continue
		}
		cut := strings.Replace(edit(t, full, "report.testlog.form\n", "my log\n"), line, "", 1)
		if now := Report(s, p, ReportFacts{}, cut, words); !strings.Contains(now, "my log\n") {
			t.Errorf("without %q the log is lost", line)
		}
	}
	for _, old := range []string{"just my text", "\n\n", "<!-- aiflow:99 -->\nx\n", "<!-- aiflow:7 -->\nx"} {
		now := Report(s, p, ReportFacts{}, old, words)
		if want := strings.TrimSpace(old); !strings.Contains(now, strings.TrimSpace(want[strings.LastIndex(want, "\n")+1:])) {
			t.Errorf("%q is lost in\n%s", old, now)
		}
	}
}

func TestHostileTextStaysInItsLine(t *testing.T) {
	s := NewStage(reqID, runID, "T\n<!-- /aiflow:0 -->\n# x \x1b[2J <script>", t0)
	p := planOf(1)
	p.Steps[0].Title = "a | b\n| c |\n<!-- aiflow:9 -->"
	s.SetPlan(p, t0)
	e := NewError(fault.New(fault.UnitTestFailed))
	e.Title, e.Message, e.Actions = "t", "m\n<!-- aiflow:3 -->", []string{"type `aiflow request set <ID>` \n<!-- aiflow:3 -->"}
	must(t, s.Fail(at(1), e))
	got := Report(s, p, ReportFacts{}, "", words)
	if strings.Contains(got, "\x1b") || strings.Contains(got, "<script") {
		t.Error("control characters or tags got through")
	}
	marks := 0
	for line := range strings.Lines(got) {
		if _, _, isMark := parseMark(line); isMark {
			marks++
		}
	}
	if marks != 2*numberOfParts || strings.Count(got, "<!-- aiflow:") != numberOfParts {
		t.Errorf("%d marks in\n%s", marks, got)
	}
	for _, want := range []string{`| S01 | a \| b \| c \| &lt;!-- aiflow:9 --> | PENDING | 0 |`, "1. type `aiflow request set <ID>` &lt;!-- aiflow:3 -->\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestRetryHistoryStandsAtTheBottom(t *testing.T) {
	s := stopped(t, fault.UnitTestFailed)
	again(t, s, fault.E2ETestFailed)
	got := Report(s, planOf(3), ReportFacts{}, "", words)
	_, bottom, _ := strings.Cut(got, "## report.heading.history\n\n")
	want := "- 2026-11-27T14:33:25Z NEEDS_INPUT S02 UNIT_TEST_FAILED\n" +
		"- 2026-11-27T14:33:35Z STEP_START S02\n" +
		"- 2026-11-27T14:33:36Z NEEDS_INPUT S02 E2E_TEST_FAILED\n" +
		closeMark(partHistory) + "\n\n"
	if bottom != want {
		t.Errorf("got\n%s", bottom)
	}
}

func TestReportOfAFinishedRun(t *testing.T) {
	s := stageAt(t, 3)
	s.Git.WorkBranch, s.Git.BaseBranch = "aiflow/RQ-1/x", "main"
	cmd, log, ms := "go test ./...", "runs/RQ-1/r/logs/tests/unit.S03.attempt1.log", int64(1234)
	s.Steps[2].Test.Unit = TestResult{Status: TestPass, Command: &cmd, LogPath: &log, DurationMS: &ms}
	s.Steps[2].DiffStat = DiffStat{FilesChanged: 2, LinesAdded: 10, LinesDeleted: 3}
	must(t, s.Finish(at(50), ""))
	must(t, s.Move(Reporting, at(51)))
	must(t, s.Complete(at(52)))
	got := Report(s, planOf(3), ReportFacts{MergeCommand: "git merge aiflow/RQ-1/x", CompareURL: "https://x/compare/a...b"}, "", words)
	for _, want := range []string{
		"- finished_at: 2026-11-27T14:33:47Z\n",
		"- report.result.done reason=\n",
		"- report.summary.steps allowed=3 value=3\n",
		"- report.summary.size added=10 deleted=3 files=2\n",
		"| S01 | step 1 | DONE | 1 | c1 |\n",
		"- `" + log + "`\n",
		"| S03 unit | PASS | go test ./..., 1.2 s |\n",
		"- report.next.merge `git merge aiflow/RQ-1/x`\n",
		"- report.safety.drop run_id=RUN-",
		"- report.safety.revert\n- report.safety.revert_range base=",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestCodeSpan(t *testing.T) {
	for in, want := range map[string]string{"a": "`a`", "a`b": "`` a`b ``", "a``b": "``` a``b ```", "a\nb": "`a b`"} {
		if got := code(in); got != want {
			t.Errorf("code(%q) = %s", in, got)
		}
	}
}

func FuzzReportKeeps(f *testing.F) {
	f.Add("my text", 3)
	f.Add("<!-- aiflow:5 -->", 8)
	f.Add("- [x] AC-01 it works", 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		s, p := NewStage(reqID, runID, "A title", t0), planWithCriteria()
		full := Report(s, p, ReportFacts{}, "", words)
		n = max(n, -n) % numberOfParts
		if n < 0 {
			n = 0
		}
		mine := strings.Replace(full, closeMark(n)+"\n", closeMark(n)+"\n"+text+"\n", 1)
		if mine == full {
			t.Skip("no such part yet")
		}
		now := Report(s, p, ReportFacts{}, mine, words)
		for line := range strings.Lines(text) {
			if _, _, isMark := parseMark(line); !isMark && !strings.Contains(now, strings.TrimSpace(line)) {
				t.Errorf("%q is lost in\n%s", line, now)
			}
		}
		if twice := Report(s, p, ReportFacts{}, now, words); twice != now {
			t.Errorf("not the same twice:\n%q\n%q", now, twice)
		}
	})
}

func TestFindings(t *testing.T) {
	form := "- Reason:\n- Smallest mend:"
	report := Report(NewStage(reqID, runID, "A title", t0), nil, ReportFacts{}, "", func(key string, _ fault.Facts) string {
		if key == "report.findings.form" {
			return form
		}
		return key
	})
	if got := Findings(report, form); got != "" {
		t.Errorf("the empty form: %q", got)
	}
	report = strings.Replace(report, "- Reason:", "- Reason: too long\nand dull", 1)
	if got, want := Findings(report, form), "- Reason: too long\nand dull"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Findings("", form); got != "" {
		t.Errorf("no report: %q", got)
	}
}

func closeMark(n int) string { return fmt.Sprintf("<!-- /aiflow:%d -->", n) }
