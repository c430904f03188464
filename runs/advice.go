package runs

import (
	"cmp"
	"slices"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// Now is what a record does not say itself: how things are at this moment.
type Now struct {
	Live      bool       // somebody works for the run
	Newest    string     // run of the request, where it is another one
	Merge     string     // the command that merges its branch; "" where nothing waits to be merged
	Restore   string     // the command that puts its branch back, which a restack that needs a person lacks
	Stale     bool       // what it stands on has changed: its branch is to be moved before it is merged
	Restacks  bool       // and can be
	Fails     string     // the branch on top of which a landing's tests failed with it; "" is none
	Branch    bool       // its branch is there
	Gone      bool       // the request has no file any more
	Found     Found      // in its workspace
	OldSteps  bool       // the request asks for other steps by now
	Lacks     fault.Code // what has to be put right around the run before it goes on
	LacksAnew fault.Code // and before a new one begins
	Doctor    fault.Code // with which doctor refuses
	Step      string     // an earlier one, with which a person wants to go on; "" is where the run stands
	Retries   int        // how often one step may be tried again
}

// Found is what somebody left in the workspace of a run that stopped.
type Found struct {
	Conflicts bool // that nobody has resolved
	Commits   bool // that are not the run's
	Files     bool // that differ from what the run left
}

// Advise is all that can be done now about a run; every face shows its answer.
// A run whose place another one took is only looked at.
func Advise(s *Stage, p *Plan, now Now) []fault.Advice {
	if newer := cmp.Or(s.ReplacedBy, now.Newest); newer != "" && s.DroppedAt == nil {
		return []fault.Advice{look(fault.VerbSuccessor, newer)}
	}
	list := []fault.Advice{look("show", s.RunID), look("logs", s.RunID)}
	if now.Live {
		list[1].Command += " -f"
	}
	if now.Branch {
		list = append(list, look("diff", s.RunID))
	}
	restack := fault.Advice{Kind: fault.Remedy, Verb: fault.VerbRestack, Command: "aiflow run restack " + s.RunID, Allowed: true, Recommended: true}
	switch {
	case s.DroppedAt != nil:
		return list
	case now.Live:
		return append(list, fault.ToDo(fault.VerbStop, "aiflow run stop "+s.RunID))
	case now.Restacks:
		return append(list, restack)
	case now.Stale:
		return append(list, fault.ToDo(fault.VerbDrop, "aiflow run drop "+s.RunID))
	case now.Fails != "":
		list[1].Recommended = true
		return append(list, fault.AfterLandFailed(s.RequestID, proc.Word(now.Fails))...)
	case now.Merge != "":
		return append(list, fault.Advice{Kind: fault.Remedy, Verb: fault.VerbMerge, Command: now.Merge, Allowed: true, Recommended: true})
	case s.State == Done:
		return list
	case s.RestackStopped():
		if now.Restore != "" {
			restack.Verb, restack.Command = fault.VerbRestore, now.Restore
		}
		return append(list, restack, now.way(s, p, ModeReplan))
	}
	ways := []fault.Advice{now.way(s, p, ModeResume), now.way(s, p, ModeRetryStep), now.way(s, p, ModeReplan)}
	if i := now.best(s, p, ways); i >= 0 {
		ways[i].Recommended = true
	}
	return append(list, ways...)
}

// Fresh is the command that makes a request anew whose last run is s, on top of what
// waits to be merged where that one was.
func Fresh(s *Stage) string {
	return fault.Fresh(s.RequestID, len(s.Git.StackedOn) > 0)
}

func look(verb, runID string) fault.Advice {
	command := "aiflow run " + verb + " " + runID
	if verb == fault.VerbSuccessor {
		command = "aiflow run show " + runID
	}
	return fault.Advice{Kind: fault.Look, Verb: verb, Command: command, Allowed: true, Recommended: verb == fault.VerbSuccessor}
}

// way is one mode of resume, with force where it would be refused without.
func (n Now) way(s *Stage, p *Plan, mode Mode) fault.Advice {
	a := fault.Advice{Kind: fault.Remedy, Verb: string(mode), Command: "aiflow run resume " + s.RunID, Mode: mode}
	if mode != ModeResume {
		a.Command += " --mode " + string(mode)
	}
	switch {
	case mode == ModeReplan:
	case n.Step != "":
		a.Command += " --step " + n.Step
		a.StepID = n.Step
	case mode == ModeRetryStep:
		a.StepID = s.CurrentStepID
	}
	a.WhyNot = n.refuses(s, p, mode, false)
	if a.WhyNot != "" && n.refuses(s, p, mode, true) != a.WhyNot {
		a.Command += " --force"
		a.Force, a.WhyNot = true, n.refuses(s, p, mode, true)
	}
	a.Takes = mode == ModeResume && n.Found != (Found{})
	lacks := n.Lacks // what has to be put right around the run first
	if mode == ModeReplan {
		lacks = n.LacksAnew
	}
	a.WhyNot = cmp.Or(a.WhyNot, lacks, n.Doctor)
	a.Allowed = a.WhyNot == ""
	return a
}

// refuses is why the run itself does not go on so.
func (n Now) refuses(s *Stage, p *Plan, mode Mode, force bool) fault.Code {
	at, err := Resume(s, p, Ask{Mode: mode, Step: n.Step, Force: force}, n.Retries)
	switch {
	case err != nil:
		return fault.CodeOf(err)
	case n.Gone:
		return fault.RequestNotFound
	case at.NewRun:
		return ""
	case mode == ModeRetryStep && (at.State == Planning || at.State == Reporting):
		return fault.NothingToDo
	case n.OldSteps && at.State != Planning && !force:
		return fault.ReplanRequired
	case s.State.Ended() && !at.Takes(n.Found):
		return fault.WorktreeDirty
	}
	return ""
}

// Takes reports whether the run goes on at this point with what is in its
// workspace.
func (p Point) Takes(f Found) bool {
	if p.NewRun || p.Changed == ChangedDiscard {
		return true
	}
	return !f.Conflicts && (p.State != Implementing || p.Changed == ChangedTake || !f.Commits && !f.Files)
}

// best is the way that helps most, -1 where there is none. What a person did in
// the workspace is gone on with.
func (n Now) best(s *Stage, p *Plan, ways []fault.Advice) int {
	if n.Found != (Found{}) {
		return slices.IndexFunc(ways, func(a fault.Advice) bool { return a.Mode == ModeResume && a.Allowed })
	}
	found, least := -1, 3
	for i, a := range ways {
		rank := 2
		switch {
		case !a.Allowed:
			continue
		case a.Force: // beyond a limit, or against the request as it is
		case a.Mode == helps(s, p):
			rank = 0
		default:
			rank = 1
		}
		if rank < least {
			found, least = i, rank
		}
	}
	return found
}

// helps is the mode that helps this run. A command does again what it
// did; an AI command that is told may do better.
func helps(s *Stage, p *Plan) Mode {
	switch code := stopReason(s); {
	case !s.State.Ended():
		return ModeResume
	case s.State == Failed && code != fault.StageWriteFailed:
		return ModeReplan
	case code == fault.RetryLimitExceeded && s.Error != nil && s.Error.Meta["no_plan"] != "":
		return ModeResume // what went wrong is nothing that a plan decides
	case code == fault.ForbiddenPathTouched && s.Error != nil && s.Error.Meta["touches"] != "":
		return ModeRetryStep // its request says by now what it touches
	case (code == fault.ForbiddenPathTouched || code == fault.GHDependencyDetected) && p.stepNeedsRole(s.CurrentStepIndex):
		return ModeRetryStep
	default:
		return Recommended(code)
	}
}

func (p *Plan) stepNeedsRole(i int) bool { return p != nil && i < len(p.Steps) && p.Steps[i].Run == "" }

// NeedsRole reports whether a step that is not settled has no command.
func (s *Stage) NeedsRole(p *Plan) bool {
	for i := range s.Steps {
		if p.stepNeedsRole(i) && p.Steps[i].Test == "" && !s.Steps[i].Status.Settled() {
			return true
		}
	}
	return false
}
