package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runs"
)

// list shows the runs that are recorded, newest first, of all requests or of one; a
// run stands for its request.
func list(s *cli.Shell, request string) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(request, runs.IDPrefix):
		request, _, err = locate(p, request)
	case request != "":
		request, err = named(p, request)
	}
	if err != nil {
		return err
	}
	stages, broken, err := records(p, request)
	if err != nil {
		return err
	}
	items, err := summaries(s, p, stages)
	if err != nil {
		return err
	}
	for _, err := range broken {
		b := s.Body(err)
		s.Tell(term.Escape(string(b.ReasonCode) + ": " + b.Message))
	}
	if s.JSON {
		return s.PrintJSON(cli.Items(items))
	}
	if len(items) == 0 && len(broken) == 0 {
		s.Printf("%s\n", s.Text("work.no_runs", "id", request))
	}
	width := 0
	for _, r := range items {
		width = max(width, term.Width(stateText(s, r)))
	}
	columns := 0
	if term.IsTerminal(s.Stdout) {
		columns = term.Columns(s.Stdout)
	}
	for _, r := range items {
		s.Printf("%s\n", runLine(s, r, width, columns))
	}
	return nil
}

// recorded reads every run, newest first.
func recorded(p *project.Project) ([]*runs.Stage, error) {
	all, _, err := records(p, "")
	return all, err
}

// records reads every run, or those of one request, newest first, and says which
// cannot be read. A folder without a record is no run.
func records(p *project.Project, request string) (all []*runs.Stage, broken []error, err error) {
	requests, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	if err != nil {
		return nil, nil, err
	}
	for id := range requests {
		if request != "" && request != id {
			continue
		}
		ids, err := runs.ListRuns(p.Dir, p.RunsDir(), id)
		if err != nil {
			return nil, nil, err
		}
		for _, runID := range ids {
			switch st, err := p.Run(id, runID).LoadStage(); {
			case err == nil:
				all = append(all, st)
			case fault.Has(err, fault.StageUnreadable):
				broken = append(broken, err)
			}
		}
	}
	slices.SortFunc(all, func(a, b *runs.Stage) int {
		return cmp.Or(strings.Compare(b.RunID, a.RunID), strings.Compare(a.RequestID, b.RequestID))
	})
	slices.SortFunc(broken, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return all, broken, nil
}

// summaries is the outline of runs and how each stands.
func summaries(s *cli.Shell, p *project.Project, stages []*runs.Stage) ([]runs.Summary, error) {
	standing, err := p.Standing(s.Context(), stages)
	if err != nil {
		return nil, err
	}
	app.Unsure(s, standing.Unsure)
	all := make([]runs.Summary, len(stages))
	for i, st := range stages {
		all[i] = standing.Summary(st)
	}
	return all, nil
}

// runLine is what the list says of a run, in at most so many columns; 0 is any. What does
// not fit is the branch, which show names, then the end.
func runLine(s *cli.Shell, r runs.Summary, width, columns int) string {
	took := "-"
	if r.EndedAt != nil {
		took = (time.Duration(r.Worked) * time.Millisecond).Round(time.Second).String()
	}
	line := r.RunID + "  " + term.Pad(stateText(s, r), width) + "  " + term.Pad(took, 8) + "  " + r.RequestID
	switch {
	case r.ReasonCode != "":
		line += "  " + string(r.ReasonCode)
	case r.Interrupted && r.Waits != nil:
		line += "  " + s.Catalog().Text("work.waits", r.Waits.Facts())
	case r.State == runs.Done && r.BranchExists && !r.Merged && (columns == 0 || term.Width(line+"  "+r.WorkBranch) <= columns):
		line += "  " + r.WorkBranch
	case r.Landed != nil && r.Landed.Into != r.BaseBranch && r.LandedOn == "":
		line += "  (" + s.Text("work.landed_on", "into", r.Landed.Into) + ")"
	}
	if r.Usage != nil {
		line += "  (" + s.Catalog().Text("work.used", r.Usage.Facts()) + ")"
	}
	if said := warned(s, r.Warnings); columns == 0 || term.Width(line) < columns && said == "" {
		return line + said
	}
	for _, w := range r.Warnings {
		line += "  (" + s.Text(w.Key()) + ")"
	}
	return term.Truncate(line, columns)
}

// warned is what a line about a run says of its warnings.
func warned(s *cli.Shell, list []runs.Warning) string {
	text := ""
	for _, w := range list {
		text += "  " + s.Paint(term.Yellow, "("+s.Text(w.Key())+")")
	}
	return text
}

// stateText is the state as a person should take it: a run that nobody works
// for any more is interrupted, and of a finished one it counts what became of
// its branch.
func stateText(s *cli.Shell, r runs.Summary) string {
	switch {
	case r.DroppedAt != nil:
		return s.Text("work.state_dropped", "state", r.State)
	case r.ReplacedBy != "":
		state := r.State
		if !state.Ended() { // nor will it: nobody is at it any more
			state = ""
		}
		return s.Text("work.state_replaced", "state", state, "run_id", r.ReplacedBy)
	case r.Interrupted:
		return string(fault.Interrupted)
	case r.LandedOn != "":
		return s.Text("work.state_landed", "state", r.State, "into", r.LandedOn)
	case r.Merged:
		return s.Text("work.state_merged", "state", r.State)
	case r.Stale != "":
		return s.Text("work.state_stale", "state", r.State, "on", r.Stale)
	case r.LandFailed != nil:
		return s.Text("work.state_land_failed", "state", r.State, "into", r.LandFailed.Into)
	case r.State == runs.Done && r.BranchExists:
		return s.Text("work.state_unmerged", "state", r.State)
	case r.State == runs.Done:
		return s.Text("work.state_no_branch", "state", r.State)
	}
	return string(r.State)
}
