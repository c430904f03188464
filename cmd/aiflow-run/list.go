package main

import (
	"sort"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/desk"
	"aiflow/cmd/internal/door"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runs"
)

func listCommand(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "work.list_usage", ArgsUsage: "[REQUEST]",
		Action: func(c *cli.Context) error { return list(s, c.Args().First()) },
	}
}

// list shows the runs that are recorded, newest first.
func list(s *door.Shell, request string) error {
	p, err := desk.Open(s, nil)
	if err != nil {
		return err
	}
	all, err := summaries(p)
	if err != nil {
		return err
	}
	items := []runs.Summary{}
	for _, r := range all {
		if request == "" || r.RequestID == request {
			items = append(items, r)
		}
	}
	if s.JSON {
		return s.PrintJSON(struct {
			Items []runs.Summary `json:"items"`
		}{items})
	}
	if len(items) == 0 {
		s.Printf("%s\n", s.Text("work.no_runs"))
	}
	for _, r := range items {
		s.Printf("%s\n", strings.TrimRight(runLine(s, r), " "))
	}
	return nil
}

// summaries reads the outline of every run, newest first.
func summaries(p *project.Project) ([]runs.Summary, error) {
	requests, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	if err != nil {
		return nil, err
	}
	var all []runs.Summary
	for id := range requests {
		ids, err := runs.ListRuns(p.Dir, p.RunsDir(), id)
		if err != nil {
			return nil, err
		}
		for _, runID := range ids {
			if st, err := p.Run(id, runID).LoadStage(); err == nil {
				all = append(all, st.Summary())
			}
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].RunID != all[j].RunID {
			return all[i].RunID > all[j].RunID
		}
		return all[i].RequestID < all[j].RequestID
	})
	return all, nil
}

func runLine(s *door.Shell, r runs.Summary) string {
	line := r.RunID + "  " + pad(stateText(s, r), 12) + "  " + pad(took(r), 8) + "  " + r.RequestID
	if r.ReasonCode != "" {
		line += "  " + string(r.ReasonCode)
	}
	return line
}

func stateText(s *door.Shell, r runs.Summary) string { return string(r.State) }

func took(r runs.Summary) string {
	if r.EndedAt == nil {
		return "-"
	}
	return r.EndedAt.Sub(r.StartedAt).Round(time.Second).String()
}

func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-term.Width(text)))
}
