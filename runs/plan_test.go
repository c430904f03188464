package runs

import (
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func TestPlanRules(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(p *Plan)
		want  []string
	}{
		"fine":             {func(p *Plan) {}, nil},
		"no steps":         {func(p *Plan) { p.Steps = nil }, []string{"FAIL JSON_SCHEMA_INVALID missing steps"}},
		"step id":          {func(p *Plan) { p.Steps[1].StepID = "two" }, []string{"FAIL JSON_SCHEMA_INVALID step_id step_id"}},
		"step id twice":    {func(p *Plan) { p.Steps[1].StepID = "S01" }, []string{"FAIL JSON_SCHEMA_INVALID step_twice step_id"}},
		"expected lines":   {func(p *Plan) { p.Steps[0].ExpectedDiff.LinesMax = 401 }, []string{"FAIL STEP_TOO_LARGE step_lines "}},
		"scope lines":      {func(p *Plan) { p.Steps[0].Scope.MaxDiffLines = 401 }, []string{"FAIL STEP_TOO_LARGE step_lines "}},
		"lines at limit":   {func(p *Plan) { p.Steps[0].Scope.MaxDiffLines = 400 }, nil},
		"planner, no AC":   {func(p *Plan) { p.Source = SourcePlanner }, []string{"FAIL AC_TOO_FEW criteria "}},
		"planner, 3 AC":    {func(p *Plan) { p.Source, p.Context.AcceptanceCriteria = SourcePlanner, make([]Criterion, 3) }, nil},
		"many files":       {func(p *Plan) { p.Steps[0].ExpectedDiff.FilesMax = 11 }, []string{"WARN  many_files "}},
		"many steps":       {func(p *Plan) { p.Steps = planOf(11).Steps }, []string{"WARN  many_steps "}},
		"many assumptions": {func(p *Plan) { p.Assumptions = make([]string, 9) }, []string{"WARN  many_assumptions "}},
		"just enough": {func(p *Plan) {
			p.Steps, p.Assumptions = planOf(10).Steps, make([]string, 8)
			p.Steps[0].ExpectedDiff.FilesMax = 10
		}, nil},
	} {
		p := planOf(2)
		tc.spoil(p)
		var got []string
		for _, f := range p.Check() {
			level := "WARN "
			if f.Fail {
				level = "FAIL "
			} else if report := Report(NewStage(reqID, runID, "A title", t0), nil, ReportFacts{Findings: []Finding{f}}, "", words); !strings.Contains(report, "- report.unusual."+f.Kind+" allowed=") {
				t.Errorf("%s: no sentence in the report:\n%s", name, report)
			}
			got = append(got, level+string(f.Code)+" "+f.Kind+" "+f.Facts["key"])
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if err := Err(p.Check()); (err != nil) != (len(tc.want) > 0 && tc.want[0][0] == 'F') {
			t.Errorf("%s: Err gives %v", name, err)
		}
	}
	if f, _ := fault.As(Err([]Finding{{}, {Fail: true, Code: fault.ACTooFew, Kind: "criteria", Facts: fault.Facts{"value": "1"}}})); f.Code != fault.ACTooFew || f.Facts["value"] != "1" || f.Facts["reason"] != "criteria" {
		t.Errorf("%v", f)
	}
}
