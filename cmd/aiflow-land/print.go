package main

import (
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/runner/land"
)

// leftOut is a run that does not land, as JSON.
type leftOut struct {
	land.Item
	Files []string       `json:"files"`
	With  string         `json:"with"` // the request that it collides with
	Error *cli.ErrorBody `json:"error"`
}

func leftOuts(s *cli.Shell, list []land.Left) []leftOut {
	all := []leftOut{}
	for _, l := range list {
		all = append(all, leftOut{l.Item, orEmpty(l.Files), l.With, body(s, l.Err)})
	}
	return all
}

func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

// printResult prints what a landing came to, and gives its error for the exit status.
func printResult(s *cli.Shell, r land.Result, err error) error {
	if s.JSON {
		return s.Answer(struct {
			OK      bool           `json:"ok"`
			DryRun  bool           `json:"dry_run"`
			Into    string         `json:"into"`
			Method  gitops.Method  `json:"method"`
			Test    string         `json:"test"`
			From    string         `json:"from"`
			To      string         `json:"to"`
			Landed  []land.Item    `json:"landed"`
			Already []land.Item    `json:"already"`
			LeftOut []leftOut      `json:"left_out"`
			Parted  []land.Item    `json:"without_request"`
			Error   *cli.ErrorBody `json:"error,omitempty"`
		}{err == nil, false, r.Into, r.Method, r.Test, r.From, r.To, orEmpty(r.Landed), orEmpty(r.Already), leftOuts(s, r.LeftOut), orEmpty(r.WithoutRequest), body(s, err)}, err)
	}
	for _, i := range r.Landed {
		s.Printf("%s\n", s.Paint(term.Green, s.Text("land.landed", "id", i.RequestID, "branch", i.Branch, "commit", term.ShortHash(i.Commit))))
	}
	for _, i := range r.Already {
		s.Printf("%s\n", s.Text("land.already", "id", i.RequestID, "into", r.Into))
	}
	printLeft(s, r.LeftOut)
	printParted(s, r.WithoutRequest)
	if len(r.Landed)+len(r.Already)+len(r.LeftOut) == 0 && err == nil {
		if len(r.WithoutRequest) > 0 {
			return nil
		}
		s.Printf("%s\n", s.Text("land.nothing", "into", r.Into))
		return nil
	}
	s.Printf("%s\n", s.Text("land.sum", "into", r.Into, "from", term.ShortHash(r.From), "to", term.ShortHash(r.To), "count", len(r.Landed), "left", len(r.LeftOut)))
	if r.Test == "" && len(r.Landed) > 0 {
		s.Printf("%s\n", s.Text("land.untested"))
	}
	return err
}

func printLeft(s *cli.Shell, list []land.Left) {
	for _, l := range list {
		b := s.Body(l.Err)
		line := s.Text("land.left_out", "id", l.RequestID, "reason", fault.CodeOf(l.Err), "cause", b.Message)
		s.Printf("%s\n", s.Paint(term.Red, term.Escape(line)))
	}
}

// printParted names finished branches that nothing lands unasked.
func printParted(s *cli.Shell, list []land.Item) {
	for _, i := range list {
		facts := []any{"id", i.RequestID, "branch", i.Branch, "run_id", i.RunID}
		key := "land.parted"
		if i.OnBase != "" {
			key, facts = "land.parted_base", append(facts, "base", i.OnBase, "into", proc.Word(i.OnBase))
		}
		s.Printf("%s\n", term.Escape(s.Text(key, facts...)))
	}
}

// printForecast prints what a landing would come to. It never fails: what would be left
// out is an answer.
func printForecast(s *cli.Shell, f land.Forecast) error {
	if s.JSON {
		return s.PrintJSON(struct {
			OK      bool             `json:"ok"`
			DryRun  bool             `json:"dry_run"`
			Into    string           `json:"into"`
			Tip     string           `json:"tip"`
			Lands   []land.Item      `json:"lands"`
			Already []land.Item      `json:"already"`
			LeftOut []leftOut        `json:"left_out"`
			Parted  []land.Item      `json:"without_request"`
			Pairs   []land.Colliding `json:"collisions"`
			Most    []string         `json:"most"`
		}{true, true, f.Into, f.Tip, orEmpty(f.Lands), orEmpty(f.Already), leftOuts(s, f.LeftOut), orEmpty(f.WithoutRequest), orEmpty(f.Pairs), orEmpty(f.Most)})
	}
	printParted(s, f.WithoutRequest)
	if len(f.Lands)+len(f.LeftOut) == 0 {
		if len(f.WithoutRequest) > 0 {
			return nil
		}
		s.Printf("%s\n", s.Text("land.nothing", "into", f.Into))
		return nil
	}
	for _, i := range f.Lands {
		s.Printf("%s\n", s.Text("land.would", "id", i.RequestID, "branch", i.Branch))
	}
	printLeft(s, f.LeftOut)
	for _, p := range f.Pairs {
		s.Printf("%s\n", s.Text("land.pair", "id", p.Requests[0], "with", p.Requests[1], "files", term.Escape(strings.Join(p.Files, ", "))))
	}
	s.Printf("%s\n", s.Text("land.would_sum", "into", f.Into, "count", len(f.Lands), "left", len(f.LeftOut)))
	if len(f.Most) > len(f.Lands) {
		words := []string{"aiflow land"} // what lands the most, as it can be typed
		for _, id := range f.Most {
			words = append(words, proc.Word(id))
		}
		command := strings.Join(append(words, "--into", proc.Word(f.Into)), " ")
		s.Printf("%s\n", s.Text("land.most", "count", len(f.Most), "command", command))
	}
	return nil
}
