package project

import (
	"testing"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// A guarded project writes neither record nor request nor by git, and says why;
// what it is made of goes on as before.
func TestGuardedProject(t *testing.T) {
	p := openHere(t, "---\nstatus: ready\n---\n# One\n")
	st := begun(t, p)
	no := fault.New(fault.LockLost)
	g := p.Guarded(func() error { return no })
	req := reqmeta.Parse("requests/RQ-1.md", []byte("---\nstatus: ready\n---\n"))
	req.Path = "requests/RQ-1.md"
	dir := g.Run(st.RequestID, st.RunID)
	_, patched := dir.SavePatch("S01", 1, []byte("x"))
	_, byGit := g.Git().Do(t.Context(), "update-ref", "refs/x", "HEAD")
	for name, err := range map[string]error{
		"stage": dir.SaveStage(st), "request": g.SetStatus(req, reqmeta.Done), "errors": dir.RemoveErrors(), "patch": patched,
		"report": dir.SaveReport("x"), "before": dir.SaveRequest([]byte("x")), "git": byGit,
	} {
		if !fault.Has(err, fault.LockLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.Run(st.RequestID, st.RunID).SaveStage(st); err != nil {
		t.Error(err)
	}
	if err := p.SetStatus(req, reqmeta.Done); err != nil {
		t.Error(err)
	}
}
