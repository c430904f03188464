package fault

import (
	"errors"
	"maps"
	"slices"
)

// Advice is one thing that a person can do now about a run, a lock or a request: a
// remedy changes something, a look only shows.
type Advice struct {
	Kind        string `json:"kind"` // remedy, look
	Verb        string `json:"verb"`
	Command     string `json:"command"`
	Mode        Mode   `json:"mode,omitempty"` // of resume
	Force       bool   `json:"force"`          // it would be refused without
	StepID      string `json:"step_id,omitempty"`
	Allowed     bool   `json:"allowed"`
	WhyNot      Code   `json:"why_not,omitempty"`
	Recommended bool   `json:"recommended"`
	Takes       bool   `json:"-"` // what a person left in the workspace: nothing is run again
}

// The kinds of advice.
const (
	Remedy = "remedy"
	Look   = "look"
)

// The verbs of advice that are no modes of resume.
const (
	VerbShow      = "show"
	VerbLogs      = "logs"
	VerbDiff      = "diff"
	VerbSuccessor = "successor" // the run that took the place of this one
	VerbCheck     = "check"
	VerbDoctor    = "doctor"
	VerbExplain   = "explain"
	VerbBranches  = "branches"

	VerbStop      = "stop"
	VerbStopAfter = "stop_after" // the session, after the runs that are under way
	VerbMerge     = "merge"
	VerbSwitch    = "switch"
	VerbDrop      = "drop"
	VerbRestack   = "restack"
	VerbRestore   = "restore" // a branch that was deleted
	VerbRun       = "run"
	VerbFresh     = "fresh" // a run from the first step on
	VerbSet       = "set"   // a value in the request's file
	VerbInit      = "init"
	VerbRelease   = "release"
	VerbWait      = "wait"
)

// Mode is how a person asks a stopped run to go on (D34).
type Mode string

// The three modes of D34.
const (
	ModeResume    Mode = "resume"
	ModeRetryStep Mode = "retry_step"
	ModeReplan    Mode = "replan"
)

// ToDo is a remedy that is allowed, ToSee a look.
func ToDo(verb, command string) Advice {
	return Advice{Kind: Remedy, Verb: verb, Command: command, Allowed: true}
}

// ToSee is a look.
func ToSee(verb, command string) Advice {
	return Advice{Kind: Look, Verb: verb, Command: command, Allowed: true}
}

// Fresh is the command that makes a request anew, where stacked on top of what waits
// to be merged.
func Fresh(id string, stacked bool) string {
	if stacked {
		return "aiflow run " + id + " --fresh --stack"
	}
	return "aiflow run " + id + " --fresh"
}

// AfterLandFailed is what helps where a landing's tests failed on a branch, besides
// mending the run's branch by hand: the request is done anew on top, or its result rejected.
// into is the branch as a word of a shell.
func AfterLandFailed(id, into string) []Advice {
	anew := ToDo(VerbRun, "aiflow run "+id+" --base "+into)
	anew.Recommended = true
	return []Advice{anew, ToDo(VerbDrop, "aiflow run drop "+id)}
}

// Best is the remedy that is recommended; false where there is none.
func Best(list []Advice) (Advice, bool) {
	i := slices.IndexFunc(list, func(a Advice) bool { return a.Recommended && a.Kind == Remedy })
	if i < 0 {
		return Advice{}, false
	}
	return list[i], true
}

// Lacks reports whether it is refused for something around what it is about, which
// has to be put right first.
func (a Advice) Lacks() bool {
	switch a.WhyNot {
	case "", ReplanRequired, RetryLimitExceeded, WorktreeDirty, NothingToDo, RequestNotFound, LockUnreadable:
		return false
	}
	return true
}

// WithAdvice are facts with the commands that sentences may name,
// by verb. What only has to be put right first is named too; "take" and "aside"
// are for what a person changes in the workspace, "rerun" where she changed nothing.
func WithAdvice(facts Facts, list []Advice) Facts {
	all := Facts{}
	maps.Copy(all, facts)
	for _, a := range list {
		if a.WhyNot != "" && !a.Lacks() {
			continue // what it is about refuses itself
		}
		all[a.Verb] = a.Command
		forced := a.Command
		if !a.Force {
			forced += " --force"
		}
		switch a.Mode {
		case ModeResume:
			all["take"] = forced
			if !a.Takes {
				all["rerun"] = a.Command
			}
		case ModeRetryStep:
			all["aside"] = forced
		}
	}
	return all
}

// Advised is an error with what can be done now about the run that it is of.
type Advised struct {
	Err    error
	Advice []Advice
}

func (a *Advised) Error() string { return a.Err.Error() }

// Unwrap gives the error itself.
func (a *Advised) Unwrap() error { return a.Err }

// AdviceOf is what comes with an error; nil is nothing.
func AdviceOf(err error) []Advice {
	if a := (*Advised)(nil); errors.As(err, &a) {
		return a.Advice
	}
	return nil
}
