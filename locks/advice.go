package locks

import (
	"aiflow/internal/fault"
	"aiflow/internal/flock"
)

// Advise is all that can be done now about a lock; every face shows its answer.
// One that is in use is waited for, or its holder is stopped; what nobody uses is
// released, with force where that is not certain.
func (e Entry) Advise() []fault.Advice {
	flag := e.flag()
	release := fault.ToDo(fault.VerbRelease, "aiflow lock release "+flag)
	switch {
	case e.flaw == flock.Directory: // nobody's to remove, not even by force
		release.Allowed, release.WhyNot = false, fault.LockUnreadable
	case e.Live && !e.Orphaned:
		release.Command += " --force"
		release.Force = true
	}
	if e.Orphaned || e.Verdict != Held && e.Verdict != Mine {
		release.Recommended = !release.Force
		return []fault.Advice{release}
	}
	var list []fault.Advice
	if e.RunID != "" {
		list = append(list, fault.ToSee(fault.VerbLogs, "aiflow run logs "+e.RunID+" -f"))
	}
	switch {
	case e.LockType == TypeQueue:
		list = append(list, fault.ToDo(fault.VerbStopAfter, "aiflow run stop --queue"))
		if !e.Away {
			list = append(list, fault.ToDo(fault.VerbStop, "aiflow run stop --queue --now"))
		}
	case e.RunID != "":
		if !e.Away {
			list = append(list, fault.ToDo(fault.VerbStop, "aiflow run stop "+e.RunID))
		}
	case e.LockType != TypeSlot: // a command holds it, no run
		list = append(list, fault.ToDo(fault.VerbWait, "aiflow lock exec "+flag+" --wait 30s -- COMMAND"))
	}
	return append(list, release)
}

// flag is how the lock is named on our command line.
func (e Entry) flag() string {
	k, _ := KeyOf(e.Path)
	if k.Type == TypeQueue {
		return "--queue"
	}
	return "--" + k.Type + " " + k.ID
}

// AdviceOf is what comes with an error: about the lock that refused, or else
// about the run that it is of.
func AdviceOf(err error) []fault.Advice {
	if f, ok := fault.As(err); ok && f.Facts["verdict"] != "" {
		if k, ok := KeyOf(f.Facts["path"]); ok {
			verdict := Verdict(f.Facts["verdict"])
			return Entry{
				Record:  Record{LockType: k.Type, RunID: f.Facts["run_id"]},
				Verdict: verdict, Live: verdict != Dead && verdict != Expired, Path: f.Facts["path"],
				Away: f.Facts["away"] != "",
			}.Advise()
		}
	}
	return fault.AdviceOf(err)
}
