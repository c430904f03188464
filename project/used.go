package project

import (
	"context"
	"os"
	"strings"

	"aiflow/runs"
)

// UsedIDs are ids that a new request must not get although perhaps no file has
// them: a run, a workspace, a branch or a kept attempt would be taken for its
// own.
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
