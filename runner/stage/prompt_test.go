package stage

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

// planned is a run that has a plan of one step and no workspace.
func planned(t *testing.T) *Run {
	t.Helper()
	dir := t.TempDir()
	p := &project.Project{Root: project.Root{Dir: dir}, Config: config.Default()}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := &Run{
		Setup:   &Setup{Project: p, Words: Words{Text: func(key string, _ fault.Facts) string { return key }}},
		Request: reqmeta.Parse("requests/RQ-1.md", []byte(request)),
		Text:    []byte(request),
		Stage:   runs.NewStage("RQ-1", "RUN-20260102-030405-abcdef", "Make it blue", now),
		Dir:     runs.OpenDir(atomicfile.OS{}, dir, "runs", "RQ-1", "RUN-20260102-030405-abcdef", func() string { return "x" }),
	}
	run.Stage.Git.BaseBranch, run.Stage.Git.Workspace = "main", ".aiflow/worktrees/RQ-1"
	run.Plan = PlanOf(run.Stage, run.Request, run.Text, p.Config)
	run.Stage.SetPlan(run.Plan, now)
	return run
}

func ask1(run *Run, t *testing.T, role, mode, failure string) string {
	t.Helper()
	q := question{role: role, failure: failure}
	if role != config.RolePlanner {
		q.step, q.plan = &run.Stage.Steps[0], &run.Plan.Steps[0]
	}
	text, err := prompt(t.Context(), run, q, config.Call{Role: role, Provider: "p", Command: config.Command{Mode: mode}})
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
				run := planned(t)
				run.Words.Lang = lang
				got := placeRE.FindAllString(ask1(run, t, role, mode, "broken"), -1)
				if !slices.Equal(got, []string{"{{role}}"}) {
					t.Errorf("%s %s %s: %v", lang, role, mode, got)
				}
			}
		}
	}
}

func TestPromptSaysHow(t *testing.T) {
	run := planned(t)
	edit, patch := ask1(run, t, config.RoleImplementer, config.ModeEdit, ""), ask1(run, t, config.RoleImplementer, config.ModePatch, "")
	if strings.Contains(edit, "unified diff") || !strings.Contains(patch, "unified diff") {
		t.Error("the two ways to hand work over are mixed up")
	}
	if !strings.Contains(edit, "Request: RQ-1 (run RUN-20260102-030405-abcdef, base branch main)") {
		t.Error("no header:\n" + edit)
	}
}

func TestOwnPromptsWin(t *testing.T) {
	run := planned(t)
	dir := run.Project.Path(".aiflow/prompts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, prompts.FileName("qa")), []byte("{{step_id}} {{unknown}} {{request_markdown}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := ask1(run, t, config.RoleQA, config.ModeEdit, ""), "S01 {{unknown}} "+request; got != want {
		t.Errorf("%q", got)
	}
	if got := ask1(run, t, config.RoleQA, config.ModeEdit, "mend this"); !strings.HasSuffix(got, "\n\nmend this\n") {
		t.Errorf("what must be mended is not said: %q", got)
	}
}
