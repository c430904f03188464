package runs

import (
	"testing"

	"aiflow/internal/fault"
)

// stopped is a run of three steps that stopped in its second step.
func stopped(t *testing.T, code fault.Code) *Stage {
	t.Helper()
	s := stageAt(t, 2)
	must(t, s.Fail(at(30), NewError(fault.New(code))))
	return s
}

func again(t *testing.T, s *Stage, code fault.Code) {
	t.Helper()
	must(t, s.Move(Implementing, at(40)))
	_, err := s.Begin(at(40), s.CurrentStepID)
	must(t, err)
	must(t, s.Fail(at(41), NewError(fault.New(code))))
}

// D34's table 6.2, and what design.md 6.3 says about each.
func TestWhereEachReasonGoesOn(t *testing.T) {
	redo := Point{State: Implementing, StepID: "S02", Index: 1, Reset: true}
	tests := Point{State: Testing, StepID: "S02", Index: 1, Changed: ChangedTake}
	for code, want := range map[fault.Code]Point{
		fault.JSONParseError:       redo,
		fault.JSONSchemaInvalid:    redo,
		fault.PatchApplyFailed:     redo,
		fault.AgentTimeout:         redo,
		fault.ForbiddenPathTouched: redo,
		fault.UnitTestFailed:       tests,
		fault.E2ETestFailed:        tests,
		fault.StaticCheckFailed:    tests,
		fault.TestTimeout:          tests,
		fault.TestCommandNotFound:  tests,
		fault.E2ERequired:          tests,
		fault.GitCommitFailed:      tests,
		fault.WorktreeDirty:        redo,
		fault.OriginMissing:        redo,
		fault.RemoteNotGitHub:      redo,
		fault.StepCommandFailed:    redo,
		fault.ProcessCrashed:       redo,
		fault.CLINotAvailable:      redo,
		fault.CLIAuthRequired:      redo,
		fault.NeedsClarification:   redo,
		fault.InternalError:        redo,
		fault.Interrupted:          redo,
		fault.UnknownError:         redo,
	} {
		got, err := Resume(stopped(t, code), planOf(3), Ask{}, d34)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", code, got, err)
		}
	}
}

// Seed 003, 6.2: the same role of the same step again. Once the work is there
// that role is qa, and the work is not done anew.
func TestRoleThatOnlyReadsIsAskedAgain(t *testing.T) {
	for _, code := range []fault.Code{
		fault.RetryLimitExceeded, fault.JSONParseError, fault.JSONSchemaInvalid, fault.CLINotAvailable, fault.CLIAuthRequired,
		fault.AgentTimeout, fault.ProcessCrashed, fault.NeedsClarification,
	} {
		s := stopped(t, code)
		s.Current().Implemented = true
		got, err := Resume(s, planOf(3), Ask{}, d34)
		if want := (Point{State: Testing, StepID: "S02", Index: 1, Changed: ChangedTake}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", code, got, err)
		}
		got, err = Resume(s, planOf(3), Ask{Mode: ModeRetryStep}, d34)
		if err != nil || got.State != Implementing || !got.Reset {
			t.Errorf("%s, retry_step: %+v, %v", code, got, err)
		}
	}
}

func TestModes(t *testing.T) {
	for _, tc := range []struct {
		name string
		code fault.Code
		ask  Ask
		want Point
	}{
		{
			"retry a test failure", fault.UnitTestFailed,
			Ask{Mode: ModeRetryStep},
			Point{State: Implementing, StepID: "S02", Index: 1, Reset: true},
		},
		{
			"retry by name", fault.UnitTestFailed,
			Ask{Mode: ModeRetryStep, Step: "S02"},
			Point{State: Implementing, StepID: "S02", Index: 1, Reset: true},
		},
		{
			"retry, changes and all", fault.UnitTestFailed,
			Ask{Mode: ModeRetryStep, Force: true},
			Point{State: Implementing, StepID: "S02", Index: 1, Reset: true, Changed: ChangedDiscard},
		},
		{
			"a person's fix", fault.StepCommandFailed,
			Ask{Force: true},
			Point{State: Implementing, StepID: "S02", Index: 1, Reset: true, Changed: ChangedTake},
		},
		{
			"too large, made smaller by hand", fault.StepTooLarge,
			Ask{Force: true},
			Point{State: Testing, StepID: "S02", Index: 1, Changed: ChangedTake},
		},
		{"replan", fault.UnitTestFailed, Ask{Mode: ModeReplan}, Point{State: Init, NewRun: true}},
		{"replan what is too large", fault.StepTooLarge, Ask{Mode: ModeReplan}, Point{State: Init, NewRun: true}},
	} {
		got, err := Resume(stopped(t, tc.code), planOf(3), tc.ask, d34)
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v", tc.name, got, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(s *Stage)
		ask   Ask
		want  fault.Code
	}{
		{"no such mode", nil, Ask{Mode: "again"}, fault.UsageError},
		{"no such step", nil, Ask{Step: "S09"}, fault.StepNotAvailable},
		{"a step that is not its turn", nil, Ask{Step: "S03"}, fault.StepNotAvailable},
		{"done", func(s *Stage) { s.State = Done }, Ask{}, fault.NothingToDo},
		{"done, replan", func(s *Stage) { s.State = Done }, Ask{Mode: ModeReplan}, fault.NothingToDo},
		{"replaced", func(s *Stage) { s.ReplacedBy = "RUN-2" }, Ask{}, fault.NothingToDo},
		{"too large", func(s *Stage) { s.History[len(s.History)-1].ReasonCode = "STEP_TOO_LARGE" }, Ask{}, fault.ReplanRequired},
		{"too large, retry", func(s *Stage) { s.History[len(s.History)-1].ReasonCode = "STEP_TOO_LARGE" }, Ask{Mode: ModeRetryStep}, fault.ReplanRequired},
		{"another plan", func(s *Stage) { s.Steps[2].StepID = "S09" }, Ask{}, fault.ReplanRequired},
	} {
		s := stopped(t, fault.StepCommandFailed)
		if tc.spoil != nil {
			tc.spoil(s)
		}
		if _, err := Resume(s, planOf(3), tc.ask, d34); fault.CodeOf(err) != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}

func TestSameReasonTwiceAsksForAnotherPlan(t *testing.T) {
	s := stopped(t, fault.UnitTestFailed)
	again(t, s, fault.UnitTestFailed)
	_, err := Resume(s, planOf(3), Ask{}, d34)
	if f, _ := fault.As(err); fault.CodeOf(err) != fault.ReplanRequired || f.Facts["reason"] != "UNIT_TEST_FAILED" || f.Facts["id"] != "S02" {
		t.Errorf("got %v", err)
	}
	if _, err := Resume(s, planOf(3), Ask{Mode: ModeRetryStep}, d34); fault.CodeOf(err) != fault.ReplanRequired {
		t.Errorf("retry: %v", err)
	}
	if p, err := Resume(s, planOf(3), Ask{Mode: ModeReplan}, d34); err != nil || !p.NewRun {
		t.Errorf("replan: %+v %v", p, err)
	}
	if p, err := Resume(s, planOf(3), Ask{Force: true}, d34); err != nil || p.State != Testing {
		t.Errorf("force: %+v %v", p, err)
	}
}

func TestOtherReasonsDoNotCountAsTheSame(t *testing.T) {
	for name, second := range map[string]fault.Code{"other reason": fault.E2ETestFailed, "not the plan's": fault.CLINotAvailable} {
		s := stopped(t, fault.UnitTestFailed)
		again(t, s, second)
		if _, err := Resume(s, planOf(3), Ask{}, d34); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := stopped(t, fault.CLINotAvailable)
	again(t, s, fault.CLINotAvailable)
	if _, err := Resume(s, planOf(3), Ask{}, d34); err != nil {
		t.Errorf("the environment twice: %v", err)
	}
	for status, refused := range map[string]bool{"127": false, "126": false, "3": true} {
		s = stopped(t, fault.StepCommandFailed)
		again(t, s, fault.StepCommandFailed)
		s.Current().Error.Meta = map[string]string{"exit_status": status}
		if _, err := Resume(s, planOf(3), Ask{}, d34); fault.Has(err, fault.ReplanRequired) != refused {
			t.Errorf("exit status %s twice: %v", status, err)
		}
		must(t, s.Fail(at(50), NewError(fault.New(fault.WorktreeDirty))))
		if _, err := Resume(s, planOf(3), Ask{}, d34); fault.Has(err, fault.ReplanRequired) != refused {
			t.Errorf("exit status %s twice, then a dirty workspace: %v", status, err)
		}
		if s.Error.ReasonCode != fault.WorktreeDirty || s.Current().Error.ReasonCode != fault.StepCommandFailed {
			t.Errorf("the run stopped for %s, its step for %s", s.Error.ReasonCode, s.Current().Error.ReasonCode)
		}
	}
}

// A resume that doctor stops must not forget where the work stood: the
// person's fix would be thrown away.
func TestStopAtTheGateKeepsThePoint(t *testing.T) {
	for _, gate := range []fault.Code{fault.DoctorFailed, fault.WorktreeDirty} {
		s := stopped(t, fault.UnitTestFailed)
		must(t, s.Fail(at(50), NewError(fault.New(gate))))
		must(t, s.Fail(at(60), NewError(fault.New(gate))))
		if s.State != NeedsInput || s.ReasonCode() != string(gate) {
			t.Fatalf("%s: %s", s.State, s.ReasonCode())
		}
		p, err := Resume(s, planOf(3), Ask{}, d34)
		if err != nil || p.State != Testing || p.Reset {
			t.Errorf("%s: %+v %v", gate, p, err)
		}
	}
	s := stopped(t, fault.UnitTestFailed)
	must(t, s.Fail(at(50), NewError(fault.New(fault.DoctorFailed))))
	again(t, s, fault.UnitTestFailed)
	if _, err := Resume(s, planOf(3), Ask{}, d34); fault.CodeOf(err) != fault.ReplanRequired {
		t.Errorf("a stop at the gate hides the repetition: %v", err)
	}
}

func TestRetryLimit(t *testing.T) {
	s := stopped(t, fault.StepCommandFailed)
	other := []fault.Code{fault.AgentTimeout, fault.StepCommandFailed, fault.AgentTimeout}
	for i, code := range other {
		if _, err := Resume(s, planOf(3), Ask{}, d34); err != nil {
			t.Fatalf("retry %d: %v", i+1, err)
		}
		again(t, s, code)
	}
	_, err := Resume(s, planOf(3), Ask{}, d34)
	f, _ := fault.As(err)
	if fault.CodeOf(err) != fault.RetryLimitExceeded || f.Facts["allowed"] != "3" || f.Facts["name"] != "S02" {
		t.Errorf("fourth retry: %v", err)
	}
	if _, err := Resume(s, planOf(3), Ask{Force: true}, d34); err != nil {
		t.Errorf("force: %v", err)
	}
	again(t, s, fault.UnitTestFailed)
	if p, err := Resume(s, planOf(3), Ask{}, d34); err != nil || p.State != Testing {
		t.Errorf("running the tests again is no retry: %+v %v", p, err)
	}
}

func TestInterruptedRunsGoOnWhereTheyWere(t *testing.T) {
	three := planOf(3)
	init := NewStage(reqID, runID, "", t0)
	planning := NewStage(reqID, runID, "", t0)
	must(t, planning.Move(Planning, at(1)))
	planned := stageAt(t, 0)
	implementing := stageAt(t, 2)
	testing2 := stageAt(t, 2)
	must(t, testing2.Move(Testing, at(25)))
	between := stageAt(t, 2)
	must(t, between.Move(Testing, at(25)))
	must(t, between.Finish(at(26), ""))
	reporting := stageAt(t, 3)
	must(t, reporting.Finish(at(35), ""))
	must(t, reporting.Move(Reporting, at(36)))
	lastDone := stageAt(t, 3)
	must(t, lastDone.Finish(at(35), ""))
	for name, tc := range map[string]struct {
		s    *Stage
		p    *Plan
		want Point
	}{
		"INIT":             {init, nil, Point{State: Planning}},
		"PLANNING":         {planning, nil, Point{State: Planning}},
		"plan on disk":     {planning, three, Point{State: Planning}},
		"planned":          {planned, three, Point{State: Implementing, StepID: "S01"}},
		"plan lost, early": {planned, nil, Point{State: Planning}},
		"in a step":        {implementing, three, Point{State: Implementing, StepID: "S02", Index: 1, Reset: true}},
		"in the tests":     {testing2, three, Point{State: Testing, StepID: "S02", Index: 1, Changed: ChangedTake}},
		"between steps":    {between, three, Point{State: Implementing, StepID: "S03", Index: 2}},
		"after the last":   {lastDone, three, Point{State: Reporting, StepID: "S03", Index: 2}},
		"in the report":    {reporting, three, Point{State: Reporting, StepID: "S03", Index: 2}},
	} {
		got, err := Resume(tc.s, tc.p, Ask{}, d34)
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !CanMove(tc.s.State, got.State) {
			t.Errorf("%s: %s -> %s is not allowed", name, tc.s.State, got.State)
		}
	}
	if _, err := Resume(implementing, nil, Ask{}, d34); fault.CodeOf(err) != fault.ReplanRequired {
		t.Errorf("plan lost after work: %v", err)
	}
}

// Interruptions are nobody's failed attempt: a hundred of them never use up
// the retries.
func TestInterruptionsAreNotRetries(t *testing.T) {
	s := stageAt(t, 2)
	for range 100 {
		_, err := s.Begin(at(40), "S02")
		must(t, err)
		s.AddEvent(at(41), EventInterrupted, "S02", fault.Interrupted)
	}
	must(t, s.Fail(at(42), NewError(fault.New(fault.StepCommandFailed))))
	if _, err := Resume(s, planOf(3), Ask{}, d34); err != nil {
		t.Error(err)
	}
}

// Every point that Resume gives can be moved to from where the run stands.
func TestEveryPointIsAnAllowedMove(t *testing.T) {
	for _, code := range fault.Codes() {
		for _, mode := range []Mode{ModeResume, ModeRetryStep} {
			s := stopped(t, code)
			p, err := Resume(s, planOf(3), Ask{Mode: mode, Force: true}, d34)
			if err != nil || !CanMove(s.State, p.State) {
				t.Errorf("%s %s: %+v %v", code, mode, p, err)
			}
		}
	}
}
