package stage

import (
	"strconv"
	"time"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// Event is one thing that happened during a run.
type Event struct {
	Kind      EventKind
	RequestID string
	RunID     string
	Title     string // of the request or step
	Step      int    // from 1; 0 outside of steps
	Steps     int
	StepID    string
	What      string // the command, path, or text that it is about
	Count     int
	Note      project.Note
	Until     time.Time // of Waiting
}

// EventKind names an event. Its sentence is "work.event_<kind>".
type EventKind string

// The kinds of events.
const (
	SessionBegun EventKind = "session" // What: when it will stop, and why
	Waiting      EventKind = "waiting" // What: for whom; Until: as long as that
	Chosen       EventKind = "chosen"
	Skipped      EventKind = "skipped" // chosen, but no longer runnable once locked
	BaseTold     EventKind = "base"    // what it starts from (What), where that is not the branch checked out (Title)
	StackTold    EventKind = "stacked" // the request (What) and branch (Title) on which it starts, not merged
	Found        EventKind = "found"   // an interrupted run that goes on
	LockTaken    EventKind = "lock_recovered"
	StraysEnded  EventKind = "strays_ended"
	AttemptKept  EventKind = "attempt_kept"
	StepAdopted  EventKind = "step_adopted" // committed before the runner died
	WorkspaceUp  EventKind = "workspace"
	StepBegun    EventKind = "step"
	RoleBegun    EventKind = "role"      // What: role and provider
	RoleFailed   EventKind = "role_fail" // a try of a role cannot be used; What: why
	SentBack     EventKind = "sent_back" // to the implementer; What: why
	SetAside     EventKind = "set_aside" // commits of earlier steps that are done again; What: their name
	Uncommitted  EventKind = "rejoined"  // what a command committed by itself became the step's
	CommandBegun EventKind = "command"
	TestBegun    EventKind = "test"
	StepDone     EventKind = "step_done"
	Ended        EventKind = "ended" // of a run of a session that does several; What: state and reason
	Finishing    EventKind = "finishing"
	Noted        EventKind = "noted" // What: the sentence
	Warned       EventKind = "warning"
	Repaired     EventKind = "repaired"
)

// Facts are what the event's sentence may name. While there is no plan yet no
// step is counted.
func (e Event) Facts() fault.Facts {
	f := fault.NewFacts("id", e.RequestID, "run_id", e.RunID, "title", e.Title, "step_id", e.StepID, "name", e.What, "count", e.Count)
	if e.Steps > 0 {
		f["step"], f["steps"] = strconv.Itoa(e.Step), strconv.Itoa(e.Steps)
	}
	return f
}

// Tell is Setup.Tell for what happens in this run; it is also logged.
func (run *Run) Tell(e Event) {
	e.RequestID = run.Request.ID
	if run.Stage != nil {
		e.RunID, e.Steps = run.Stage.RunID, len(run.Stage.Steps)
	}
	run.logEvent(e)
	run.Setup.Tell(e)
}

// Note tells something about a step, now and in the report.
func (run *Run) Note(s *runs.Step, key string) {
	run.NoteText(s, run.Words.Text(key, nil))
}

// NoteText tells a text about a step, now and in the report.
func (run *Run) NoteText(s *runs.Step, text string) {
	s.Notes = appendOnce(s.Notes, text)
	run.Tell(Event{Kind: Warned, StepID: s.StepID, What: s.StepID + ": " + text})
}
