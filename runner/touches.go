package runner

import (
	"context"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// beside refuses a request while another one is at work that may change the same files,
// as the `touches` of both say. Who asks has its own lock and slot by then, so that of two
// that begin at once one at least sees the other. Fault: TOUCHES_TAKEN.
func beside(p *project.Project, f *folder.Folder, req *reqmeta.Request) error {
	if len(req.Meta.Touches) == 0 {
		return nil
	}
	m, err := p.Locks()
	if err != nil {
		return err
	}
	all, err := m.List()
	if err != nil {
		return err
	}
	for _, e := range all {
		if !e.Live || e.RequestID == "" || e.RequestID == req.ID || !works(all, e) {
			continue
		}
		if reqmeta.Meet(req.Meta.Touches, claims(p, f, e)) {
			return fault.New(fault.TouchesTaken, "id", req.ID, "request_id", e.RequestID, "run_id", e.RunID, "pid", e.PID, "hostname", e.Hostname)
		}
	}
	return nil
}

// claims are the globs of a run in hand: those that it began with, whatever its request
// says by now.
func claims(p *project.Project, f *folder.Folder, e locks.Entry) []string {
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

// works: who holds the lock of a request has a slot too, as only runs do.
func works(all []locks.Entry, e locks.Entry) bool {
	for _, o := range all {
		if o.Live && o.LockType == locks.TypeSlot && o.PID == e.PID && o.PIDStart == e.PIDStart && o.Host == e.Host {
			return true
		}
	}
	return false
}

// touchPause is between two looks whether the files are free.
const touchPause = time.Second

// patiently tries again while the files of a request are taken, for at most wait.
func patiently(ctx context.Context, p *project.Project, wait time.Duration, try func() (Outcome, error)) (Outcome, error) {
	for until := p.Now().Add(wait); ; {
		out, err := try()
		if !fault.Has(err, fault.TouchesTaken) || !p.Now().Before(until) {
			return out, err
		}
		if err := proc.Sleep(ctx, touchPause); err != nil {
			return Outcome{}, err
		}
	}
}
