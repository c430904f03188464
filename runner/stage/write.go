package stage

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// New makes a run of a request whose lease is held. All that it writes through its
// project (the record, the request's file) and its repository (branches, commits,
// workspaces) first asks whether it still may: nobody who writes has to think of it.
func New(s *Setup, repo *gitops.Repo, req *reqmeta.Request, lease *locks.Lease) *Run {
	own := *s
	f := &writeGuard{lease: lease, guard: s.Guard}
	own.Project = s.Project.Guarded(f.check)
	return &Run{Setup: &own, writeGuard: f, Repo: repo.Guarded(f.check), Request: req, Lease: lease}
}

// Other is another run of the same request, under the same lease.
func (run *Run) Other(st *runs.Stage) *Run {
	dir := run.Project.Run(st.RequestID, st.RunID)
	plan, _ := dir.LoadPlan() // none is what a run has that stopped before it planned
	return &Run{Setup: run.Setup, writeGuard: run.writeGuard, Repo: run.Repo, Request: run.Request, Lease: run.Lease, Stage: st, Dir: dir, Plan: plan}
}

// writeGuard says whether a run may still write: its lease and its guard.
type writeGuard struct {
	lease    *locks.Lease
	guard    func() error
	stopping atomic.Bool // the run only records that it stops here
}

// check lets a guard that says INTERRUPTED end the run, which may then record that
// and put the request back.
func (f *writeGuard) check() error {
	err := f.lease.Check()
	if err == nil && f.guard != nil {
		err = f.guard()
	}
	if f.stopping.Load() && fault.Has(err, fault.Interrupted) {
		return nil
	}
	return err
}

// MayWrite says whether the run may still write. It is for what goes neither
// through the project nor through the repository: commands, folders, logs.
func (run *Run) MayWrite() error { return run.writeGuard.check() }

// Save writes stage.json.
func (run *Run) Save() error { return run.Dir.SaveStage(run.Stage) }

// SavePatch writes a patch and names it among those of the run.
func (run *Run) SavePatch(stepID string, attempt int, patch []byte) (string, error) {
	name, err := run.Dir.SavePatch(stepID, attempt, patch)
	if err == nil {
		run.Stage.Artifacts.Patches = appendOnce(run.Stage.Artifacts.Patches, name)
	}
	return name, err
}

// saveReport writes report.md as the run stands.
func (run *Run) saveReport() error {
	return run.Dir.RenderReport(run.Stage, run.Plan, reportFacts(run), run.Words.Text)
}

// restore gives the request file back what the run changed in it. A file that is no
// longer in the checkout is told: a run has no part in which branch a person looks
// at.
func (run *Run) restore() error {
	err := run.Project.RestoreRequest(run.Request, run.Stage)
	if fault.Has(err, fault.RequestNotFound) {
		run.Warn("work.request_gone", run.Stage, fault.Facts{"path": run.Request.Path})
		return nil
	}
	return err
}

// DropTemporary removes what was there only while the run ran.
func (run *Run) DropTemporary() {
	if run.MayWrite() == nil {
		_ = os.RemoveAll(filepath.Join(run.Dir.Path, "tmp"))
	}
}
