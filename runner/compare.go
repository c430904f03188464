package runner

import (
	"context"
	"path"
	"strconv"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// Comparison is what a run changed: what it committed, and what the attempt
// left in which it stopped. Its JSON is part of the API.
type Comparison struct {
	gitops.Diff
	Uncommitted *Uncommitted `json:"uncommitted,omitempty"`
}

// Uncommitted is the change of a kept attempt that became no commit.
type Uncommitted struct {
	StepID  string `json:"step_id"`
	Attempt int    `json:"attempt"`
	gitops.Diff
}

// Ends name what a comparison depends on.
type Ends struct {
	Base, Head string // of the run's commits
	StepID     string // of the kept attempt; "" is none
	Attempt    int
	Kept       string // its commit
}

// EndsOf finds what is to be compared for a run.
func EndsOf(ctx context.Context, p *project.Project, st *runs.Stage) (Ends, error) {
	e := Ends{Base: st.Git.BaseCommit, Head: st.Git.BaseCommit}
	if n := len(st.Git.Commits); n > 0 {
		e.Head = st.Git.Commits[n-1].Hash
	}
	if e.Head == "" {
		return e, fault.New(fault.RunNotFound, "request_id", st.RequestID, "run_id", st.RunID)
	}
	step := st.Current()
	if step == nil || step.Status.Settled() || !st.State.Ended() {
		return e, nil
	}
	out, err := p.Git().Ask(ctx, "for-each-ref", "--format=%(objectname) %(refname)", path.Dir(stage.AttemptRef(st.RunID, step.StepID, 1)))
	if err != nil {
		return e, nil // without it the commits are still shown
	}
	for line := range strings.Lines(string(out)) {
		hash, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(path.Base(ref)); err == nil && n > e.Attempt {
			e.StepID, e.Attempt, e.Kept = step.StepID, n, hash
		}
	}
	return e, nil
}

// Compare shows the changes between these ends.
func Compare(ctx context.Context, p *project.Project, e Ends, o gitops.DiffOptions) (Comparison, error) {
	repo, err := gitops.Open(ctx, p.Git(), p.Dir)
	if err != nil {
		return Comparison{}, err
	}
	var c Comparison
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
