package runner

import (
	"context"

	"aiflow/internal/fault"
	"aiflow/runner/revive"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// ResumeOptions say how a stopped run goes on (seed 001 section 4).
type ResumeOptions struct {
	RequestID string
	RunID     string // "" is the newest run of the request
	Mode      runs.Mode
	Step      string // target_step_id; "" is where the run stopped
	Answer    string // to what a role asked; it is told so the next time
	Force     bool   // go on beyond the retry limits, and with a workspace that somebody changed
}

// Resume goes on with a run that stopped. A refusal changes
// nothing.
func (r *Runner) Resume(ctx context.Context, o ResumeOptions) (Outcome, error) {
	out, err := r.resume(ctx, o)
	if f, ok := fault.As(err); ok && o.Step != "" && f.Code != fault.StepNotAvailable && out.RunID == "" {
		f.Facts["target_step_id"] = o.Step
	}
	return out, revive.Advised(ctx, &r.Setup, err)
}

func (r *Runner) resume(ctx context.Context, o ResumeOptions) (Outcome, error) {
	s, err := r.survey(ctx, Options{})
	if err != nil {
		return Outcome{}, err
	}
	req, err := s.Folder.Get(o.RequestID)
	if err == nil && req.ID != o.RequestID { // its file is gone, and another id begins with its own
		err = fault.New(fault.RequestNotFound, "id", o.RequestID)
	}
	if err != nil {
		return Outcome{}, err
	}
	lease, err := r.lockRequest(ctx, req.ID, Options{})
	if err != nil {
		return Outcome{}, err
	}
	defer lease.Release()
	slot, err := r.Project.TakeSlot(lease.Context(), 0)
	if err != nil {
		return Outcome{}, err
	}
	defer slot.Release()
	if err := checkTouches(r.Project, s.Folder, req); err != nil {
		return Outcome{}, err
	}
	last, err := r.newest(req.ID, o.RunID)
	if err != nil {
		return Outcome{}, err
	}
	repo, err := r.OpenRepo(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if err := checkWritable(r); err != nil {
		return Outcome{}, err
	}
	run := stage.New(&r.Setup, repo, req, lease)
	run.Survey, run.Slot = s, slot
	out, err := revive.Resume(slot.Context(), run, last, runs.Ask{Mode: o.Mode, Step: o.Step, Force: o.Force}, o.Answer)
	return Outcome{Outcome: out}, err
}

// newest loads the run to go on with. An older one cannot: its workspace has
// gone to the newest.
func (r *Runner) newest(requestID, runID string) (*runs.Stage, error) {
	last, err := runs.Latest(r.Project.Dir, r.Project.RunsDir(), requestID)
	if err != nil {
		return nil, err
	}
	if st, err := r.Project.Run(requestID, runID).LoadStage(); runID != "" && err == nil && st.DroppedAt != nil {
		return nil, nothingToDo("dropped", "request_id", requestID, "run_id", runID)
	}
	if last == nil {
		return nil, noRun(nil, "request_id", requestID)
	}
	if runID != "" && runID != last.RunID {
		return nil, nothingToDo("replaced", "request_id", requestID, "run_id", last.RunID)
	}
	return last, nil
}
