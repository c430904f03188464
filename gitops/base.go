package gitops

import (
	"context"
	"strings"

	"aiflow/internal/fault"
)

// ResolveBase finds the branch and commit that work starts from. wanted is a
// branch, remote-tracking branch, tag or commit; "" is what is checked out: a
// branch that is no work branch, or a commit.
func (r *Repo) ResolveBase(ctx context.Context, wanted string) (branch, commit string, err error) {
	if wanted == "" {
		return currentBase(ctx, r)
	}
	commit, ok, err := "", false, error(nil)
	for _, place := range []struct{ ref, name string }{
		{"refs/heads/" + wanted, wanted},
		{"refs/remotes/" + wanted, wanted},
		{"refs/remotes/origin/" + wanted, "origin/" + wanted},
	} {
		if ValidBranch(wanted) {
			commit, ok, err = r.refTip(ctx, place.ref)
		}
		if err != nil || ok {
			return place.name, commit, err
		}
	}
	if commit, ok, err = revParse(ctx, r.git, wanted); err != nil || ok {
		return wanted, commit, err
	}
	if h, err := r.Head(ctx); err == nil && h.Unborn {
		return "", "", NoCommit(r, h)
	}
	return "", "", fault.New(fault.BaseBranchNotFound, "branch", wanted, "missing", wanted)
}

// NoCommit is GIT_NO_COMMIT: what is checked out has no commit.
func NoCommit(r *Repo, h Head) error {
	return fault.New(fault.GitNoCommit, "branch", h.Branch, "path", r.root)
}

func currentBase(ctx context.Context, r *Repo) (branch, commit string, err error) {
	h, err := r.Head(ctx)
	switch {
	case err != nil:
		return "", "", err
	case h.Unborn:
		return "", "", NoCommit(r, h)
	case h.Detached:
		return h.Commit, h.Commit, nil
	case r.WorkPrefix != "" && strings.HasPrefix(h.Branch, r.WorkPrefix):
		return "", "", refuse(fault.BaseBranchNotFound, "work_branch", "branch", h.Branch)
	}
	return h.Branch, h.Commit, nil
}
