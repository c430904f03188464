package runs

import (
	"maps"
	"strings"

	"aiflow/internal/fault"
)

// ErrorObject is why a run or a step stands still (D34, D56).
type ErrorObject struct {
	Category     fault.Category    `json:"category"`
	ReasonCode   fault.Code        `json:"reason_code"`
	Title        string            `json:"title"`
	Message      string            `json:"message"`
	Summary      string            `json:"summary"`
	Severity     fault.Severity    `json:"severity"`
	Retryable    bool              `json:"retryable"`
	Actions      []string          `json:"actions"`
	RelatedPaths []string          `json:"related_paths,omitempty"`
	Meta         map[string]string `json:"meta,omitempty"`
}

// Words gives a reason code's texts; faces pass it in.
type Words func(code fault.Code, facts fault.Facts) (title, message string, actions []string)

// NewError makes the error object of err, in no words yet (see Stage.Reworded). A code
// that is not in the dictionary becomes UNKNOWN_ERROR and is kept in
// meta.original_reason_code.
func NewError(err error) *ErrorObject {
	code, meta := fault.CodeOf(err), map[string]string{}
	if f, ok := fault.As(err); ok {
		maps.Copy(meta, f.Facts)
	} else if err != nil {
		meta["cause"] = err.Error()
	}
	if !code.Known() {
		meta["original_reason_code"] = string(code)
		code = fault.UnknownError
	}
	info := code.Info()
	e := &ErrorObject{
		Category: info.Category, ReasonCode: code, Severity: info.Severity, Retryable: info.Retryable,
		Title: string(code), Actions: []string{}, Meta: meta,
	}
	if path := meta["path"]; path != "" {
		e.RelatedPaths = []string{path}
	}
	return e
}

// Errors is errors.json (D58): what a person needs to go on.
type Errors struct {
	Version       string            `json:"version"`
	RequestID     string            `json:"request_id"`
	RunID         string            `json:"run_id"`
	Status        string            `json:"status"`
	Severity      fault.Severity    `json:"severity"`
	Category      fault.Category    `json:"category"`
	ReasonCode    fault.Code        `json:"reason_code"`
	Title         string            `json:"title"`
	Message       string            `json:"message"`
	Retryable     bool              `json:"retryable"`
	Actions       []string          `json:"actions"`
	Evidence      Evidence          `json:"evidence"`
	RelatedPaths  []string          `json:"related_paths"`
	SuggestedNext SuggestedNext     `json:"suggested_next"`
	Questions     []string          `json:"questions,omitempty"` // that a role could not go on without
	Meta          map[string]string `json:"meta,omitempty"`
}

// Evidence is where to look.
type Evidence struct {
	FailedAtStage State    `json:"failed_at_stage"`
	FailedStepID  *string  `json:"failed_step_id"`
	Command       *string  `json:"command"`
	ExitCode      *int     `json:"exit_code"`
	StderrSnippet *string  `json:"stderr_snippet"`
	LogPaths      []string `json:"log_paths"`
}

// SuggestedNext is the button that helps most.
type SuggestedNext struct {
	UIAction           string `json:"ui_action"`
	Hint               string `json:"hint"`
	RequiresUserChange bool   `json:"requires_user_change"`
	Mode               Mode   `json:"mode,omitempty"`
	Force              bool   `json:"force,omitempty"`
}

const snippetLimit = 500

// NewErrors makes errors.json of a stage that has an error. at is the state in
// which it happened, list what can be done; the hint is the first action.
func NewErrors(s *Stage, at State, ev Evidence, list []fault.Advice) *Errors {
	e := s.Error
	if e == nil {
		return nil
	}
	ev.FailedAtStage = at
	ev.LogPaths = orEmpty(ev.LogPaths)
	ev.StderrSnippet = cutSnippet(ev.StderrSnippet)
	if p := s.Current(); p != nil && ev.FailedStepID == nil && !p.Status.Settled() {
		ev.FailedStepID = &p.StepID
	}
	status := "needs_input"
	if s.State == Failed {
		status = "failed"
	}
	errs := &Errors{
		Version: Version, RequestID: s.RequestID, RunID: s.RunID, Status: status,
		Severity: e.Severity, Category: e.Category, ReasonCode: e.ReasonCode,
		Title: e.Title, Message: e.Message, Retryable: e.Retryable, Actions: orEmpty(e.Actions),
		Evidence: ev, RelatedPaths: orEmpty(e.RelatedPaths), Meta: e.Meta,
	}
	for q := range strings.Lines(e.Meta[fault.QuestionsFact]) {
		errs.Questions = append(errs.Questions, strings.TrimSpace(q))
	}
	errs.SuggestedNext = suggest(errs, list)
	return errs
}

func cutSnippet(s *string) *string {
	if s == nil {
		return nil
	}
	r := []rune(*s)
	if len(r) <= snippetLimit {
		return s
	}
	cut := string(r[len(r)-snippetLimit:])
	return &cut
}

func suggest(e *Errors, list []fault.Advice) SuggestedNext {
	n := SuggestedNext{UIAction: uiAction(e.Category, e.ReasonCode), RequiresUserChange: !e.Retryable}
	if e.Status == "failed" {
		n.UIAction = "rerun"
	}
	if best, ok := fault.Best(list); ok {
		n.Mode, n.Force = best.Mode, best.Force
	}
	if len(e.Actions) > 0 {
		n.Hint = e.Actions[0]
	}
	return n
}

// uiAction is one of D58's: open_doctor, open_request, rerun, resume,
// open_logs, open_report.
func uiAction(category fault.Category, code fault.Code) string {
	switch {
	case category == fault.Environment, code == fault.WorktreeDirty:
		return "open_doctor"
	case category == fault.Input:
		return "open_request"
	case category == fault.Test, category == fault.Contract,
		code == fault.UnitTestFailed, code == fault.StepCommandFailed, code == fault.NothingChanged, code == fault.GitCommitFailed:
		return "open_logs"
	}
	return "resume"
}
