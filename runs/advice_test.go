package runs

import (
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

// withCommands is the plan of stopped, each step of which is a command.
func withCommands() *Plan {
	p := planOf(3)
	for i := range p.Steps {
		p.Steps[i].Run = "true"
	}
	return p
}

// short is advice in a line: what is recommended with *, what is not allowed with
// its reason.
func short(list []fault.Advice) string {
	var words []string
	for _, a := range list {
		if a.Kind == fault.Look && a.Verb != fault.VerbSuccessor {
			continue
		}
		word := strings.TrimPrefix(a.Command, "aiflow run ")
		word = strings.ReplaceAll(strings.ReplaceAll(word, runID, "R"), "--mode ", "")
		if !a.Allowed {
			word += "!" + string(a.WhyNot)
		}
		if a.Recommended {
			word = "*" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// finished is a run that is done.
func finished(t *testing.T) *Stage {
	t.Helper()
	s := stageAt(t, 3)
	must(t, s.Finish(at(31), ""))
	must(t, s.Move(Reporting, at(32)))
	must(t, s.Complete(at(33)))
	return s
}

func TestAdvise(t *testing.T) {
	bounds := d34
	twice := stopped(t, fault.StepCommandFailed)
	again(t, twice, fault.StepCommandFailed)
	replaced := stopped(t, fault.StepCommandFailed)
	replaced.ReplacedBy = "RUN-2"
	interrupted := stageAt(t, 2)
	for _, c := range []struct {
		name string
		s    *Stage
		now  Now
		want string
	}{
		{"as it stopped", stopped(t, fault.StepCommandFailed), Now{}, "*resume R, resume R retry_step, resume R replan"},
		{"tests failed", stopped(t, fault.UnitTestFailed), Now{}, "resume R, *resume R retry_step, resume R replan"},
		{"mended after tests", stopped(t, fault.UnitTestFailed), Now{Found: Found{Files: true}}, "*resume R, resume R retry_step --force, resume R replan"},
		{"changed there", stopped(t, fault.StepCommandFailed), Now{Found: Found{Files: true}}, "*resume R --force, resume R retry_step --force, resume R replan"},
		{"committed there", stopped(t, fault.StepCommandFailed), Now{Found: Found{Commits: true}}, "*resume R --force, resume R retry_step --force, resume R replan"},
		{"conflicts", stopped(t, fault.StepCommandFailed), Now{Found: Found{Conflicts: true}}, "resume R!WORKTREE_DIRTY, resume R retry_step --force, resume R replan"},
		{"twice", twice, Now{}, "resume R --force, resume R retry_step --force, *resume R replan"},
		{"too large", stopped(t, fault.StepTooLarge), Now{}, "resume R --force, resume R retry_step --force, *resume R replan"},
		{"forbidden", stopped(t, fault.ForbiddenPathTouched), Now{}, "resume R, resume R retry_step, *resume R replan"},
		{"other steps", stopped(t, fault.UnitTestFailed), Now{OldSteps: true}, "resume R --force, resume R retry_step --force, *resume R replan"},
		{"nobody", stopped(t, fault.ModelNotConfigured), Now{Lacks: fault.ModelNotConfigured}, "resume R!MODEL_NOT_CONFIGURED, resume R retry_step!MODEL_NOT_CONFIGURED, *resume R replan"},
		{"doctor", stopped(t, fault.UnitTestFailed), Now{Doctor: fault.DoctorFailed}, "resume R!DOCTOR_FAILED, resume R retry_step!DOCTOR_FAILED, resume R replan!DOCTOR_FAILED"},
		{"request gone", stopped(t, fault.UnitTestFailed), Now{Gone: true}, "resume R!REQUEST_NOT_FOUND, resume R retry_step!REQUEST_NOT_FOUND, resume R replan!REQUEST_NOT_FOUND"},
		{"failed", stopped(t, fault.WorkspaceFailed), Now{}, "resume R, resume R retry_step, *resume R replan"},
		{"interrupted", interrupted, Now{}, "*resume R, resume R retry_step, resume R replan"},
		{"at work", interrupted, Now{Live: true}, "stop R"},
		{"replaced", replaced, Now{}, "*show RUN-2"},
		{"followed", stopped(t, fault.UnitTestFailed), Now{Newest: "RUN-3"}, "*show RUN-3"},
		{"done", finished(t), Now{Merge: "git merge b", Branch: true}, "*git merge b"},
		{"stale", finished(t), Now{Merge: "git merge b", Branch: true, Stale: true, Restacks: true}, "*restack R"},
		{"stale for good", finished(t), Now{Merge: "git merge b", Branch: true, Stale: true}, "drop R"},
		{"merged", finished(t), Now{Branch: true}, ""},
	} {
		c.now.Retries = bounds
		list := Advise(c.s, withCommands(), c.now)
		if got := short(list); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if n := len(slices.DeleteFunc(list, func(a fault.Advice) bool { return !a.Recommended })); n > 1 {
			t.Errorf("%s: %d are recommended", c.name, n)
		}
	}
	asked := planOf(3)
	if best, ok := fault.Best(Advise(stopped(t, fault.ForbiddenPathTouched), asked, Now{Retries: bounds})); !ok || best.Mode != ModeRetryStep {
		t.Errorf("an AI command that can be told: %+v", best)
	}
}

// What has to be put right around the run does not hide what goes on then; what
// the run refuses is not named.
func TestWithAdvice(t *testing.T) {
	s := stopped(t, fault.CLINotAvailable)
	facts := fault.WithAdvice(fault.Facts{"path": "p"}, Advise(s, withCommands(), Now{Retries: d34, Doctor: fault.DoctorFailed}))
	if facts["path"] != "p" || facts["resume"] == "" || facts["take"] != facts["resume"]+" --force" {
		t.Errorf("%v", facts)
	}
	facts = fault.WithAdvice(nil, Advise(s, withCommands(), Now{Retries: d34, Found: Found{Conflicts: true}}))
	if facts["resume"] != "" || facts["retry_step"] == "" {
		t.Errorf("%v", facts)
	}
}

// A step that is done is done again: those after it are pending, and the run
// stands at the commit before it.
func TestGoBack(t *testing.T) {
	s := stageAt(t, 3)
	s.Git.BaseCommit = "base"
	s.Git.Commits = []Commit{{StepID: "S01", Hash: "one"}, {StepID: "S02", Hash: "two"}}
	must(t, s.Fail(at(30), NewError(fault.New(fault.UnitTestFailed))))
	for _, mode := range []Mode{ModeResume, ModeRetryStep} {
		got, err := Resume(s, planOf(3), Ask{Mode: mode, Step: "S02"}, d34)
		if want := (Point{State: Implementing, StepID: "S02", Index: 1, Back: true, Reset: true}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", mode, got, err)
		}
	}
	s.AddEvent(at(31), EventPushed, "", "")
	if _, err := Resume(s, planOf(3), Ask{Step: "S02"}, d34); !fault.Has(err, fault.StepNotAvailable) {
		t.Errorf("what was pushed: %v", err)
	}
	if start := s.GoBack(at(40), 1); start != "one" || s.CurrentStepID != "S02" || s.next() != 1 || s.Steps[2].Status != StepPending {
		t.Errorf("%s %+v", start, s)
	}
	if start := s.GoBack(at(41), 0); start != "base" || len(s.Git.Commits) != 0 {
		t.Errorf("%s %+v", start, s)
	}
}
