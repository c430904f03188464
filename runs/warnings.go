package runs

import "strings"

// Warning is what a person should know of a run that ended well before they
// trust it.
type Warning string

// The warnings.
const (
	NoTestRan      Warning = "NO_TEST_RAN"     // an AI command did the work, and no test of any kind ran
	ChangedNothing Warning = "NOTHING_CHANGED" // all its commits are empty, and not only to test
	WithoutRouter  Warning = "WITHOUT_ROUTER"  // which cannot be used: no review, none of its guards
)

// Key names the warning's words.
func (w Warning) Key() string { return "work.warning_" + strings.ToLower(string(w)) }

// Warnings of a run, an empty list when there are none.
func (s *Stage) Warnings() []Warning {
	list := []Warning{}
	if s.State == Done && s.Counters.ImplementerCalls > 0 && !tested(s) {
		list = append(list, NoTestRan)
	}
	if s.HasEvent(EventWithoutRouter) {
		list = append(list, WithoutRouter)
	}
	if changedNothing(s) {
		list = append(list, ChangedNothing)
	}
	return list
}

// changedNothing: a step was to change something, and none did.
func changedNothing(s *Stage) bool {
	asked := false
	for i := range s.Steps {
		if s.Steps[i].DiffStat.FilesChanged > 0 {
			return false
		}
		asked = asked || s.Steps[i].ChangedNothing
	}
	return asked
}

// tested reports whether a test of a step ran to its end.
func tested(s *Stage) bool {
	for i := range s.Steps {
		t := &s.Steps[i].Test
		for _, r := range []TestResult{t.Unit, t.E2E, t.Static} {
			if r.Status == TestPass || r.Status == TestFail && r.LogPath != nil {
				return true
			}
		}
	}
	return false
}
