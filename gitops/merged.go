package gitops

import (
	"context"
	"errors"
	"io"
	"regexp"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"aiflow/internal/fault"
)

// RunCommitsInHead says which of the runs have a commit in HEAD's history,
// also when it came there by a squash that quotes the trailers.
func (r *reader) RunCommitsInHead(ctx context.Context, runIDs []string) (map[string]bool, error) {
	found := make(map[string]bool, len(runIDs))
	for _, id := range runIDs {
		found[id] = false
	}
	h, err := r.Head(ctx)
	if err != nil || h.Unborn || len(found) == 0 {
		return found, err
	}
	missing := len(found)
	note := func(message string) bool {
		for _, id := range runsNamed(message) {
			if seen, asked := found[id]; asked && !seen {
				found[id] = true
				missing--
			}
		}
		return missing == 0
	}
	if _, err := read(r.src, func(repo *objects) (bool, error) { return true, walk(repo, h.Commit, note) }); err == nil {
		return found, nil
	}
	return found, r.askRunCommits(ctx, h.Commit, oldest(runIDs), note)
}

// walk shows each message in tip's history to note until it is satisfied.
func walk(repo *objects, tip string, note func(message string) bool) error {
	c, err := repo.CommitObject(plumbing.NewHash(tip))
	if err != nil {
		return err
	}
	left := longestChain
	commits := object.NewCommitIterCTime(c, nil, nil)
	defer commits.Close()
	for {
		c, err := commits.Next()
		if err != nil {
			return notEOF(err)
		}
		if note(c.Message) {
			return nil
		}
		if left--; left == 0 {
			return errAskGit
		}
	}
}

func (r *reader) askRunCommits(ctx context.Context, tip string, since time.Time, note func(string) bool) error {
	args := []string{"log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "-F", "--grep=" + RunTrailer + ":", "--format=tformat:%B"}
	if !since.IsZero() {
		args = append(args, "--since="+since.UTC().Format(time.RFC3339))
	}
	out, err := r.git.Ask(ctx, append(args, tip, "--")...)
	if err != nil {
		return failed(err, fault.GitCommandFailed)
	}
	note(string(out))
	return nil
}

// oldest is a time before the first of the runs, as their ids tell it; zero
// when one does not.
func oldest(runIDs []string) time.Time {
	stamp := regexp.MustCompile(`^(?:RUN-)?(\d{8}-\d{6})`)
	var first time.Time
	for _, id := range runIDs {
		m := stamp.FindStringSubmatch(id)
		if m == nil {
			return time.Time{}
		}
		at, err := time.Parse("20060102-150405", m[1])
		if err != nil {
			return time.Time{}
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first.Add(-72 * time.Hour) // ids are in local time, clocks differ
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
