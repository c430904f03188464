package gitcmd

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	if all, unclear := readTried(out); err == nil && len(all) == len(pairs) {
		for _, i := range unclear {
			said, err := g.Do(ctx, "merge-tree", "--write-tree", "--name-only", "--messages", "-z", pairs[i].Ours, pairs[i].Theirs)
			if Exit(err) != 1 {
				return nil, errors.Join(ErrCannotTry, err)
			}
			all[i].Conflicts = Collide(nil, string(said))
		}
		return all, nil
	}
	all := make([]Tried, len(pairs))
	for i, p := range pairs { // before 2.39 one at a time
		out, err := g.Do(ctx, "merge-tree", "--write-tree", "--name-only", "--messages", "-z", p.Ours, p.Theirs)
		names, said, _ := strings.Cut(string(out), "\x00\x00")
		answer := strings.FieldsFunc(names, func(r rune) bool { return r == 0 })
		code := Exit(err)
		if code != 0 && code != 1 || len(answer) == 0 {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, errors.Join(ErrCannotTry, err)
		}
		if all[i].Tree = answer[0]; code == 1 {
			all[i].Conflicts = Collide(answer[1:], said)
		}
	}
	return all, nil
}

// Collide are the files of a merge that is not clean: those that git lists, by the names
// that people gave them and not those to which git moved them aside, or what it says of
// where it cannot tell what belongs (a folder that was parted into several).
func Collide(listed []string, said string) []string {
	var files []string
	for _, name := range listed {
		files = append(files, aside().ReplaceAllString(name, ""))
	}
	if len(files) == 0 {
		for _, m := range unclear().FindAllStringSubmatch(said, -1) {
			files = append(files, m[1]+m[2]+m[3]) // one of them
		}
	}
	if len(files) == 0 {
		if _, why, ok := strings.Cut(said, "CONFLICT ("); ok {
			why, _, _ = strings.Cut(why, "\n")
			files = []string{"(" + why}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

var (
	aside   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`~(HEAD|[0-9a-f]{7,64}( \(.*\))?)(_\d+)?$`) })
	unclear = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`CONFLICT \([^)]*\): (?:Unclear where to rename (.+?) to;|.*? dir at (.+?) in the way|Cannot map more than one path to (.+?);)`)
	})
)

// readTried reads records of a status, a tree, the names of files and an empty field.
// Unclear are those that are not clean and have no names.
func readTried(out []byte) (all []Tried, unclear []int) {
	parts := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(parts); i++ {
		clean := parts[i] == "1"
		t := Tried{Tree: parts[i+1]}
		for i += 2; i < len(parts) && parts[i] != ""; i++ {
			t.Conflicts = append(t.Conflicts, parts[i])
		}
		if t.Conflicts = Collide(t.Conflicts, ""); !clean && len(t.Conflicts) == 0 {
			unclear = append(unclear, len(all))
		}
		all = append(all, t)
	}
	return all, unclear
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
