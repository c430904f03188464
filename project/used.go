package project

import (
	"context"
	"os"
	"strings"

	"aiflow/runs"
)

// UsedIDs are ids that a new request must not get although perhaps no file has
// them: a run, a workspace, a branch, a kept attempt or what is done beside would
// be taken for its own.
func (p *Project) UsedIDs(ctx context.Context) []string {
	var ids []string
	withRuns, _ := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	for id := range withRuns {
		ids = append(ids, id)
	}
	workspaces, _ := os.ReadDir(p.Path(p.WorktreesDir()))
	for _, e := range workspaces {
		ids = append(ids, e.Name())
	}
	if len(p.Config.Paths.DoneDirs) > 0 {
		if requests, err := p.Requests(); err == nil {
			ids = append(ids, requests.BesideIDs()...)
		}
	}
	if !p.Root.Git {
		return ids
	}
	prefix := "refs/heads/" + p.Config.Git.WorkBranchPrefix
	out, _ := p.Git().Ask(ctx, "for-each-ref", "--format=%(refname) %(trailers:key="+RequestTrailer+",valueonly)",
		strings.TrimSuffix(prefix, "/"), "refs/aiflow/attempts")
	for line := range strings.Lines(string(out)) {
		ref, request, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, begin := range []string{prefix, "refs/aiflow/attempts/orphan/"} {
			if rest, ok := strings.CutPrefix(ref, begin); ok {
				ref, _, _ = strings.Cut(rest, "/")
			}
		}
		ids = append(ids, ref, request)
	}
	return ids
}

// Stored tells which of the files below paths HEAD has as they are: when one of
// them goes, git can bring it back. Without git, or a commit, there are none.
func Stored(ctx context.Context, p *Project, paths ...string) (map[string]bool, error) {
	stored := map[string]bool{}
	if !p.Root.Git {
		return stored, nil
	}
	if _, err := p.Git().Ask(ctx, "rev-parse", "-q", "--verify", "HEAD"); err != nil {
		return stored, nil
	}
	specs := make([]string, len(paths))
	for i, path := range paths {
		specs[i] = ":(literal)" + path
	}
	known, err := p.Git().Ask(ctx, append([]string{"ls-files", "-z", "--"}, specs...)...)
	if err != nil {
		return nil, err
	}
	changed, err := p.Git().Ask(ctx, append([]string{"diff", "--name-only", "--relative", "-z", "HEAD", "--"}, specs...)...)
	if err != nil {
		return nil, err
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(known), "\x00"), "\x00") {
		stored[path] = true
	}
	for path := range strings.SplitSeq(string(changed), "\x00") {
		delete(stored, path)
	}
	return stored, nil
}
