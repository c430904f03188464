package main

import (
	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/queue"
)

// runnerItem is a record as it is judged by the 120,000 ms rule.
type runnerItem struct {
	queue.Runner
	IsAlive bool `json:"is_alive"`
	// Silent: it never said that it stops, but its heartbeat is too old.
	Silent bool `json:"silent"`
}

func runners(s *cli.Shell, w where) error {
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	records, err := q.Runners(s.Context())
	if err != nil {
		return err
	}
	items, now := []runnerItem{}, s.Now()
	for _, r := range records {
		item := runnerItem{Runner: r, IsAlive: r.Alive(now), Silent: r.Status != queue.RunnerStopped && !r.Alive(now)}
		item.Status = r.Judged(now)
		items = append(items, item)
	}
	if s.JSON {
		return s.PrintJSON(struct {
			Namespace string       `json:"namespace"`
			Items     []runnerItem `json:"items"`
		}{q.Namespace(), items})
	}
	if len(items) == 0 {
		s.Printf("%s\n", s.Text("queue.no_runners", "name", q.Namespace()))
	}
	for _, r := range items {
		verdict := term.Pad(s.Text("queue.runner_stopped"), 8)
		switch {
		case r.IsAlive:
			verdict = s.Paint(term.Green, term.Pad(s.Text("queue.runner_alive"), 8))
		case r.Silent:
			verdict = s.Paint(term.Red, term.Pad(s.Text("queue.runner_dead"), 8))
		}
		s.Printf("%s  %s  %s  %s\n", verdict, term.Pad(term.Escape(r.RunnerID), 24), term.Pad(ago(s, r.LastHeartbeat), 6), term.Escape(r.ProjectRoot))
	}
	return nil
}

// namespaces lists where something goes on; no namespace need be named for it.
func namespaces(s *cli.Shell, w where) error {
	if w.namespace == "" {
		w.namespace = "any"
	}
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	items, err := q.Namespaces(s.Context())
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(cli.Items(items))
	}
	if len(items) == 0 {
		s.Printf("%s\n", s.Text("queue.no_namespaces"))
	}
	for _, n := range items {
		s.Printf("%s  %s\n", term.Pad(term.Escape(n.Namespace), 32), s.Text("queue.namespace_line",
			"queued", n.Queued, "running", n.Running, "count", n.Runners, "alive", n.ActiveRunners))
	}
	return nil
}
