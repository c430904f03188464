package runs

import (
	"maps"
	"slices"

	"aiflow/internal/fault"
)

// Reworded is the stage as its reader should have it: what it stopped with in
// the reader's words, whoever's language it was recorded in.
func (s *Stage) Reworded(words Words) *Stage {
	r := *s
	r.Error = s.Error.reworded(s, words)
	r.Steps = slices.Clone(s.Steps)
	for i := range r.Steps {
		r.Steps[i].Error = r.Steps[i].Error.reworded(s, words)
	}
	return &r
}

// reworded keeps the recorded words where nothing better is to be had: a code
// that this version does not know, a record without facts.
func (e *ErrorObject) reworded(s *Stage, words Words) *ErrorObject {
	if e == nil || !sayable(e.ReasonCode, e.Meta) {
		return e
	}
	r := *e
	r.Title, r.Message, r.Actions = words(e.ReasonCode, namedFacts(e.Meta, s.RequestID, s.RunID))
	r.Summary = r.Title
	return &r
}

// Reworded is errors.json in the reader's words.
func (e *Errors) Reworded(words Words) *Errors {
	if e == nil || !sayable(e.ReasonCode, e.Meta) {
		return e
	}
	r := *e
	r.Title, r.Message, r.Actions = words(e.ReasonCode, namedFacts(e.Meta, e.RequestID, e.RunID))
	if len(r.Actions) > 0 {
		r.SuggestedNext.Hint = r.Actions[0]
	}
	return &r
}

func sayable(code fault.Code, facts map[string]string) bool {
	return len(facts) > 0 && code != fault.UnknownError && code.Known()
}

// namedFacts are facts that also name the run, so that what the texts tell a
// person to type names it.
func namedFacts(facts map[string]string, requestID, runID string) fault.Facts {
	all := fault.Facts{"request_id": requestID, "run_id": runID}
	maps.Copy(all, facts)
	return all
}
