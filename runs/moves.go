package runs

import (
	"slices"
	"strconv"
	"time"

	"aiflow/internal/fault"
)

// Moves is the table of allowed moves. A state that is not ended may also stay
// where it is (an interrupted run goes on).
func Moves() map[State][]State {
	return map[State][]State{
		Init:         {Planning, NeedsInput, Failed},
		Planning:     {Implementing, NeedsInput, Failed},
		Implementing: {Testing, Reporting, NeedsInput, Failed},
		Testing:      {Implementing, Reporting, NeedsInput, Failed},
		Reporting:    {Implementing, Done, NeedsInput, Failed},
		Done:         {NeedsInput}, // only a restack that a person has to help, and back
		NeedsInput:   {Planning, Implementing, Testing, Reporting, Done, NeedsInput, Failed},
		Failed:       {Planning, Implementing, Testing, Reporting, NeedsInput, Failed},
	}
}

// CanMove reports whether a run may go from one state to the other.
func CanMove(from, to State) bool {
	return from == to && !from.Ended() || slices.Contains(Moves()[from], to)
}

// Move goes to another state. A move that the table does not know is
// INTERNAL_ERROR and changes nothing. Leaving an ended state clears the end
// time and the error.
func (s *Stage) Move(to State, now time.Time) error {
	if !CanMove(s.State, to) {
		return mistake(s, "illegal_move", "from", s.State, "to", to, "cause", "illegal move "+string(s.State)+" -> "+string(to))
	}
	if s.State.Ended() && (!to.Ended() || to == Done) {
		s.Error, s.Deaths = nil, 0
	}
	s.EndedAt = nil
	if to.Ended() {
		s.EndedAt = &now
	}
	s.State = to
	s.touch(now)
	return nil
}

// RestackStopped: the run was finished, and its commits collide with what is below
// them by now. Its branch is as it was until a person has moved it.
func (s *Stage) RestackStopped() bool {
	return s.State == NeedsInput && s.Error != nil && s.Error.ReasonCode == fault.StackConflict && len(s.Steps) > 0 && s.next() == len(s.Steps)
}

// RestackRef has the branch of a run as it was before the nth try to move it.
func RestackRef(s *Stage, n int) string {
	return AttemptsOf(s.RunID) + "/restack/" + strconv.Itoa(n)
}

// RestackTries is how often a run was moved, or could not be.
func RestackTries(s *Stage) int {
	n := 0
	for _, e := range s.History {
		if e.Event == EventRestacked || e.Event == EventNeedsInput && e.ReasonCode == string(fault.StackConflict) {
			n++
		}
	}
	return n
}

func (s *Stage) touch(now time.Time) {
	s.UpdatedAt = now
	s.Progress.Percent = percent(s)
}

// percent follows D22's guide: planning from 15, steps from 30 to 96.
func percent(s *Stage) int {
	switch s.State {
	case Init:
		return 0
	case Planning:
		return 15
	case Reporting:
		return 96
	case Done:
		return 100
	}
	if len(s.Steps) == 0 {
		return 15
	}
	settled := 0
	for _, p := range s.Steps {
		if p.Status.Settled() {
			settled++
		}
	}
	return 30 + 66*settled/len(s.Steps)
}
