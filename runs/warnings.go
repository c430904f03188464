package runs

import "strings"

// Warning is what a person should know of a run that ended well before they
// trust it.
type Warning string

// The warnings.
const (
	NoTestRan      Warning = "NO_TEST_RAN"     // an AI command did the work, and no test of any kind ran
	ChangedNothing Warning = "NOTHING_CHANGED" // the commit of a step is empty
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
	for i := range s.Steps {
		if s.Steps[i].ChangedNothing {
			return append(list, ChangedNothing)
		}
	}
	return list
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
