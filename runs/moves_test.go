package runs

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

var update = flag.Bool("update", false, "write the tables into docs/")

func TestMovesTableIsComplete(t *testing.T) {
	moves := Moves()
	if len(moves) != len(States()) {
		t.Errorf("%d rows for %d states", len(moves), len(States()))
	}
	reached := map[State]bool{Init: true}
	for from, tos := range moves {
		if !from.known() {
			t.Errorf("unknown row %s", from)
		}
		for _, to := range tos {
			reached[to] = true
			if !to.known() {
				t.Errorf("%s -> unknown %s", from, to)
			}
		}
		for _, want := range []State{NeedsInput, Failed} {
			if !from.Ended() && !slices.Contains(tos, want) {
				t.Errorf("%s cannot end as %s", from, want)
			}
		}
	}
	for _, s := range States() {
		if !reached[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
}

func TestMoveFollowsTheTable(t *testing.T) {
	for _, from := range States() {
		for _, to := range States() {
			s := NewStage(reqID, runID, "", t0)
			s.State = from
			err := s.Move(to, at(5))
			want := slices.Contains(Moves()[from], to) || from == to && !from.Ended()
			if (err == nil) != want {
				t.Errorf("%s -> %s: %v", from, to, err)
			}
			if err != nil && (fault.CodeOf(err) != fault.InternalError || s.State != from || !s.UpdatedAt.Equal(t0)) {
				t.Errorf("%s -> %s changed something or is the wrong fault: %v", from, to, err)
			}
			if err == nil && (s.EndedAt != nil) != to.Ended() {
				t.Errorf("%s -> %s: ended_at %v", from, to, s.EndedAt)
			}
		}
	}
}

func TestGoingOnClearsTheError(t *testing.T) {
	s := stageAt(t, 2)
	must(t, s.Fail(at(30), NewError(fault.New(fault.UnitTestFailed))))
	if s.State != NeedsInput || s.ReasonCode() != "UNIT_TEST_FAILED" || s.EndedAt == nil || s.Steps[1].Status != StepNeedsInput {
		t.Fatalf("%+v", s)
	}
	must(t, s.Move(Testing, at(40)))
	if s.Error != nil || s.EndedAt != nil {
		t.Errorf("error %v, ended %v", s.Error, s.EndedAt)
	}
}

func TestOutcomeOf(t *testing.T) {
	failed := []fault.Code{
		fault.InternalError, fault.StageWriteFailed, fault.BaseBranchNotFound,
		fault.BranchCreateFailed, fault.WorkspaceFailed,
	}
	for _, code := range fault.Codes() {
		want := NeedsInput
		if slices.Contains(failed, code) {
			want = Failed
		}
		if got := OutcomeOf(code); got != want {
			t.Errorf("%s ends as %s", code, got)
		}
	}
}

func TestStepsOfARun(t *testing.T) {
	s := stageAt(t, 3)
	if s.CurrentStepID != "S03" || s.CurrentStepIndex != 2 || s.Progress.Percent != 74 {
		t.Errorf("at %s %d, %d %%", s.CurrentStepID, s.CurrentStepIndex, s.Progress.Percent)
	}
	if err := s.Complete(at(50)); fault.CodeOf(err) != fault.InternalError {
		t.Errorf("completed with a step open: %v", err)
	}
	must(t, s.Finish(at(51), "fine"))
	if err := s.Finish(at(51), "again"); fault.CodeOf(err) != fault.InternalError {
		t.Errorf("finished twice: %v", err)
	}
	must(t, s.Move(Reporting, at(52)))
	must(t, s.Complete(at(53)))
	if s.State != Done || s.Progress.Percent != 100 || !s.EndedAt.Equal(at(53)) {
		t.Errorf("%+v", s)
	}
	var events []string
	for _, e := range s.History {
		events = append(events, strings.TrimSpace(e.Event+" "+e.StepID))
	}
	want := []string{
		"STARTED", "PLANNED", "STEP_START S01", "STEP_DONE S01", "STEP_START S02", "STEP_DONE S02",
		"STEP_START S03", "STEP_DONE S03", "DONE",
	}
	if !slices.Equal(events, want) {
		t.Errorf("history %v", events)
	}
}

func TestAttemptsAreCounted(t *testing.T) {
	s := stageAt(t, 1)
	must(t, s.Fail(at(11), NewError(fault.New(fault.StepCommandFailed, "path", "a"))))
	must(t, s.Move(Implementing, at(12)))
	p, err := s.Begin(at(12), "S01")
	must(t, err)
	if p.Attempt != 2 || s.Counters.Retries != 1 || p.Error != nil || p.Status != StepRunning || p.EndedAt != nil {
		t.Errorf("%+v", p)
	}
	if p, err = s.Continue(at(13), "S01"); err != nil || p.Attempt != 2 {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := s.Begin(at(14), "S09"); fault.CodeOf(err) != fault.InternalError {
		t.Errorf("began a step that is not there: %v", err)
	}
}

func TestCheckBeforeSaving(t *testing.T) {
	for name, spoil := range map[string]func(s *Stage){
		"no_id":              func(s *Stage) { s.RunID = "" },
		"unknown_state":      func(s *Stage) { s.State = "HM" },
		"ended_at":           func(s *Stage) { s.State = Done },
		"current_step_index": func(s *Stage) { s.CurrentStepIndex = 3 },
	} {
		s := stageAt(t, 2)
		must(t, s.check())
		spoil(s)
		if f, ok := fault.As(s.check()); !ok || f.Facts["reason"] != name {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// docs/run-states.md is what these tables say.
func TestTablesInDocs(t *testing.T) {
	const path = "../docs/run-states.md"
	want := docs()
	if *update {
		must(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the tables say; write it with: go test ./runs -run TestTablesInDocs -update", path)
	}
}

func docs() string {
	var b strings.Builder
	b.WriteString(`# States of a run

Written by ` + "`go test ./runs -run TestTablesInDocs -update`" + ` from the tables in package runs; a test compares.

## Allowed moves

A state that has not ended may also stay where it is: an interrupted run goes on in the state it was in.

| from | to |
|---|---|
`)
	for _, from := range States() {
		fmt.Fprintf(&b, "| %s | %s |\n", from, list(Moves()[from]))
	}
	b.WriteString(`
DONE, NEEDS_INPUT and FAILED have ` + "`ended_at`" + `. A run that has not ended and holds no live lock was interrupted.
DONE becomes NEEDS_INPUT, and DONE again, only where a restack needs a person ([stacking](stacking.md#restack)).
` + "`aiflow run drop`" + ` leaves the state that a run ended in, ends one that was interrupted as NEEDS_INPUT, and writes ` + "`dropped_at`" + `:
such a run is never gone on with, and counts for nothing in what is next.

## How a reason ends a run, and how it goes on

FAILED only where no answer of a person can help inside the run. "Recommended" is what the page offers first;
"resume goes on at" is what ` + "`aiflow run resume`" + ` does for a step that had begun. IMPLEMENTING does the step again
from its start, what it held is kept as a failed attempt; TESTING checks, tests and commits what the workspace holds.
Where the work was done and only qa could not be asked or understood, it is TESTING whatever the table says: qa alone is
asked again.

| reason_code | ends as | recommended | resume goes on at |
|---|---|---|---|
`)
	const usual = "NEEDS_INPUT | resume | IMPLEMENTING |"
	fmt.Fprintf(&b, "| every other | %s\n", usual)
	for _, code := range fault.Codes() {
		row := fmt.Sprintf("%s | %s | %s |", OutcomeOf(code), recommended(code), resumesAt(code))
		if row != usual {
			fmt.Fprintf(&b, "| %s | %s\n", code, row)
		}
	}
	b.WriteString(`
The same step stopped twice running for the same reason is REPLAN_REQUIRED, the fourth retry of a step is
RETRY_LIMIT_EXCEEDED; ` + "`--force`" + ` goes on all the same. Reasons that another plan cannot mend (environment, a
program that is missing or cannot be started, locks, WORKTREE_DIRTY, a question to the person) are not counted.
`)
	return b.String()
}

func recommended(code fault.Code) string {
	if OutcomeOf(code) == Failed {
		return "a new run"
	}
	return orDash(string(Recommended(code)))
}

func resumesAt(code fault.Code) string {
	s := NewStage(reqID, runID, "", t0)
	s.SetPlan(planOf(1), t0)
	s.State = Implementing
	if _, err := s.Begin(t0, "S01"); err != nil {
		return err.Error()
	}
	if err := s.Fail(t0, NewError(fault.New(code))); err != nil {
		return err.Error()
	}
	p, err := Resume(s, planOf(1), Ask{}, d34)
	if err != nil {
		return "refused: " + string(fault.CodeOf(err))
	}
	return string(p.State)
}

func list(states []State) string {
	var names []string
	for _, s := range states {
		names = append(names, string(s))
	}
	return orDash(strings.Join(names, ", "))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
