package runs

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func say(code fault.Code, facts fault.Facts) (string, string, []string) {
	return "title " + string(code), "about " + facts["path"] + facts["cause"], []string{"type " + facts["run_id"]}
}

func TestErrorObjectFollowsTheCode(t *testing.T) {
	for _, code := range fault.Codes() {
		e, info := NewError(fault.New(code, "path", "p")), code.Info()
		if e.ReasonCode != code || e.Category != info.Category || e.Severity != info.Severity || e.Retryable != info.Retryable || e.RelatedPaths[0] != "p" {
			t.Errorf("%s: %+v", code, e)
		}
		if code == fault.UnknownError {
			continue // nobody has words for it
		}
		e = (&Stage{Error: e}).Reworded(say, nil).Error
		if e.Title != "title "+string(code) || e.Message != "about p" || e.Summary != e.Title {
			t.Errorf("%s: %+v", code, e)
		}
	}
}

func TestErrorsOfOtherKinds(t *testing.T) {
	e := NewError(errors.New("boom"))
	if e.ReasonCode != fault.InternalError || e.Meta["cause"] != "boom" {
		t.Errorf("%+v", e)
	}
	e = NewError(fault.New("OLD_NAME"))
	if e.ReasonCode != fault.UnknownError || e.Meta["original_reason_code"] != "OLD_NAME" {
		t.Errorf("%+v", e)
	}
	if e = NewError(fault.New(fault.DiskFull)); e.Title != "DISK_FULL" || e.Actions == nil {
		t.Errorf("without words: %+v", e)
	}
}

// agree reports whether errors.json says the same as the stage's error.
func agree(e *Errors, s *Stage) bool {
	o := s.Error
	return o != nil && e.RequestID == s.RequestID && e.RunID == s.RunID &&
		e.Category == o.Category && e.ReasonCode == o.ReasonCode && e.Severity == o.Severity &&
		e.Retryable == o.Retryable && e.Title == o.Title && e.Message == o.Message &&
		slices.Equal(e.Actions, orEmpty(o.Actions))
}

// errors.json and stage.error say the same, for every code.
func TestErrorsAgreeWithTheStage(t *testing.T) {
	for _, code := range fault.Codes() {
		s := stageAt(t, 2)
		must(t, s.Fail(at(30), NewError(fault.New(code, "path", "p"))))
		s.Error.Title, s.Error.Message, s.Error.Actions = say(code, fault.Facts{"path": "p"})
		e := NewErrors(s, Implementing, Evidence{}, nil)
		status := map[State]string{NeedsInput: "needs_input", Failed: "failed"}[s.State]
		if !agree(e, s) || e.Status != status || e.SuggestedNext.UIAction == "" || e.SuggestedNext.Hint == "" || e.Evidence.LogPaths == nil {
			t.Errorf("%s: %+v", code, e)
		}
		e.Actions = nil
		if agree(e, s) {
			t.Errorf("%s: agrees without its actions", code)
		}
	}
	s := stopped(t, fault.UnitTestFailed)
	if agree(&Errors{}, s) || NewErrors(stageAt(t, 1), Testing, Evidence{}, nil) != nil {
		t.Error("an empty errors.json agrees, or a run without error gets one")
	}
}

func TestSuggestedNext(t *testing.T) {
	for code, want := range map[fault.Code]SuggestedNext{
		fault.WorktreeDirty:        {UIAction: "open_doctor", RequiresUserChange: true, Mode: ModeResume},
		fault.CLIAuthRequired:      {UIAction: "open_doctor", RequiresUserChange: true, Mode: ModeResume},
		fault.NeedsClarification:   {UIAction: "open_request", RequiresUserChange: true, Mode: ModeResume},
		fault.UnitTestFailed:       {UIAction: "open_logs", Mode: ModeRetryStep},
		fault.StepTooLarge:         {UIAction: "resume", RequiresUserChange: true, Mode: ModeReplan},
		fault.ForbiddenPathTouched: {UIAction: "resume", RequiresUserChange: true, Mode: ModeReplan},
		fault.InternalError:        {UIAction: "rerun", RequiresUserChange: true, Mode: ModeReplan},
	} {
		s := stopped(t, code)
		got := NewErrors(s, Implementing, Evidence{}, Advise(s, withCommands(), Now{Retries: d34})).SuggestedNext
		if got != want {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

func TestStderrSnippetIsShort(t *testing.T) {
	long := strings.Repeat("あ", 600) + "end"
	e := NewErrors(stopped(t, fault.UnitTestFailed), Testing, Evidence{StderrSnippet: &long}, nil)
	if got := []rune(*e.Evidence.StderrSnippet); len(got) != 500 || !strings.HasSuffix(string(got), "end") {
		t.Errorf("%d runes", len(got))
	}
}
