package main

import (
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// steps are what brings req forward, as advice and in words: what helps the one
// that it waits for in the end, or itself.
func (x *explainer) steps(req *reqmeta.Request, e explanation) ([]fault.Advice, []string) {
	if e.RootID != nil && x.byID[*e.RootID] != nil {
		req = x.byID[*e.RootID]
	}
	list, words := x.own(req), []string{}
	why := x.excluded[req.Path]
	if why != nil && why.Obstacle() != nil && why.Line == 0 && why.ReasonCode != fault.ReplanRequired && why.Kind != "base_unclear" {
		f := why.Obstacle().Refusal(why.RequestID, why.Path) // which says what can be done
		return list, x.Catalog().Code(f.Code, f.Facts).Actions
	}
	for _, a := range list {
		words = append(words, a.Command)
	}
	return list, words
}

func (x *explainer) own(req *reqmeta.Request) []fault.Advice {
	why := x.excluded[req.Path]
	switch {
	case x.runnable[req.Path] > 0 && !x.p.Root.Git:
		return []fault.Advice{fault.ToDo(fault.VerbInit, "git init")}
	case x.runnable[req.Path] > 0:
		return choose.AdviseRunnable(req.ID)
	case why == nil:
		return choose.AdviseOver(req.ID)
	}
	return why.Advise(strings.Join(x.tenable(req), ","))
}

// tenable are the dependencies of req that exist, or what was meant by those
// that do not, and are in no ring.
func (x *explainer) tenable(req *reqmeta.Request) []string {
	var ids []string
	for _, id := range req.Meta.DependsOn {
		beside := x.survey.Folder.DoneBeside(id)
		if x.byID[id] == nil && !beside {
			id = x.guess.Meant(id, req.ID)
			beside = x.survey.Folder.DoneBeside(id)
		}
		d := x.byID[id]
		if d == nil && !beside || slices.Contains(ids, id) {
			continue
		}
		if d == nil {
			ids = append(ids, id)
		} else if why := x.excluded[d.Path]; why == nil || why.Kind != "cycle" && why.Kind != "cycle_with" {
			ids = append(ids, id)
		}
	}
	return ids
}
