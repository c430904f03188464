package gitops

import (
	"context"
	"errors"
	"os"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Tried and Pair are those of package gitcmd.
type (
	Tried = gitcmd.Tried
	Pair  = gitcmd.Pair
)

// TryMerges says what merges would come to, without making them: neither a branch
// nor a file changes. scratch is where a git that cannot do that (before
// 2.38) may make a worktree, which is gone afterwards.
func (r *Repo) TryMerges(ctx context.Context, pairs []Pair, scratch string) ([]Tried, error) {
	all, err := r.git.TryMerges(ctx, pairs)
	if errors.Is(err, gitcmd.ErrCannotTry) {
		return tryInWorktree(ctx, r, pairs, scratch)
	}
	return all, err
}

// Together is base with these commits merged one after the other; see gitcmd. scratch is
// as for TryMerges.
func (r *Repo) Together(ctx context.Context, base string, tips []string, scratch string) (commit string, stuck int, files []string, err error) {
	return r.git.Together(ctx, base, tips, func(ctx context.Context, pairs []Pair) ([]Tried, error) {
		return r.TryMerges(ctx, pairs, scratch)
	})
}

func tryInWorktree(ctx context.Context, r *Repo, pairs []Pair, path string) (all []Tried, err error) {
	w, err := r.Scratch(ctx, path, pairs[0].Ours)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := r.DropScratch(context.WithoutCancel(ctx), path); err == nil {
			err = e
		}
	}()
	for _, p := range pairs {
		if err := w.Restart(ctx, p.Ours); err != nil {
			return nil, err
		}
		t := Tried{}
		said, merge := w.git.Do(ctx, quiet("-c", "core.hooksPath="+os.DevNull, "-c", "merge.autoStash=false", "merge", "-q", "--no-commit", "--no-ff", p.Theirs)...)
		if merge != nil {
			listed, err := unmerged(ctx, w.git)
			if t.Conflicts = gitcmd.Collide(listed, string(said)); err != nil || len(t.Conflicts) == 0 {
				return nil, failed(merge, fault.GitCommandFailed, "commit", p.Theirs)
			}
		} else if out, err := w.git.Do(ctx, "write-tree"); err == nil {
			t.Tree = line(out)
		} else {
			return nil, failed(err, fault.GitCommandFailed, "commit", p.Theirs)
		}
		all = append(all, t)
	}
	return all, nil
}

// MergeOf makes a commit of a tree with two parents that no branch has: what
// a later try goes on from.
func (r *Repo) MergeOf(ctx context.Context, tree string, of Pair) (string, error) {
	commit, err := r.git.MergeOf(ctx, tree, of, "aiflow: tried")
	if err != nil {
		return "", failed(err, fault.GitCommandFailed, "commit", of.Theirs)
	}
	return commit, nil
}

// OnParent makes a commit with the content of another one on a parent; no branch has it.
func (r *Repo) OnParent(ctx context.Context, commit, parent string) (string, error) {
	out, err := r.git.Do(ctx, "commit-tree", "-p", parent, "-m", "aiflow: tried", commit+"^{tree}")
	if err != nil {
		return "", failed(err, fault.GitCommandFailed, "commit", commit)
	}
	return line(out), nil
}
