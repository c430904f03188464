package revive

import "aiflow/runs"

// The rules of a run that goes on, as far as its workspace decides; what its record
// decides is runs.Resume's. They look at nothing but their arguments.

// next is what a run does once its workspace is ready.
type next string

const (
	begins   next = "begin"  // with the plan
	works    next = "work"   // on the step, then on those after it
	tests    next = "test"   // what is there
	finishes next = "finish" // with report and last commit
)

// continuation is what a run does when it goes on, from the first field to the last.
type continuation struct {
	recordsFirst bool // in its record, what it does to the workspace
	setsAside    bool // the commits of the step and of those after it
	putsBack     bool // the workspace, to the beginning of the step
	next         next
}

// continuationAt is what a run does at a point. ended: it had stopped with a reason.
// interrupted: its runner died, and nobody touched the workspace on purpose since.
func continuationAt(at runs.Point, ended, interrupted, inPlace bool) continuation {
	switch at.State {
	case runs.Planning:
		return continuation{next: begins}
	case runs.Reporting:
		return continuation{next: finishes}
	case runs.Testing:
		return continuation{next: tests}
	}
	return continuation{
		// After a crash nobody takes what is half put back for a person's work.
		recordsFirst: at.Back || at.Reset && ended,
		setsAside:    at.Back,
		// A power cut may take the record of a step's start and leave what it did.
		putsBack: at.Reset || interrupted && !inPlace,
		next:     works,
	}
}

// pointForChanges is the point where a run goes on that finds in its workspace what neither
// its last commit nor the kept attempt has; false: a person has to say what becomes of it.
func pointForChanges(at runs.Point, ended bool) (runs.Point, bool) {
	switch {
	case at.Changed == runs.ChangedTake: // never with Back, which is a retry
		at.State, at.Reset = runs.Testing, false
	case at.Changed == runs.ChangedDiscard, !ended: // not ended: a command that was killed left it
		at.Reset = true
	default:
		return at, false
	}
	return at, true
}
