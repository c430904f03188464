package contract

import (
	"encoding/json"
	"slices"
	"strings"
)

// Answer is what a role said. Which parts are there depends on the role.
type Answer struct {
	Version string `json:"version"`
	Role    string `json:"role"`
	Status  string `json:"status"`
	Summary string `json:"summary"`

	Questions  Texts    `json:"questions"`
	Risks      []Risk   `json:"risks"`
	Artifacts  Notes    `json:"artifacts"`
	ReasonCode string   `json:"reason_code"`
	RiskFlags  []string `json:"risk_flags"`

	Planning *Planning `json:"planning"` // planner

	StepID string `json:"step_id"` // implementer
	Diff   string `json:"diff"`
	// Unchanged says why nothing was to be changed.
	Unchanged string `json:"unchanged"`
	Patch     *struct {
		Diff string `json:"diff"`
	} `json:"patch"` // D27's place of the diff

	Issues    []Issue `json:"issues"` // qa
	Tests     []Test  `json:"recommended_tests"`
	AutoMerge *bool   `json:"auto_merge_recommended"`

	Raw json.RawMessage `json:"-"`
}

// Planning is a planner's plan (D42).
type Planning struct {
	Spec struct {
		Summary     string   `json:"summary"`
		Why         string   `json:"why"`
		Constraints []string `json:"constraints"`
	} `json:"spec"`
	Criteria []struct {
		ID    string `json:"id"`
		Given string `json:"given"`
		When  string `json:"when"`
		Then  string `json:"then"`
		Text  string `json:"text"`
		Type  string `json:"type"`
	} `json:"acceptance_criteria"`
	Steps []Step `json:"steps"`
}

// Step is one step of a planner's plan.
type Step struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Goal    string `json:"goal"`
	Targets struct {
		Paths []string `json:"paths"`
		Globs []string `json:"globs"`
	} `json:"targets"`
	Constraints struct {
		MaxDiffLines int `json:"max_diff_lines"`
		MaxFiles     int `json:"max_files"`
	} `json:"constraints"`
	Gates struct {
		Unit   *bool `json:"unit"`
		E2E    *bool `json:"e2e"`
		Static *bool `json:"static"`
	} `json:"gates"`
	Done     []string          `json:"definition_of_done"`
	LinksTo  []string          `json:"links_to_ac"`
	Fallback map[string]string `json:"fallback"`
}

// Risk is something that a role is not sure about.
type Risk struct {
	Priority    string `json:"priority"`
	Description string `json:"description"`
}

// Notes are what a role has to say besides.
type Notes struct {
	Notes []string `json:"notes"`
}

// Issue is one thing that qa found.
type Issue struct {
	Severity    string `json:"severity"`
	Description string `json:"description"`
	File        string `json:"file"`
	Line        int    `json:"line"`
}

// Test is a test that qa would like to have.
type Test struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// Texts are sentences, written as such or as objects with a text.
type Texts []string

// UnmarshalJSON reads "…" and {"id": "Q1", "text": "…"}.
func (t *Texts) UnmarshalJSON(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	for _, item := range items {
		var s string
		var o struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(item, &s) != nil && json.Unmarshal(item, &o) == nil {
			s = o.Text
		}
		if s = strings.TrimSpace(s); s != "" {
			*t = append(*t, s)
		}
	}
	return nil
}

// The statuses of D42; "blocked" and "failed" are D27's words.
const (
	OK         = "ok"
	NeedsInput = "needs_input"
)

// Asks reports whether the role cannot go on without an answer.
func (a Answer) Asks() bool { return a.Status == NeedsInput || a.Status == "blocked" }

// Failed reports whether the role gave up.
func (a Answer) Failed() bool { return a.Status != OK && !a.Asks() }

// TooLarge reports whether the role refuses because the step is too large.
func (a Answer) TooLarge() bool {
	return a.Status != OK && (a.ReasonCode == "STEP_TOO_LARGE" || slices.Contains(a.RiskFlags, "STEP_TOO_LARGE"))
}

// UnifiedDiff is the diff of a patch-mode implementer.
func (a Answer) UnifiedDiff() string {
	if a.Diff == "" && a.Patch != nil {
		return a.Patch.Diff
	}
	return a.Diff
}

// SendsBack reports whether qa says that the work must be mended before it is
// merged: it does not recommend the merge and found something grave.
func (a Answer) SendsBack() bool {
	if a.AutoMerge == nil || *a.AutoMerge {
		return false
	}
	return slices.ContainsFunc(a.Issues, Issue.Grave)
}

// Grave reports whether an issue alone is a reason to mend.
func (i Issue) Grave() bool {
	switch strings.ToLower(i.Severity) {
	case "blocker", "critical", "high":
		return true
	}
	return false
}

// Unchanged is why an implementer says that nothing was to be changed: "" when
// it does not say so. The two fields status and unchanged are enough.
func Unchanged(text string) string {
	raw, err := Object(text)
	if err != nil {
		return ""
	}
	var a Answer
	if json.Unmarshal(renamed(raw), &a) != nil || a.Status != OK || a.UnifiedDiff() != "" {
		return ""
	}
	return strings.TrimSpace(a.Unchanged)
}
