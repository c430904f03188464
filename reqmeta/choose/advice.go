package choose

import (
	"slices"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// AdviseRunnable is what can be done with a request that nothing excludes.
func AdviseRunnable(id string) []fault.Advice {
	return []fault.Advice{fault.ToDo(fault.VerbRun, "aiflow run "+id)}
}

// AdviseOver is what can be done with one that is done or archived.
func AdviseOver(id string) []fault.Advice {
	return []fault.Advice{fault.ToDo(fault.VerbSet, "aiflow request set "+id+" status=ready")}
}

// Advise is what can be done now about a request that cannot run, first what helps
// most. Every face shows its answer; what waits for others is helped by what they
// need. depends are the dependencies that can be kept.
func (e *Exclusion) Advise(depends string) []fault.Advice {
	id, run := e.RequestID, e.Fact("run_id")
	ready := fault.ToDo(fault.VerbSet, "aiflow request set "+id+" status=ready")
	byName, fresh := fault.ToDo(fault.VerbRun, "aiflow run "+id), fault.ToDo(fault.VerbFresh, fault.Fresh(id, e.stacked))
	show, check := fault.ToSee(fault.VerbShow, "aiflow run show "+run), fault.ToSee(fault.VerbCheck, "aiflow request check "+proc.Word(e.Path))
	switch e.Kind {
	case "invalid", "invalid_line", "duplicate_id":
		return []fault.Advice{check}
	case "not_ready_draft":
		return []fault.Advice{ready}
	case "not_ready_blocked", "latest_needs_input":
		switch {
		case run == "":
			return []fault.Advice{ready}
		case e.Fact("reason") == string(fault.StageUnreadable):
			return []fault.Advice{fault.ToSee(fault.VerbDoctor, "aiflow doctor full"), fresh}
		}
		return []fault.Advice{show, fresh}
	case "not_ready_running": // nobody is at it: a run goes on where it stopped
		return []fault.Advice{byName, ready}
	case "not_ready_done_in":
		return []fault.Advice{byName}
	case "not_ready_done", "not_ready_archived":
		return AdviseOver(id)
	case "latest_done", "latest_landed":
		list := []fault.Advice{fault.ToSee(fault.VerbDiff, "aiflow run diff "+run), fault.ToDo(fault.VerbMerge, e.merges(e.Fact("branch")))}
		if e.Kind == "latest_done" {
			list = append(list, fault.ToDo(fault.VerbDrop, "aiflow run drop "+id))
		}
		return list
	case "latest_land_failed":
		return append([]fault.Advice{fault.ToSee(fault.VerbLogs, "aiflow run logs "+run), fault.ToSee(fault.VerbDiff, "aiflow run diff "+run)}, fault.AfterLandFailed(id, proc.Word(e.Fact("into")))...)
	case "latest_stale":
		list := []fault.Advice{fault.ToSee(fault.VerbDiff, "aiflow run diff "+run), fault.ToDo(fault.VerbDrop, "aiflow run drop "+id)}
		if e.Fact("again") == "true" {
			list = slices.Insert(list, 0, fault.ToDo(fault.VerbRestack, "aiflow run restack "+run))
		}
		return list
	case "base_unclear":
		return []fault.Advice{fault.ToDo(fault.VerbSwitch, "git switch -")}
	case "base_missing", "kept":
		switch {
		case e.ReasonCode == fault.ReplanRequired:
			replan := fault.ToDo(string(fault.ModeReplan), "aiflow run resume "+id+" --mode replan")
			replan.Mode = fault.ModeReplan
			return []fault.Advice{replan, fresh}
		case e.Line == 0:
			return []fault.Advice{fault.ToSee(fault.VerbDoctor, "aiflow doctor")}
		case e.Kind == "base_missing":
			return []fault.Advice{fault.ToSee(fault.VerbBranches, "git branch -a"), fault.ToDo(fault.VerbSet, "aiflow request set "+id+" base=")}
		}
		return []fault.Advice{check}
	case "lock_unreadable":
		return []fault.Advice{fault.ToSee(fault.VerbRelease, "aiflow lock list")}
	case "locked":
		return []fault.Advice{fault.ToSee(fault.VerbLogs, "aiflow run logs -f "+run), fault.ToDo(fault.VerbStop, "aiflow run stop "+id)}
	case "depends_not_found", "cycle", "cycle_with":
		return []fault.Advice{fault.ToDo(fault.VerbSet, "aiflow request set "+id+" depends_on="+depends)}
	}
	return []fault.Advice{fault.ToSee(fault.VerbExplain, "aiflow next --explain "+id)}
}

// merges is the command that takes over a branch.
func (e *Exclusion) merges(branch string) string {
	if e.merge != nil {
		return e.merge(branch)
	}
	return "git merge " + proc.Word(branch)
}

// maxGuessed is for how many of its missing dependencies a request is told what was
// probably meant.
const maxGuessed = 5

// lost are the dependencies of an exclusion that no request has.
type lost struct {
	ids   []string
	among *folder.Folder
}

// meant is what they probably were to be; "" when nobody can say.
func (l *lost) meant(by string) string {
	var list []string
	for _, id := range l.ids[:min(len(l.ids), maxGuessed)] {
		if m := l.among.Meant(id, by); m != "" {
			list = append(list, m)
		}
	}
	return reqmeta.Join(distinct(list))
}
