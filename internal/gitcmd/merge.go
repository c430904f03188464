package gitcmd

import (
	"context"
	"errors"
	"strings"
)

// Pair are two commits that are to be merged.
type Pair struct{ Ours, Theirs string }

// Tried is what a merge would come to.
type Tried struct {
	Tree      string
	Conflicts []string // files; none: it is clean
}

// ErrCannotTry is of a git that cannot say what a merge would come to (before 2.38).
var ErrCannotTry = errors.New("this git cannot try a merge")

// TryMerges says what merges would come to, without making them: neither a branch nor
// a file changes. ErrCannotTry in the chain.
func (g Git) TryMerges(ctx context.Context, pairs []Pair) ([]Tried, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	var input strings.Builder
	for _, p := range pairs {
		input.WriteString(p.Ours + " " + p.Theirs + "\n")
	}
	out, err := g.DoInput(ctx, []byte(input.String()), "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "--stdin")
	if all := readTried(out); err == nil && len(all) == len(pairs) {
		return all, nil
	}
	all := make([]Tried, len(pairs))
	for i, p := range pairs { // before 2.39 one at a time
		out, err := g.Do(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", p.Ours, p.Theirs)
		answer := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
		if code := Exit(err); code != 0 && code != 1 || len(answer) == 0 {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, errors.Join(ErrCannotTry, err)
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

// MergeOf makes a commit of a tree with two parents that no branch has.
func (g Git) MergeOf(ctx context.Context, tree string, of Pair, message string) (string, error) {
	out, err := g.Do(ctx, "commit-tree", "-p", of.Ours, "-p", of.Theirs, "-m", message, tree)
	return strings.TrimSpace(string(out)), err
}

// Together is base with these commits merged, one after the other; try is TryMerges or
// what stands in for it. What has all that comes before is taken as it is. Where one
// collides: stuck is its place in the list, files where.
func (g Git) Together(ctx context.Context, base string, tips []string, try func(context.Context, []Pair) ([]Tried, error)) (commit string, stuck int, files []string, err error) {
	at := base
	for i, tip := range tips {
		_, err := g.Ask(ctx, "merge-base", "--is-ancestor", at, tip)
		if err == nil {
			at = tip
			continue
		}
		if Exit(err) != 1 {
			return "", i, nil, err
		}
		pair := Pair{at, tip}
		tried, err := try(ctx, []Pair{pair})
		if err != nil || len(tried[0].Conflicts) > 0 {
			if err == nil {
				files = tried[0].Conflicts
			}
			return "", i, files, err
		}
		if at, err = g.MergeOf(ctx, tried[0].Tree, pair, "aiflow: what a run stands on"); err != nil {
			return "", i, nil, err
		}
	}
	return at, 0, nil, nil
}
