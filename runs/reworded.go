package runs

import (
	"maps"
	"slices"

	"aiflow/internal/fault"
)

// Reworded is the stage as its reader should have it: what it stopped with in
// the reader's words, whoever's language it was recorded in, and what can be
// done about it now.
func (s *Stage) Reworded(words Words, list []fault.Advice) *Stage {
	r := *s
	r.Error = s.Error.reworded(s, words, list)
	r.Steps = slices.Clone(s.Steps)
	for i := range r.Steps {
		r.Steps[i].Error = r.Steps[i].Error.reworded(s, words, list)
	}
	return &r
}

// reworded keeps the recorded words where nothing better is to be had: a code
// that this version does not know, a record without facts.
func (e *ErrorObject) reworded(s *Stage, words Words, list []fault.Advice) *ErrorObject {
	if e == nil || !sayable(e.ReasonCode, e.Meta) {
		return e
	}
	r := *e
	r.Title, r.Message, r.Actions = words.now(e.ReasonCode, e.Meta, s.RequestID, s.RunID, list)
	r.Summary = r.Title
	return &r
}

// Reworded is errors.json in the reader's words, with what can be done now.
func (e *Errors) Reworded(words Words, list []fault.Advice) *Errors {
	if e == nil || !sayable(e.ReasonCode, e.Meta) {
		return e
	}
	r := *e
	r.Title, r.Message, r.Actions = words.now(e.ReasonCode, e.Meta, e.RequestID, e.RunID, list)
	r.SuggestedNext = suggest(&r, list)
	return &r
}

func sayable(code fault.Code, facts map[string]string) bool {
	return len(facts) > 0 && code != fault.UnknownError && code.Known()
}

// now are the texts about a stop, with the commands that are of use now. Of a run
// whose place another one took, that one is all there is to tell. What is refused
// for another reason than the one that the texts are about is not named: they do
// not say how to mend that. Of the machine the face says so.
func (w Words) now(code fault.Code, meta map[string]string, requestID, runID string, list []fault.Advice) (title, message string, actions []string) {
	list = slices.DeleteFunc(slices.Clone(list), func(a fault.Advice) bool {
		return a.Lacks() && a.WhyNot != code && a.WhyNot.Info().Category != fault.Environment
	})
	named := fault.Facts{"request_id": requestID, "run_id": runID} // what is told to be typed names the run
	maps.Copy(named, meta)
	facts := fault.WithAdvice(named, list)
	title, message, actions = w(code, facts)
	if facts[fault.VerbSuccessor] != "" {
		_, _, actions = w(fault.NothingToDo, fault.Facts{"reason": "replaced", fault.VerbSuccessor: facts[fault.VerbSuccessor]})
	}
	return title, message, actions
}
