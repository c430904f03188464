package runner

import (
	"context"
	"time"

	"aiflow/internal/fault"
	"aiflow/runner/land"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// landWait is how long a session waits for a landing of somebody else onto its branch.
const landWait = 10 * time.Minute

// openLanding readies the branch onto which a session lands its runs, and from which
// it starts them: it is made where runs would start otherwise, and what a session
// before this one finished lands first. Faults: LAND_INTO_CHECKED_OUT, and those of git.
func (a *auto) openLanding(ctx context.Context) error {
	into := a.o.LandInto
	repo, err := a.r.OpenRepo(ctx)
	if err != nil {
		return err
	}
	if err := land.CheckInto(repo, into); err != nil {
		return err
	}
	if at := repo.CheckedOut(ctx, into); at != "" {
		return fault.New(fault.LandIntoCheckedOut, "branch", into, "path", at)
	}
	_, ok, err := repo.BranchTip(ctx, into)
	if err == nil && !ok {
		var commit string
		if _, commit, err = repo.ResolveBase(ctx, a.r.Project.Config.Git.BaseBranch); err == nil {
			err = repo.CreateBranch(ctx, into, commit)
		}
	}
	if err != nil {
		return err
	}
	out, err := a.land(ctx)
	for _, left := range out.LeftOut {
		a.r.Tell(stage.Event{
			Kind: stage.Warned, RequestID: left.RequestID, RunID: left.RunID,
			What: left.RequestID + ": " + a.r.Words.Text("work.auto_not_landed", fault.Facts{"reason": string(fault.CodeOf(left.Err))}),
		})
	}
	return err
}

// land lands the runs that are named, all that are finished without a name.
func (a *auto) land(ctx context.Context, names ...string) (land.Result, error) {
	l := land.Lander{
		Project: a.r.Project, Text: a.r.Words.Text, Hurry: a.r.Hurry, Point: a.r.Point,
	}
	return l.Land(ctx, land.Options{Names: names, Into: a.o.LandInto, Wait: landWait})
}

// landRun lands a finished run of the session and says what came of it. What cannot
// land stays a finished branch; the session goes on.
func (a *auto) landRun(ctx context.Context, out Outcome) (into string, why fault.Code) {
	if a.o.LandInto == "" || out.Stage == nil || out.Stage.State != runs.Done || ctx.Err() != nil {
		return "", ""
	}
	a.landing.Lock()
	defer a.landing.Unlock()
	got, err := a.land(ctx, out.RunID)
	if err == nil {
		err = got.Err()
	}
	if ctx.Err() != nil && err != nil {
		err = interruption(ctx) // the next session, or a landing, takes it over
	}
	if err != nil {
		return "", fault.CodeOf(err)
	}
	return got.Into, ""
}
