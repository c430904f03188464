package runner

import (
	"context"
	"path"
	"strconv"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// Comparison is what a run changed: what it committed, and what its step at hand has
// made beyond that: so far, or until it stopped. Its JSON is part of the API.
type Comparison struct {
	gitops.Diff
	Uncommitted *Uncommitted `json:"uncommitted,omitempty"`
	Parts       []Part       `json:"parts"`
}

// Part is a change of the run for itself: what a step committed, or an attempt that
// was kept.
type Part struct {
	StepID  string `json:"step_id"`
	Attempt int    `json:"attempt,omitempty"` // of one that was kept
	Commit  string `json:"commit"`
}

// Uncommitted is the change of a step that became no commit.
type Uncommitted struct {
	StepID  string `json:"step_id"`
	Attempt int    `json:"attempt"`
	gitops.Diff
}

// Ends name what a comparison depends on.
type Ends struct {
	Base, Head string // of the run's commits
	StepID     string // of what is not committed; "" is none
	Attempt    int
	Kept       string // its commit
	Parts      []Part
}

// EndsOf finds what is to be compared for a run.
func EndsOf(ctx context.Context, p *project.Project, st *runs.Stage) (Ends, error) {
	e := Ends{Base: st.Git.BaseCommit, Head: st.Tip(), Parts: []Part{}}
	if e.Head == "" {
		return e, noRun(nil, "run_id", st.RunID, "request_id", st.RequestID)
	}
	for _, c := range st.Git.Commits {
		if c.StepID != runs.RecordStep {
			e.Parts = append(e.Parts, Part{StepID: c.StepID, Commit: c.Hash})
		}
	}
	kept := keptAttempts(ctx, p, st.RunID)
	e.Parts = append(e.Parts, kept...)
	step := st.Current()
	if step == nil || step.Status.Settled() {
		return e, nil
	}
	if !st.State.Ended() {
		if now, err := commitOfWorkspace(ctx, p, st); err == nil && now != e.Head { // without it the commits are still shown
			e.StepID, e.Attempt, e.Kept = step.StepID, max(step.Attempt, 1), now
		}
		return e, nil
	}
	for _, k := range kept {
		if k.StepID == step.StepID && k.Attempt > e.Attempt {
			e.StepID, e.Attempt, e.Kept = k.StepID, k.Attempt, k.Commit
		}
	}
	return e, nil
}

// keptAttempts are none where git cannot say.
func keptAttempts(ctx context.Context, p *project.Project, runID string) []Part {
	refs, _ := refsBelow(ctx, p.Git(), runs.AttemptsOf(runID))
	var all []Part
	for _, ref := range refs {
		if n, err := strconv.Atoi(path.Base(ref.Name)); err == nil {
			all = append(all, Part{StepID: path.Base(path.Dir(ref.Name)), Attempt: n, Commit: ref.Commit})
		}
	}
	return all
}

// commitOfWorkspace is the commit of what the workspace of a run holds now.
func commitOfWorkspace(ctx context.Context, p *project.Project, st *runs.Stage) (string, error) {
	repo, err := gitops.Open(ctx, p.Git(), p.Dir)
	if err != nil {
		return "", err
	}
	var ws *gitops.Workspace
	ok := true
	if st.Git.Workspace == "." {
		ws, err = repo.InPlace(ctx)
	} else {
		ws, ok, err = repo.OpenWorktree(ctx, p.Path(st.Git.Workspace))
	}
	if err != nil || !ok {
		return "", fault.Wrap(err, fault.WorkspaceFailed, "path", st.Git.Workspace)
	}
	return gitops.SnapshotCommit(ctx, ws)
}

// Compare shows the changes between these ends.
func Compare(ctx context.Context, p *project.Project, e Ends, o gitops.DiffOptions) (Comparison, error) {
	c := Comparison{Parts: e.Parts}
	repo, err := gitops.Open(ctx, p.Git(), p.Dir)
	if err != nil {
		return c, err
	}
	if c.Diff, err = repo.Diff(ctx, e.Base, e.Head, o); err != nil || e.Kept == "" {
		return c, err
	}
	d, err := repo.Diff(ctx, e.Head, e.Kept, o)
	if err != nil {
		return c, err
	}
	c.Uncommitted = &Uncommitted{StepID: e.StepID, Attempt: e.Attempt, Diff: d}
	return c, nil
}
