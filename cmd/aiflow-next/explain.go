package main

import (
	"cmp"
	"slices"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/reqmeta/folder"
)

// explanation is everything about one request.
type explanation struct {
	RequestID    string            `json:"request_id"`
	Path         string            `json:"path"`
	Title        string            `json:"title"`
	Priority     string            `json:"priority"`
	Status       string            `json:"status"`
	Runnable     bool              `json:"runnable"`
	Position     *int              `json:"position"`    // in the order of what can run, from 1
	ReasonCode   *fault.Code       `json:"reason_code"` // why it cannot run now
	Detail       string            `json:"detail"`
	RootID       *string           `json:"root_id"` // of what it waits for in the end
	Dependencies []link            `json:"dependencies"`
	NeededBy     []string          `json:"needed_by"`
	LatestRun    *latestRun        `json:"latest_run"`
	Problems     []reqmeta.Problem `json:"problems"`
	NextSteps    []string          `json:"next_steps"`
	Advice       []fault.Advice    `json:"advice"` // the commands, and what each is
}

type latestRun struct {
	RunID      string      `json:"run_id"`
	State      string      `json:"state"`
	ReasonCode *fault.Code `json:"reason_code"`
	WorkBranch string      `json:"work_branch"`

	Interrupted bool `json:"interrupted"` // not ended, and nobody works for it
}

// link is one request that the explained one waits for, near or far. Every
// request comes once.
type link struct {
	RequestID  string      `json:"request_id"`
	NeededBy   string      `json:"needed_by"`
	Depth      int         `json:"depth"`
	Exists     bool        `json:"exists"`
	Meant      string      `json:"meant,omitempty"` // what was probably meant by one that does not exist
	Status     string      `json:"status"`
	Title      string      `json:"title"`
	ReasonCode *fault.Code `json:"reason_code"`
}

func (q *question) showExplained() error {
	req, err := app.Find(q.p, q.survey.Folder, q.o.explain)
	if err != nil {
		return err
	}
	x := newExplainer(q).explain(req)
	if q.JSON {
		err = q.PrintJSON(x)
	} else {
		q.printExplained(x)
	}
	if err != nil {
		return err
	}
	return q.end(x.Runnable)
}

// explainer looks requests up that Select has judged.
type explainer struct {
	*question
	excluded map[string]*choose.Exclusion // by path: broken files share ids
	runnable map[string]int               // by path, from 1
	byID     map[string]*reqmeta.Request
	guess    folder.Guesser
}

func newExplainer(q *question) *explainer {
	r := q.survey.Select()
	x := &explainer{
		question: q, excluded: map[string]*choose.Exclusion{}, runnable: map[string]int{}, byID: map[string]*reqmeta.Request{}, guess: folder.Guesser{Folder: q.survey.Folder},
	}
	for i := range r.Excluded {
		x.excluded[r.Excluded[i].Path] = &r.Excluded[i]
	}
	for i, c := range r.Runnable {
		x.runnable[c.Path] = i + 1
	}
	for _, f := range q.survey.Folder.Requests {
		if x.byID[f.ID] == nil {
			x.byID[f.ID] = f
		}
	}
	return x
}

func (x *explainer) explain(req *reqmeta.Request) explanation {
	m := req.Meta
	e := explanation{
		RequestID: req.ID, Path: req.Path, Title: req.Title(), Priority: m.Priority, Status: m.Status,
		Dependencies: x.chain(req), NeededBy: []string{}, Problems: append([]reqmeta.Problem{}, req.Problems...),
	}
	for _, f := range x.survey.Folder.Requests {
		if !f.Over() && f.ID != req.ID && slices.Contains(f.Meta.DependsOn, req.ID) && !slices.Contains(e.NeededBy, f.ID) {
			e.NeededBy = append(e.NeededBy, f.ID)
		}
	}
	if st := x.survey.Latest(req.ID); st != nil {
		e.LatestRun = &latestRun{
			RunID: st.RunID, State: string(st.State), WorkBranch: st.Git.WorkBranch,
			Interrupted: !st.State.Ended() && x.survey.Facts.Holder(req.ID) == nil,
		}
		if st.Error != nil {
			e.LatestRun.ReasonCode = &st.Error.ReasonCode
		}
	}
	reqmeta.DescribeProblems(e.Problems, x.Catalog().Text)
	if n := x.runnable[req.Path]; n > 0 {
		e.Runnable, e.Position = true, &n
	} else {
		why := x.excluded[req.Path]
		if why == nil { // what is done or archived is not in the list of the excluded
			judged, _ := choose.Judge(x.survey.Folder, x.survey.Facts, req.ID)
			why = &judged
		}
		why.Describe(x.Catalog().Text)
		e.ReasonCode, e.Detail = &why.ReasonCode, why.Detail
		if root := why.Fact("root"); root != "" {
			e.RootID = &root
		}
	}
	e.Advice, e.NextSteps = x.steps(req, e)
	return e
}

// chain walks what req waits for, depth first, without recursion. It does not
// go below what is done.
func (x *explainer) chain(req *reqmeta.Request) []link {
	list, seen := []link{}, map[string]bool{req.ID: true}
	stack := below(req, 0)
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[l.RequestID] {
			continue
		}
		seen[l.RequestID] = true
		d := x.byID[l.RequestID]
		if beside := x.survey.Folder.DoneBeside(l.RequestID); d == nil && beside {
			l.Exists, l.Status = true, reqmeta.Done
		} else if d == nil {
			l.Meant = x.guess.Meant(l.RequestID, l.NeededBy)
		} else {
			l.Exists, l.Status, l.Title = true, d.Meta.Status, d.Title()
			if why := x.excluded[d.Path]; why != nil {
				l.ReasonCode = &why.ReasonCode
			}
			if d.Meta.Status != reqmeta.Done {
				stack = append(stack, below(d, l.Depth)...)
			}
		}
		list = append(list, l)
	}
	return list
}

func below(req *reqmeta.Request, depth int) []link {
	links := make([]link, 0, len(req.Meta.DependsOn))
	for _, id := range req.Meta.DependsOn {
		links = append(links, link{RequestID: id, NeededBy: req.ID, Depth: depth + 1})
	}
	slices.Reverse(links)
	return links
}

func (q *question) printExplained(x explanation) {
	q.line("%s", headline(x.RequestID, x.Priority, x.Title))
	q.line("  %s", q.Text("next.explain_file", "path", x.Path, "status", cmp.Or(x.Status, "-")))
	if x.Runnable {
		q.line("  %s", q.Text("next.explain_runnable", "count", *x.Position))
		for _, o := range choose.Stack(q.survey.Folder, q.survey.Facts, x.RequestID) {
			q.line("  %s", q.Text("next.stacked", "id", o.RequestID, "branch", o.Branch))
		}
	} else {
		q.Printf("  %s: %s\n", *x.ReasonCode, x.Detail)
	}
	if r := x.LatestRun; r != nil {
		code := ""
		if r.ReasonCode != nil {
			code = string(*r.ReasonCode)
		}
		state := r.State
		if r.Interrupted {
			state, code = string(fault.Interrupted), r.State
		}
		q.line("  %s", q.Text("next.explain_run", "run_id", r.RunID, "state", state, "reason", code))
	}
	q.printChain(x.Dependencies)
	if len(x.NeededBy) > 0 {
		q.line("%s", q.Text("next.explain_needed_by", "ids", some(x.NeededBy)))
	}
	if len(x.Problems) > 0 {
		q.Printf("%s\n", q.Text("next.explain_problems"))
		q.printList(x.Problems, app.MostCauses)
	}
	q.Printf("%s\n", q.Text("next.explain_steps"))
	for _, step := range x.NextSteps {
		q.Printf("  %s\n", term.Escape(step))
	}
}

// deepest is how far a line is indented at most.
const deepest = 20

// longest is how much of a chain is told without --all.
const longest = 50

func (q *question) printChain(list []link) {
	if len(list) == 0 {
		return
	}
	q.Printf("%s\n", q.Text("next.explain_depends"))
	for i, l := range list {
		if i == longest && !q.o.all {
			q.Printf("  %s\n", q.Text("next.hidden", "count", len(list)-i))
			return
		}
		indent := strings.Repeat("  ", min(l.Depth, deepest))
		if !l.Exists {
			q.line("%s%s", indent, q.Text("next.explain_missing", "id", l.RequestID, "meant", l.Meant))
			continue
		}
		text := term.Escape(strings.TrimRight(l.RequestID+" "+cmp.Or(l.Status, "-")+" "+l.Title, " "))
		if l.ReasonCode != nil {
			text += " (" + string(*l.ReasonCode) + ")"
		}
		q.line("%s%s", indent, text)
	}
}

const maxNamed = 10

func some(ids []string) string {
	if len(ids) > maxNamed {
		ids = append(slices.Clone(ids[:maxNamed]), "…")
	}
	return strings.Join(ids, ", ")
}
