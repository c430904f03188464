package gitops

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Head says where the checkout stands.
func (r *reader) Head(ctx context.Context) (Head, error) { return headOf(ctx, r.src, r.git) }

func headOf(ctx context.Context, s *source, g gitcmd.Git) (Head, error) {
	if h, err := read(s, readHead); err == nil {
		return h, nil
	}
	return askHead(ctx, g)
}

func readHead(repo *objects) (Head, error) {
	head, err := repo.Reference(plumbing.HEAD, false)
	if err != nil {
		return Head{}, err
	}
	if head.Type() == plumbing.HashReference {
		return Head{Commit: head.Hash().String(), Detached: true}, nil
	}
	branch, ok := strings.CutPrefix(head.Target().String(), "refs/heads/")
	if !ok {
		return Head{}, errAskGit
	}
	tip, err := repo.Reference(head.Target(), true)
	if err != nil {
		return Head{}, err // perhaps unborn: git decides
	}
	return Head{Branch: branch, Commit: tip.Hash().String()}, nil
}

func askHead(ctx context.Context, g gitcmd.Git) (Head, error) {
	var h Head
	out, err := g.Ask(ctx, "symbolic-ref", "-q", "HEAD")
	switch {
	case gitcmd.Exit(err) == 1:
		h.Detached = true
	case err != nil:
		return h, failed(err, fault.GitCommandFailed)
	default:
		h.Branch = strings.TrimPrefix(line(out), "refs/heads/")
	}
	commit, ok, err := revParse(ctx, g, "HEAD")
	h.Commit, h.Unborn = commit, !ok
	return h, err
}

// revParse asks git for the commit that rev names.
func revParse(ctx context.Context, g gitcmd.Git, rev string) (string, bool, error) {
	out, err := g.Ask(ctx, "rev-parse", "--verify", "-q", "--end-of-options", rev+"^{commit}")
	switch gitcmd.Exit(err) {
	case 0:
		return line(out), true, nil
	case 1:
		return "", false, nil
	}
	return "", false, failed(err, fault.GitCommandFailed)
}

func line(out []byte) string { return strings.TrimSuffix(string(out), "\n") }

// refTip is the commit that a full ref name stands at.
func (r *reader) refTip(ctx context.Context, ref string) (string, bool, error) {
	tip, err := read(r.src, func(repo *objects) (string, error) { return readRef(repo, ref) })
	switch {
	case err == nil:
		return tip, true, nil
	case errors.Is(err, plumbing.ErrReferenceNotFound):
		return "", false, nil
	}
	return revParse(ctx, r.git, ref)
}

func readRef(repo *objects, ref string) (string, error) {
	found, err := repo.Reference(plumbing.ReferenceName(ref), true)
	if err != nil {
		return "", err
	}
	if found.Name().IsTag() {
		return "", errAskGit // may be an annotated tag
	}
	return found.Hash().String(), nil
}

// BranchTip is the commit that a local branch stands at.
func (r *reader) BranchTip(ctx context.Context, name string) (commit string, ok bool, err error) {
	if !config.IsBranch("refs/heads/" + name) {
		return "", false, nil
	}
	return r.refTip(ctx, "refs/heads/"+name)
}

// commit is the full name of the commit that rev means: an object name, a
// full ref name, or anything git understands.
func (r *reader) commit(ctx context.Context, rev string) (string, bool, error) {
	switch {
	case isHash(rev):
		return rev, true, nil
	case strings.HasPrefix(rev, "refs/"):
		return r.refTip(ctx, rev)
	case rev == "":
		return "", false, nil
	}
	return revParse(ctx, r.git, rev)
}

// commits is commit for two revs that must exist.
func (r *reader) commits(ctx context.Context, a, b string) (string, string, error) {
	found := [2]string{}
	for i, rev := range []string{a, b} {
		c, ok, err := r.commit(ctx, rev)
		if err != nil {
			return "", "", err
		}
		if !ok {
			return "", "", refuse(fault.GitCommandFailed, "commit_not_found", "commit", rev)
		}
		found[i] = c
	}
	return found[0], found[1], nil
}

// ValidBranch reports whether git takes name for a branch and no command can
// mistake it for an option or for something else than a branch.
func ValidBranch(name string) bool {
	return config.IsBranch(name) && name != "HEAD" && len(name) <= 200 && !strings.HasPrefix(name, "refs/")
}

// isHash reports whether s is a full object name.
func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// CreateBranch makes a local branch at commit. It never moves one: a branch
// of that name is BRANCH_CREATE_FAILED with ErrBranchExists in the chain.
func (r *Repo) CreateBranch(ctx context.Context, name, commit string) error {
	if !ValidBranch(name) {
		return refuse(fault.BranchCreateFailed, "bad_name", "branch", name)
	}
	_, err := r.git.Do(ctx, "update-ref", "-m", "aiflow: created", "--end-of-options", "refs/heads/"+name, commit, "")
	if err == nil {
		return nil
	}
	reason := branchTrouble(err)
	if reason == "exists" {
		err = errors.Join(ErrBranchExists, err)
	}
	return failedIn(filepath.Join(r.commonDir, "refs", "heads"), err, fault.BranchCreateFailed, "branch", name, "commit", commit, "reason", reason)
}

// branchTrouble names what stands in the way of a new branch. name_taken is a
// branch "a" against a branch "a/b": git keeps them as file and folder.
func branchTrouble(err error) string {
	s := gitcmd.Stderr(err)
	switch {
	case strings.Contains(s, "reference already exists"):
		return "exists"
	case strings.Contains(s, "' exists; cannot create '"), strings.Contains(s, "there is a non-empty directory"):
		return "name_taken"
	case strings.Contains(s, "bad name"):
		return "bad_name"
	case strings.Contains(s, "nonexistent object"), strings.Contains(s, "not a valid SHA1"):
		return "commit_not_found"
	}
	return "refused"
}

// DeleteBranch removes a local branch that still stands at commit and that no
// worktree has checked out. A branch that is gone is no error.
func (r *Repo) DeleteBranch(ctx context.Context, name, commit string) error {
	tip, ok, err := r.BranchTip(ctx, name)
	if err != nil || !ok {
		return err
	}
	if tip != commit {
		return failed(ErrMoved, fault.GitCommandFailed, "branch", name, "commit", tip, "reason", "moved")
	}
	if where := r.CheckedOut(ctx, name); where != "" {
		return fault.New(fault.NothingToDo, append(Unfinished(where), "reason", "checked_out", "branch", name, "path", where)...)
	}
	if _, err := r.git.Do(ctx, "update-ref", "-m", "aiflow: removed", "-d", "--end-of-options", "refs/heads/"+name, commit); err != nil {
		return failed(errors.Join(ErrMoved, err), fault.GitCommandFailed, "branch", name, "reason", "moved")
	}
	return nil
}

// Lacks is the first of these commits that is not there; "" for none.
func Lacks(ctx context.Context, r *Repo, commits []string) (string, error) {
	out, err := r.git.AskInput(ctx, []byte(strings.Join(commits, "\n")+"\n"), "cat-file", "--batch-check")
	if err != nil {
		return "", failed(err, fault.GitCommandFailed)
	}
	for l := range strings.Lines(string(out)) {
		if commit, lacks := strings.CutSuffix(l, " missing\n"); lacks {
			return commit, nil
		}
	}
	return "", nil
}
