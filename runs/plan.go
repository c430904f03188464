package runs

import (
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"

	"aiflow/internal/fault"
)

// Where a plan came from. Only a planner's plan needs acceptance criteria.
const (
	SourceFrontmatter = "frontmatter"
	SourcePlanner     = "planner"
	SourceSingle      = "single"
)

// Plan is planning.json (D55). The runner never edits it; another plan is
// another run.
type Plan struct {
	Version     string      `json:"version"`
	RequestID   string      `json:"request_id"`
	RunID       string      `json:"run_id"`
	CreatedAt   time.Time   `json:"created_at"`
	BaseBranch  string      `json:"base_branch"`
	WorkBranch  string      `json:"work_branch"`
	Source      string      `json:"source,omitempty"`
	Limits      Limits      `json:"limits"`
	Context     Context     `json:"context"`
	Steps       []PlanStep  `json:"steps"`
	Gates       Gates       `json:"gates"`
	Outputs     PlanOutputs `json:"outputs"`
	Assumptions []string    `json:"assumptions,omitempty"`
	Risks       []string    `json:"risks,omitempty"`
}

// Limits are the plan's bounds.
type Limits struct {
	MaxDiffLines     int `json:"max_diff_lines"`
	MaxFilesChanged  int `json:"max_files_changed,omitempty"`
	TimeoutSec       int `json:"timeout_sec"`
	MaxStepsPerRun   int `json:"max_steps_per_run"`
	MaxAutofixCycles int `json:"max_autofix_cycles"`
}

// Context is what the request says.
type Context struct {
	Summary            string            `json:"summary"`
	Constraints        []string          `json:"constraints"`
	AcceptanceCriteria []Criterion       `json:"acceptance_criteria"`
	TestInstructions   TestInstructions  `json:"test_instructions"`
	ProjectFacts       map[string]string `json:"project_facts,omitempty"`
}

// Criterion is one acceptance criterion; Text is for those that are not in
// given, when, then.
type Criterion struct {
	ID    string `json:"id"`
	Given string `json:"given,omitempty"`
	When  string `json:"when,omitempty"`
	Then  string `json:"then,omitempty"`
	Text  string `json:"text,omitempty"`
	Type  string `json:"type,omitempty"`
}

// TestInstructions are the request's words about tests.
type TestInstructions struct {
	Unit string `json:"unit"`
	E2E  string `json:"e2e"`
}

// PlanStep is one step of the plan. Run and Test are the shell commands of a
// step from the frontmatter.
type PlanStep struct {
	StepID          string            `json:"step_id"`
	Title           string            `json:"title"`
	Role            string            `json:"role"`
	Intent          string            `json:"intent"`
	Run             string            `json:"run,omitempty"`
	Test            string            `json:"test,omitempty"`
	Scope           Scope             `json:"scope"`
	Inputs          Inputs            `json:"inputs"`
	Commands        Commands          `json:"commands"`
	Gates           StepGates         `json:"gates"`
	SuccessCriteria []string          `json:"success_criteria"`
	LinksToAC       []string          `json:"links_to_ac"`
	ExpectedDiff    ExpectedDiff      `json:"expected_diff"`
	Outputs         StepOutputs       `json:"outputs"`
	Fallback        map[string]string `json:"fallback,omitempty"`
	StopConditions  []string          `json:"stop_conditions,omitempty"`
}

// Scope is what a step may touch.
type Scope struct {
	TargetPaths     []string `json:"target_paths"`
	ForbiddenPaths  []string `json:"forbidden_paths,omitempty"`
	MaxDiffLines    int      `json:"max_diff_lines"`
	MaxFilesChanged int      `json:"max_files_changed,omitempty"`
}

// Inputs are what a step reads.
type Inputs struct {
	RequestPath   string   `json:"request_path"`
	ContextFiles  []string `json:"context_files,omitempty"`
	CodeFilesHint []string `json:"code_files_hint,omitempty"`
}

// Commands are a step's own test commands.
type Commands struct {
	Unit []string `json:"unit,omitempty"`
	E2E  []string `json:"e2e,omitempty"`
}

// StepGates say which tests a step must pass (D41).
type StepGates struct {
	Unit   bool `json:"unit"`
	Static bool `json:"static"`
	E2E    bool `json:"e2e"`
}

// ExpectedDiff is the planner's guess.
type ExpectedDiff struct {
	LinesMax  int    `json:"lines_max"`
	FilesMax  int    `json:"files_max"`
	RiskLevel string `json:"risk_level"`
}

// StepOutputs are where a step's patch and logs go.
type StepOutputs struct {
	PatchPath string `json:"patch_path"`
	LogPrefix string `json:"log_prefix"`
}

// Gates are the plan's conditions.
type Gates struct {
	RequireCleanWorktree      bool `json:"require_clean_worktree"`
	RequireWorkBranch         bool `json:"require_work_branch"`
	RequireUnitPass           bool `json:"require_unit_pass"`
	RequireE2EForRegressionAC bool `json:"require_e2e_for_regression_ac"`
	ForbidGH                  bool `json:"forbid_gh"`
	MaxStepTooLargeRetries    int  `json:"max_step_too_large_retries"`
}

// PlanOutputs are the files of the run.
type PlanOutputs struct {
	PlanningJSON string `json:"planning_json"`
	StageJSON    string `json:"stage_json"`
	ReportMD     string `json:"report_md"`
	ErrorsJSON   string `json:"errors_json,omitempty"`
}

// StepID is the id of the n-th step, from 1: S01, S02, …
func StepID(n int) string { return fmt.Sprintf("S%02d", n) }

// Finding is one thing that Check says about a plan. A FAIL stops the run with
// Code; a WARN goes into the report.
type Finding struct {
	Fail  bool
	Kind  string
	Code  fault.Code
	Facts fault.Facts
}

var stepIDRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^S[0-9]{2,3}$`) })

const (
	minCriteria      = 3
	usualFiles       = 10
	usualSteps       = 10
	usualAssumptions = 8
)

// Check applies D55's rules.
func (p *Plan) Check() []Finding {
	var all []Finding
	fail := func(code fault.Code, kind string, pairs ...any) {
		all = append(all, Finding{Fail: true, Kind: kind, Code: code, Facts: fault.New(code, pairs...).Facts})
	}
	warn := func(kind string, pairs ...any) {
		all = append(all, Finding{Kind: kind, Facts: fault.NewFacts(pairs...)})
	}
	if len(p.Steps) == 0 {
		fail(fault.JSONSchemaInvalid, "missing", "key", "steps")
	}
	if n := len(p.Context.AcceptanceCriteria); p.Source == SourcePlanner && n < minCriteria {
		fail(fault.ACTooFew, "criteria", "value", n, "allowed", minCriteria)
	}
	p.checkSteps(fail, warn)
	if len(p.Steps) > usualSteps {
		warn("many_steps", "value", len(p.Steps), "allowed", usualSteps)
	}
	if len(p.Assumptions) > usualAssumptions {
		warn("many_assumptions", "value", len(p.Assumptions), "allowed", usualAssumptions)
	}
	return all
}

func (p *Plan) checkSteps(fail func(code fault.Code, kind string, pairs ...any), warn func(kind string, pairs ...any)) {
	seen := map[string]bool{}
	for i := range p.Steps {
		s := &p.Steps[i]
		if !stepIDRE().MatchString(s.StepID) {
			fail(fault.JSONSchemaInvalid, "step_id", "key", "step_id", "value", s.StepID)
		}
		if seen[s.StepID] {
			fail(fault.JSONSchemaInvalid, "step_twice", "key", "step_id", "value", s.StepID)
		}
		seen[s.StepID] = true
		if most := max(s.ExpectedDiff.LinesMax, s.Scope.MaxDiffLines); most > p.Limits.MaxDiffLines {
			fail(fault.StepTooLarge, "step_lines", "id", s.StepID, "value", most, "allowed", p.Limits.MaxDiffLines)
		}
		if s.ExpectedDiff.FilesMax > usualFiles {
			warn("many_files", "id", s.StepID, "value", s.ExpectedDiff.FilesMax, "allowed", usualFiles)
		}
	}
}

// Err is the first FAIL of findings as a fault, or nil.
func Err(findings []Finding) error {
	for _, f := range findings {
		if f.Fail {
			e := fault.New(f.Code, "reason", f.Kind)
			maps.Copy(e.Facts, f.Facts)
			return e
		}
	}
	return nil
}
