package stage

import (
	"os"
	"path/filepath"

	"aiflow/internal/fault"
	"aiflow/runs"
)

// MayWrite says whether the run may still write: its lock and its guard. It is
// asked directly before each write that others see and before each command.
func (run *Run) MayWrite() error {
	if err := run.Lease.Check(); err != nil || run.Guard == nil {
		return err
	}
	return run.Guard()
}

// mayStop says whether the run may still record that it stops here and put the
// request back. A guard that says INTERRUPTED ends the run and allows that.
func (run *Run) mayStop() error {
	err := run.MayWrite()
	if fault.Has(err, fault.Interrupted) {
		return nil
	}
	return err
}

// Save writes stage.json under a lease that is still ours.
func (run *Run) Save() error {
	if err := run.MayWrite(); err != nil {
		return err
	}
	return run.Dir.SaveStage(run.Stage)
}

// SavePatch writes a patch and names it among those of the run.
func (run *Run) SavePatch(stepID string, attempt int, patch []byte) (string, error) {
	if err := run.MayWrite(); err != nil {
		return "", err
	}
	name, err := run.Dir.SavePatch(stepID, attempt, patch)
	if err == nil {
		run.Stage.Artifacts.Patches = appendOnce(run.Stage.Artifacts.Patches, name)
	}
	return name, err
}

// saveReport writes report.md as the run stands.
func (run *Run) saveReport() error {
	if err := run.MayWrite(); err != nil {
		return err
	}
	return run.renderReport()
}

func (run *Run) renderReport() error {
	return run.Dir.RenderReport(run.Stage, run.Plan, reportFacts(run), run.Words.Text)
}

func (run *Run) saveErrors(e *runs.Errors) error {
	if err := run.MayWrite(); err != nil {
		return err
	}
	return run.Dir.SaveErrors(e)
}

// restore gives the request file back what the run changed in it.
func (run *Run) restore() error {
	if err := run.MayWrite(); err != nil {
		return err
	}
	return run.unlessGone(run.Project.RestoreRequest(run.Request, run.Stage))
}

// unlessGone tells, instead of failing, that the request's file is no longer in
// the checkout: a run has no part in which branch a person looks at.
func (run *Run) unlessGone(err error) error {
	if fault.Has(err, fault.RequestNotFound) {
		run.Warn("work.request_gone", run.Stage, fault.Facts{"path": run.Request.Path})
		return nil
	}
	return err
}

// DropTemporary removes what was there only while the run ran.
func (run *Run) DropTemporary() { _ = os.RemoveAll(filepath.Join(run.Dir.Path, "tmp")) }
