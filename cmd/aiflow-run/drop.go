package main

import (
	"context"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// drop rejects what a run made, and says what is kept of it.
func drop(s *cli.Shell, arg string, discard bool) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	st, _, err := pick(p, arg)
	if err != nil {
		return err
	}
	ctx, hurry := s.Patience()
	if id := waits(ctx, p, st.RequestID); id != "" && !discard && st.DroppedAt != nil && arg == st.RequestID {
		if st, err = p.Run(arg, id).LoadStage(); err != nil { // the newest was dropped before
			return err
		}
	}
	show := newShow(s, p)
	d, err := newRunner(s, p, show, hurry).Drop(ctx, st.RequestID, st.RunID, discard)
	show.end()
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(d)
	}
	s.Printf("%s\n", s.Text("work.drop_done", "run_id", d.RunID, "id", d.RequestID, "branch", d.Branch, "commit", term.ShortHash(d.Commit)))
	for _, ref := range d.Kept {
		s.Printf("  %s\n", s.Text("work.drop_kept", "ref", ref))
	}
	for _, commit := range d.Discarded {
		s.Printf("  %s\n", s.Text("work.drop_discarded", "commit", term.ShortHash(commit)))
	}
	if d.Back != "" {
		s.Printf("  %s\n", s.Text("work.drop_back", "command", d.Back))
	}
	key := "work.drop_status"
	earlier := waits(ctx, p, d.RequestID)
	switch {
	case d.Status == "":
		key = "work.drop_gone"
	case d.Status == reqmeta.Ready && earlier != "":
		key = "work.drop_earlier"
	case d.Status == reqmeta.Ready:
		key = "work.drop_ready"
	}
	s.Printf("%s\n", s.Text(key, "id", d.RequestID, "status", d.Status, "run_id", earlier))
	return nil
}

// waits is the run of a request that is finished and not merged, "" where none is: an
// earlier one than the newest, which was dropped.
func waits(ctx context.Context, p *project.Project, id string) string {
	survey, err := p.Look(ctx)
	if err != nil {
		return ""
	}
	st := survey.Latest(id)
	if st == nil {
		return ""
	}
	if of, err := p.Standing(ctx, []*runs.Stage{st}); err != nil || !of.AwaitsMerge(st) {
		return ""
	}
	return st.RunID
}
