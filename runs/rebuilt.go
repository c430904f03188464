package runs

import "time"

// Rebuilt is the record of a finished run of which nothing is left but its
// commits: what they tell, oldest first, and no more.
func Rebuilt(requestID, runID, title string, g Git, started, ended time.Time) *Stage {
	s := NewStage(requestID, runID, title, started)
	s.Git = g
	for _, c := range g.Commits {
		if c.StepID == RecordStep || s.Step(c.StepID) != nil {
			continue
		}
		step := Step{StepID: c.StepID, Title: c.Subject, Summary: c.Subject, Status: StepDone, Attempt: 1}
		step.fillIn()
		s.Steps = append(s.Steps, step)
		s.CurrentStepIndex, s.CurrentStepID = len(s.Steps)-1, c.StepID
	}
	s.State, s.EndedAt = Done, &ended
	s.AddEvent(ended, EventRebuilt, "", "")
	s.AddEvent(ended, EventDone, "", "")
	return s
}
