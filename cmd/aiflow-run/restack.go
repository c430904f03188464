package main

import (
	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/runner/land"
)

// notMoved is a run that stays where it was, as JSON.
type notMoved struct {
	land.Item
	Error cli.ErrorBody `json:"error"`
}

// restack moves runs that stand on others to where those are now.
func restack(s *cli.Shell, names []string, all bool) error {
	if all == (len(names) > 0) {
		return cli.Usage("restack_what", "command", s.Name)
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	l := &land.Lander{Project: p, Text: s.Catalog().Text, Words: work.Words(s).Fault, Point: app.Point(p), Observe: func(e land.Event) {
		s.Tell(term.Escape(s.Text("land.event_"+e.Kind, "id", e.Item.RequestID, "branch", e.Item.Branch, "name", e.What)))
	}}
	ctx, hurry := s.Patience()
	l.Hurry = hurry
	out, err := l.Restack(ctx, names)
	if err == nil {
		err = out.Err()
	}
	if s.JSON {
		v := struct {
			OK      bool         `json:"ok"`
			Moved   []land.Moved `json:"restacked"`
			Already []land.Item  `json:"already"`
			LeftOut []notMoved   `json:"left_out"`
		}{err == nil, append([]land.Moved{}, out.Moved...), append([]land.Item{}, out.Already...), []notMoved{}}
		for _, l := range out.LeftOut {
			v.LeftOut = append(v.LeftOut, notMoved{l.Item, s.Body(l.Err)})
		}
		if len(out.LeftOut) == 0 && err != nil {
			return err
		}
		return s.Answer(v, err)
	}
	for _, m := range out.Moved {
		s.Printf("%s\n", s.Paint(term.Green, s.Text("land.restacked", "id", m.RequestID, "branch", m.Branch, "commit", term.ShortHash(m.Commit), "ref", m.Kept)))
	}
	for _, i := range out.Already {
		s.Printf("%s\n", s.Text("land.restack_already", "id", i.RequestID))
	}
	for _, l := range out.LeftOut {
		line := s.Text("land.left_out", "id", l.RequestID, "reason", fault.CodeOf(l.Err), "cause", s.Body(l.Err).Message)
		s.Printf("%s\n", s.Paint(term.Red, term.Escape(line)))
	}
	if len(out.Moved)+len(out.Already)+len(out.LeftOut) == 0 && err == nil {
		s.Printf("%s\n", s.Text("work.restack_none"))
	}
	return err
}
