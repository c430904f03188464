package doctor

import (
	"context"
	"strings"

	"aiflow/internal/fault"
	"aiflow/project"
)

// Gate is what a run asks before it starts or goes on: nil, WORKTREE_DIRTY
// when a dirty checkout is all that stands in the way, or DOCTOR_FAILED with
// the fact checks. It looks only at what every run needs and what can fail, so a
// run pays little for it; what only some requests need is a precondition of those.
func Gate(ctx context.Context, p *project.Project) error {
	x := &examiner{Options: Options{Env: p.Env, Mode: Quick}, p: p}
	gate(ctx, x)
	var failed []Check
	for _, c := range x.checks {
		if c.Status == Fail {
			failed = append(failed, c)
		}
	}
	return refusal(p, failed)
}

func gate(ctx context.Context, x *examiner) {
	if !checkGit(ctx, x) {
		return
	}
	checkIdentity(ctx, x)
	repo, err := openRepo(ctx, x.p)
	tellRepository(x, repo, err)
	if x.repo == nil {
		return
	}
	if needsClean(x.p.Config) {
		// A run in place that stopped left its work on its branch, and judges it itself.
		head, err := x.repo.Head(ctx)
		if err != nil || !strings.HasPrefix(head.Branch, x.p.Config.Git.WorkBranchPrefix) {
			checkClean(ctx, x)
		}
	}
	checkDisk(ctx, x)
	makesRunsDir(x)
}

func makesRunsDir(x *examiner) bool {
	ok := canMake(x.p.Path(x.p.RunsDir()))
	if !ok {
		x.fails("runs", fault.New(fault.RunsDirCreateFailed, "path", x.p.RunsDir()))
	}
	return ok
}

func refusal(p *project.Project, failed []Check) error {
	if len(failed) == 0 {
		return nil
	}
	ids := make([]string, len(failed))
	for i, c := range failed {
		ids[i] = c.ID
	}
	only := failed[0]
	switch {
	case len(failed) > 1:
	case only.ID == "worktree_clean":
		return notClean(p.Dir, "count", only.Facts["count"], "names", only.Facts["names"])
	case only.Err != nil && (only.ID == "git" || only.ID == "repository"):
		return only.Err
	}
	return fault.New(fault.DoctorFailed, "checks", strings.Join(ids, ", "), "cause", strings.Join(ids, ", "))
}

func notClean(path string, more ...any) error {
	return fault.New(fault.WorktreeDirty, append(more, "path", path)...)
}
