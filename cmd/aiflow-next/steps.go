package main

import (
	"slices"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// steps are the commands that bring req forward: those for what it waits for
// in the end, or for itself.
func (x *explainer) steps(req *reqmeta.Request, e explanation) []string {
	if e.RootID != nil && *e.RootID != req.ID {
		if root := x.byID[*e.RootID]; root != nil {
			return x.own(root)
		}
	}
	return x.own(req)
}

func (x *explainer) own(req *reqmeta.Request) []string {
	id := req.ID
	if x.runnable[req.Path] > 0 {
		return []string{"aiflow run " + id}
	}
	why := x.excluded[req.Path]
	if why == nil { // done or archived
		return []string{"aiflow request set " + id + " status=ready"}
	}
	run := why.Fact("run_id")
	switch why.Kind {
	case "invalid", "invalid_line", "duplicate_id":
		return []string{"aiflow request check " + proc.Word(req.Path)}
	case "not_ready_draft":
		return []string{"aiflow request set " + id + " status=ready"}
	case "not_ready_blocked":
		if run == "" {
			return []string{"aiflow request set " + id + " status=ready"}
		}
		return []string{"aiflow run show " + id, "aiflow run " + id + " --fresh"}
	case "not_ready_running":
		return []string{"aiflow run resume " + id, "aiflow request set " + id + " status=ready"}
	case "latest_needs_input":
		return []string{"aiflow run show " + id, "aiflow run " + id + " --fresh"}
	case "latest_done":
		return []string{"aiflow run diff " + run, app.Merge(x.Shell, x.p, why.Fact("branch"))}
	case "not_ready_done_in":
		return []string{"aiflow run " + id}
	case "base_missing":
		if why.Line > 0 {
			return []string{"git branch -a", "aiflow request set " + id + " base="}
		}
		return x.refused(why)
	case "base_unclear":
		return []string{"git switch -"}
	case "kept":
		switch {
		case why.ReasonCode == fault.ReplanRequired:
			return []string{"aiflow run resume " + id + " --mode replan", "aiflow run " + id + " --fresh"}
		case why.Line > 0:
			return []string{"aiflow request check " + proc.Word(req.Path)}
		}
		return x.refused(why)
	case "locked":
		return []string{"aiflow run logs -f " + run, "aiflow run stop " + id}
	case "depends_not_found", "cycle", "cycle_with":
		return []string{"aiflow request set " + id + " depends_on=" + strings.Join(x.tenable(req), ",")}
	}
	return []string{"aiflow next --explain " + id}
}

// refused is what a run would be refused with says can be done.
func (x *explainer) refused(why *choose.Exclusion) []string {
	f := why.Obstacle().Refusal(why.RequestID, why.Path)
	return x.Catalog().Code(f.Code, f.Facts).Actions
}

// tenable are the dependencies of req that exist, or what was meant by those
// that do not, and are in no ring.
func (x *explainer) tenable(req *reqmeta.Request) []string {
	var ids []string
	for _, id := range req.Meta.DependsOn {
		if x.byID[id] == nil {
			id = x.guess.Meant(id, req.ID)
		}
		if d := x.byID[id]; d != nil && !x.inRing(d) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (x *explainer) inRing(req *reqmeta.Request) bool {
	why := x.excluded[req.Path]
	return why != nil && (why.Kind == "cycle" || why.Kind == "cycle_with")
}
