package gitops

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// ResolveBase finds the branch and commit that work starts from. wanted is a
// branch, remote-tracking branch, tag or commit. Without it origin's HEAD
// counts, else the current branch, but never a work branch.
func (r *Repo) ResolveBase(ctx context.Context, wanted string) (branch, commit string, err error) {
	if wanted == "" {
		return r.usualBase(ctx)
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
	return "", "", r.noBase(ctx, wanted)
}

func (r *Repo) noBase(ctx context.Context, wanted string) error {
	if h, err := r.Head(ctx); err == nil && h.Unborn {
		return fault.New(fault.GitNoCommit, "branch", h.Branch, "path", r.root)
	}
	return fault.New(fault.BaseBranchNotFound, "branch", wanted, "missing", wanted)
}

func (r *Repo) usualBase(ctx context.Context) (branch, commit string, err error) {
	remote, err := r.originHead(ctx)
	if err != nil {
		return "", "", err
	}
	if name, ok := strings.CutPrefix(remote, "refs/remotes/origin/"); ok {
		for _, place := range []struct{ ref, name string }{{"refs/heads/" + name, name}, {remote, "origin/" + name}} {
			if commit, ok, err := r.refTip(ctx, place.ref); err != nil || ok {
				return place.name, commit, err
			}
		}
	}
	return r.currentBase(ctx)
}

func (r *Repo) currentBase(ctx context.Context) (branch, commit string, err error) {
	h, err := r.Head(ctx)
	switch {
	case err != nil:
		return "", "", err
	case h.Unborn:
		return "", "", fault.New(fault.GitNoCommit, "branch", h.Branch, "path", r.root)
	case h.Detached:
		return "", "", refuse(fault.BaseBranchNotFound, "detached", "branch", "HEAD", "commit", h.Commit)
	case r.WorkPrefix != "" && strings.HasPrefix(h.Branch, r.WorkPrefix):
		return "", "", refuse(fault.BaseBranchNotFound, "work_branch", "branch", h.Branch)
	}
	return h.Branch, h.Commit, nil
}

// originHead is the full name of the branch that origin's HEAD names, "" when
// it is not known.
func (r *Repo) originHead(ctx context.Context) (string, error) {
	const ref = "refs/remotes/origin/HEAD"
	target, err := read(r.src, func(repo *objects) (string, error) { return readSymbolic(repo, ref) })
	if err == nil {
		return target, nil
	}
	out, err := r.git.Ask(ctx, "symbolic-ref", "-q", ref)
	if err != nil && gitcmd.Exit(err) != 1 {
		return "", failed(err, fault.GitCommandFailed)
	}
	return line(out), nil
}

func readSymbolic(repo *objects, name string) (string, error) {
	ref, err := repo.Reference(plumbing.ReferenceName(name), false)
	switch {
	case err == plumbing.ErrReferenceNotFound:
		return "", nil
	case err != nil:
		return "", err
	case ref.Type() != plumbing.SymbolicReference:
		return "", nil
	}
	return ref.Target().String(), nil
}
