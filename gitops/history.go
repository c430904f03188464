package gitops

import (
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// longestChain is how many commits are followed in process before git, which
// has its commit graph, is faster.
const longestChain = 2000

// IsAncestor reports whether commit is of or in its history.
func (r *reader) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	a, b, err := r.commits(ctx, commit, of)
	if err != nil {
		return false, err
	}
	if a == b {
		return true, nil
	}
	_, err = r.git.Ask(ctx, "merge-base", "--is-ancestor", a, b)
	if gitcmd.Exit(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, failed(err, fault.GitCommandFailed)
	}
	return true, nil
}

// Commits lists what tip has and base has not, oldest first.
func (r *reader) Commits(ctx context.Context, base, tip string) ([]Commit, error) {
	from, to, err := r.commits(ctx, base, tip)
	if err != nil {
		return nil, err
	}
	found, err := read(r.src, func(repo *objects) ([]Commit, error) { return readChain(repo, from, to) })
	if err == nil {
		return found, nil
	}
	return r.askCommits(ctx, from, to)
}

// readChain follows single parents from tip to base. A merge, or a base that
// is not reached, is a question for git.
func readChain(repo *objects, base, tip string) ([]Commit, error) {
	var found []Commit
	for h := tip; h != base; {
		c, err := repo.CommitObject(plumbing.NewHash(h))
		if err != nil {
			return nil, err
		}
		if len(c.ParentHashes) != 1 || len(found) == longestChain || foreignText(c) {
			return nil, errAskGit
		}
		found = append(found, fromObject(c))
		h = c.ParentHashes[0].String()
	}
	slices.Reverse(found)
	return found, nil
}

// foreignText is true of commits whose text git converts before it shows it.
func foreignText(c *object.Commit) bool {
	return c.Encoding != "" && !strings.EqualFold(string(c.Encoding), "UTF-8")
}

func fromObject(c *object.Commit) Commit {
	return Commit{Hash: c.Hash.String(), Subject: subject(c.Message), Trailers: Trailers(c.Message)}
}

const commitFields = "--format=tformat:%H%n%B"

func (r *reader) askCommits(ctx context.Context, base, tip string) ([]Commit, error) {
	out, err := r.git.Ask(ctx, "log", "-z", "--reverse", "--topo-order", "--no-show-signature", "--no-color",
		"--encoding=UTF-8", commitFields, "^"+base, tip, "--")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	var found []Commit
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if c, ok := fromLog(record); ok {
			found = append(found, c)
		}
	}
	return found, nil
}

// askTip is the commit that the checkout stands at, from git.
func askTip(ctx context.Context, g gitcmd.Git) (Commit, error) {
	out, err := g.Ask(ctx, "log", "-1", "--no-show-signature", "--no-color", "--encoding=UTF-8", commitFields)
	if err != nil {
		return Commit{}, failed(err, fault.GitCommandFailed)
	}
	c, ok := fromLog(line(out))
	if !ok {
		return Commit{}, unexpected("git log -1", string(out))
	}
	return c, nil
}

func fromLog(record string) (Commit, bool) {
	hash, message, ok := strings.Cut(record, "\n")
	return Commit{Hash: hash, Subject: subject(message), Trailers: Trailers(message)}, ok
}
