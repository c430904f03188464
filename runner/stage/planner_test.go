package stage

import (
	"slices"
	"testing"

	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/runs"
)

func TestTranslate(t *testing.T) {
	run := planned(t)
	a, err := contract.Read("planner", `{"version":"1.0","role":"planner","status":"ok","summary":"s",
		"risks":[{"description":"none"}],
		"planning":{"acceptance_criteria":[{"id":"AC-02","given":"g","when":"w","then":"t","type":"regression"},{"id":"AC-07","text":"also"}],
		"steps":[{"id":"S01","title":"One","gates":{"unit":false,"static":false,"e2e":true},"targets":{"paths":["a"],"globs":["b/*"]}},
		         {"id":"S02","title":"Two","constraints":{"max_diff_lines":30,"max_files":2},"links_to_ac":["AC-01"]}]}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	run.Project.Config.Tests.Unit.Enabled = true
	p := planFromAnswer(run, a)
	if found := runs.Err(p.Check()); found != nil {
		t.Fatal(found)
	}
	if p.Source != runs.SourcePlanner || p.Context.Summary != "Make it blue" || !slices.Equal(p.Risks, []string{"none"}) {
		t.Errorf("%+v", p)
	}
	ac := p.Context.AcceptanceCriteria
	if len(ac) != 4 || ac[1].Text != "it stays blue" || ac[1].Then != "t" || ac[1].Type != "regression" || ac[3].Text != "also" {
		t.Errorf("%+v", ac)
	}
	one, two := p.Steps[0], p.Steps[1]
	if !one.Gates.Unit || !one.Gates.E2E || one.Gates.Static || !slices.Equal(one.Scope.TargetPaths, []string{"a", "b/*"}) || one.Intent != "One" {
		t.Errorf("%+v", one)
	}
	if two.Scope.MaxDiffLines != 30 || two.ExpectedDiff.LinesMax != 30 || two.Scope.MaxFilesChanged != 2 || two.Gates.E2E ||
		two.Outputs.PatchPath != "patches/S02.patch" || two.Outputs.LogPrefix != "logs/step-2" || !slices.Equal(two.LinksToAC, []string{"AC-01"}) {
		t.Errorf("%+v", two)
	}
}

func TestPlansThatAreNone(t *testing.T) {
	run := planned(t)
	for steps, want := range map[string]fault.Code{
		`{"id":"S01","title":"a"},{"id":"S01","title":"b"}`:             fault.JSONSchemaInvalid,
		`{"id":"S01","title":"a","constraints":{"max_diff_lines":401}}`: fault.StepTooLarge,
		`{"id":"S01","title":"a","constraints":{"max_diff_lines":400}}`: "",
	} {
		a, err := contract.Read("planner", `{"version":"1.0","role":"planner","status":"ok","summary":"s","planning":{"steps":[`+steps+`]}}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fault.CodeOf(runs.Err(planFromAnswer(run, a).Check())); got != want {
			t.Errorf("%s: %s", steps, got)
		}
	}
}
