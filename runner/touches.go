package runner

import (
	"slices"
	"time"

	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// checkTouches refuses a request while another one is at work that may change the same files,
// as the `touches` of both say. Who asks has its own lock and slot by then, so that of two
// that begin at once one at least sees the other. Fault: TOUCHES_TAKEN.
func checkTouches(p *project.Project, f *folder.Folder, req *reqmeta.Request) error {
	if len(req.Meta.Touches) == 0 {
		return nil
	}
	all, err := p.Locks().List()
	if err != nil {
		return err
	}
	for _, e := range all {
		if !e.Live || e.RequestID == "" || e.RequestID == req.ID || !slices.ContainsFunc(all, func(o locks.Entry) bool { // it has a slot too, as only runs do
			return o.Live && o.LockType == locks.TypeSlot && o.PID == e.PID && o.PIDStart == e.PIDStart && o.Host == e.Host
		}) {
			continue
		}
		if reqmeta.Meet(req.Meta.Touches, touchesOf(p, f, e)) {
			return fault.New(fault.TouchesTaken, "id", req.ID, "request_id", e.RequestID, "run_id", e.RunID, "pid", e.PID, "hostname", e.Hostname)
		}
	}
	return nil
}

// touchesOf are the globs of a run that is under way: those that it began with, whatever its request
// says by now.
func touchesOf(p *project.Project, f *folder.Folder, e locks.Entry) []string {
	if e.RunID != "" {
		if data, err := p.Run(e.RequestID, e.RunID).LoadRequest(); err == nil {
			return p.Mapping().Parse(e.RequestID+".md", data).Meta.Touches
		}
	}
	if r := f.Unique(e.RequestID); r != nil {
		return r.Meta.Touches
	}
	return nil
}

// touchesPoll is between two looks whether the files are free.
const touchesPoll = time.Second
