package runner

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/internal/prompts"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

const request = `---
title: Make it blue
status: ready
---
Say {{role}} as it is.
## Acceptance criteria
- [ ] AC-01: it is blue
- [ ] AC-02: it stays blue
- [ ] AC-03: nothing else is blue
`

// planned is a job that has a plan of one step and no workspace.
func planned(t *testing.T) *job {
	t.Helper()
	dir := t.TempDir()
	p := &project.Project{Root: project.Root{Dir: dir}, Config: config.Default()}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	j := &job{
		Runner: &Runner{Project: p, Words: Words{Text: func(key string, _ fault.Facts) string { return key }}},
		req:    reqmeta.Parse("requests/RQ-1.md", []byte(request)),
		text:   []byte(request),
		stage:  runs.NewStage("RQ-1", "RUN-20260102-030405-abcdef", "Make it blue", now),
		dir:    runs.OpenDir(atomicfile.OS{}, dir, "runs", "RQ-1", "RUN-20260102-030405-abcdef", func() string { return "x" }),
	}
	j.stage.Git.BaseBranch, j.stage.Git.Workspace = "main", ".aiflow/worktrees/RQ-1"
	j.plan = planOf(j.stage, j.req, j.text, p.Config)
	j.stage.SetPlan(j.plan, now)
	return j
}

func (j *job) ask1(t *testing.T, role, mode, failure string) string {
	t.Helper()
	q := question{role: role, failure: failure}
	if role != config.RolePlanner {
		q.step, q.plan = &j.stage.Steps[0], &j.plan.Steps[0]
	}
	text, err := j.prompt(t.Context(), q, config.Call{Role: role, Provider: "p", Command: config.Command{Mode: mode}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var placeRE = regexp.MustCompile(`\{\{[a-z0-9_]+\}\}`)

// Every place of the shipped texts has a value, and what a request says is not
// taken for a place.
func TestShippedPromptsAreFilled(t *testing.T) {
	for _, lang := range []string{"ja", "en"} {
		for _, role := range []string{config.RolePlanner, config.RoleImplementer, config.RoleQA} {
			for _, mode := range []string{config.ModeEdit, config.ModePatch} {
				j := planned(t)
				j.Words.Lang = lang
				got := placeRE.FindAllString(j.ask1(t, role, mode, "broken"), -1)
				if !slices.Equal(got, []string{"{{role}}"}) {
					t.Errorf("%s %s %s: %v", lang, role, mode, got)
				}
			}
		}
	}
}

func TestPromptSaysHow(t *testing.T) {
	j := planned(t)
	edit, patch := j.ask1(t, config.RoleImplementer, config.ModeEdit, ""), j.ask1(t, config.RoleImplementer, config.ModePatch, "")
	if strings.Contains(edit, "unified diff") || !strings.Contains(patch, "unified diff") {
		t.Error("the two ways to hand work over are mixed up")
	}
	if !strings.Contains(edit, "Request: RQ-1 (run RUN-20260102-030405-abcdef, base branch main)") {
		t.Error("no header:\n" + edit)
	}
}

func TestOwnPromptsWin(t *testing.T) {
	j := planned(t)
	dir := j.Project.Path(".aiflow/prompts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, prompts.FileName("qa")), []byte("{{step_id}} {{unknown}} {{request_markdown}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := j.ask1(t, config.RoleQA, config.ModeEdit, ""), "S01 {{unknown}} "+request; got != want {
		t.Errorf("%q", got)
	}
	if got := j.ask1(t, config.RoleQA, config.ModeEdit, "mend this"); !strings.HasSuffix(got, "\n\nmend this\n") {
		t.Errorf("what must be mended is not said: %q", got)
	}
}

func TestTranslate(t *testing.T) {
	j := planned(t)
	a, err := contract.Read("planner", `{"version":"1.0","role":"planner","status":"ok","summary":"s",
		"risks":[{"description":"none"}],
		"planning":{"acceptance_criteria":[{"id":"AC-02","given":"g","when":"w","then":"t","type":"regression"},{"id":"AC-07","text":"also"}],
		"steps":[{"id":"S01","title":"One","gates":{"unit":false,"static":false,"e2e":true},"targets":{"paths":["a"],"globs":["b/*"]}},
		         {"id":"S02","title":"Two","constraints":{"max_diff_lines":30,"max_files":2},"links_to_ac":["AC-01"]}]}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	j.Project.Config.Tests.Unit.Enabled = true
	p := j.translate(a)
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
	j := planned(t)
	for steps, want := range map[string]fault.Code{
		`{"id":"S01","title":"a"},{"id":"S01","title":"b"}`:             fault.JSONSchemaInvalid,
		`{"id":"S01","title":"a","constraints":{"max_diff_lines":401}}`: fault.StepTooLarge,
		`{"id":"S01","title":"a","constraints":{"max_diff_lines":400}}`: "",
	} {
		a, err := contract.Read("planner", `{"version":"1.0","role":"planner","status":"ok","summary":"s","planning":{"steps":[`+steps+`]}}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fault.CodeOf(runs.Err(j.translate(a).Check())); got != want {
			t.Errorf("%s: %s", steps, got)
		}
	}
}
