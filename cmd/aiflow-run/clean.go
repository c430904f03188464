package main

import (
	"cmp"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/term"
	"aiflow/runner"
	"aiflow/runs"
)

// clean removes what finished runs left: nothing that is not merged, nothing
// of a run that can still go on.
func clean(s *cli.Shell, o runner.CleanOptions, older string) error {
	var err error
	if o.OlderThan, err = cli.Age("--older-than", older, "30d, 12h, 90m"); err != nil {
		return err
	}
	if !o.Merged && !o.Orphans && o.OlderThan == 0 {
		return cli.Usage("clean_what", "command", s.Name+" clean")
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	items, err := work.Runner(s, p).Clean(s.Context(), o)
	if err != nil {
		return err
	}
	for _, it := range items {
		err = cmp.Or(err, it.Err)
	}
	if s.JSON {
		return s.Answer(struct {
			DryRun bool                 `json:"dry_run"`
			Items  []runner.CleanedItem `json:"items"`
		}{o.DryRun, items}, err)
	}
	for _, it := range items {
		ignored := runs.Left{Files: it.IgnoredFiles, Bytes: it.IgnoredBytes}.Facts()
		if it.IgnoredFiles == 0 {
			ignored = nil
		}
		s.Printf("%s\n", s.Text("work.clean_"+it.Did, "count", ignored["count"], "size", ignored["size"], "run_id", it.RunID, "ref", it.Ref, "id", it.RequestID, "branch", it.Branch, "commit", term.ShortHash(it.Commit), "name", cmp.Or(it.Stays, it.HeldBy), "reason", it.Why))
	}
	if len(items) == 0 {
		s.Printf("%s\n", s.Text("work.clean_nothing"))
	}
	_ = s.Flush()
	return err
}
