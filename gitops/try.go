package gitops

import (
	"context"
	"os"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Tried is what a merge would come to.
type Tried struct {
	Tree      string
	Conflicts []string // files; none: it is clean
}

// Pair are two commits that are to be merged.
type Pair struct{ Ours, Theirs string }

// TryMerges says what merges would come to, without making them: neither a branch
// nor a file changes. scratch is where a git that cannot do that (before
// 2.38) may make a worktree, which is gone afterwards.
func (r *Repo) TryMerges(ctx context.Context, pairs []Pair, scratch string) ([]Tried, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	var input strings.Builder
	for _, p := range pairs {
		input.WriteString(p.Ours + " " + p.Theirs + "\n")
	}
	out, err := r.git.DoInput(ctx, []byte(input.String()), "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "--stdin")
	if all := readTried(out); err == nil && len(all) == len(pairs) {
		return all, nil
	}
	all := make([]Tried, len(pairs))
	for i, p := range pairs { // before 2.39 one at a time
		out, err := r.git.Do(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", p.Ours, p.Theirs)
		answer := fields(out)
		if code := gitcmd.Exit(err); code != 0 && code != 1 || len(answer) == 0 {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return tryInWorktree(ctx, r, pairs, scratch)
		}
		all[i] = Tried{answer[0], answer[1:]}
	}
	return all, nil
}

// readTried reads records of a status, a tree, the names of files and an empty field.
func readTried(out []byte) []Tried {
	var all []Tried
	parts := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(parts); i++ {
		t := Tried{Tree: parts[i+1]}
		for i += 2; i < len(parts) && parts[i] != ""; i++ {
			t.Conflicts = append(t.Conflicts, parts[i])
		}
		all = append(all, t)
	}
	return all
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
		_, merge := w.git.Do(ctx, quiet("-c", "core.hooksPath="+os.DevNull, "-c", "merge.autoStash=false", "merge", "-q", "--no-commit", "--no-ff", p.Theirs)...)
		if merge != nil {
			if t.Conflicts, err = unmerged(ctx, w.git); err != nil || len(t.Conflicts) == 0 {
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
	out, err := r.git.Do(ctx, "commit-tree", "-p", of.Ours, "-p", of.Theirs, "-m", "aiflow: tried", tree)
	if err != nil {
		return "", failed(err, fault.GitCommandFailed, "commit", of.Theirs)
	}
	return line(out), nil
}
