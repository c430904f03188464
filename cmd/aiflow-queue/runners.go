package main

import (
	"time"

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

func judged(r queue.Runner, now time.Time) runnerItem {
	item := runnerItem{Runner: r, IsAlive: r.Alive(now), Silent: r.Status != queue.RunnerStopped && !r.Alive(now)}
	item.Status = r.Judged(now)
	return item
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
	items := []runnerItem{}
	for _, r := range records {
		items = append(items, judged(r, s.Now()))
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
		s.Printf("%s  %s  %s  %s\n", verdict(s, r), term.Pad(term.Escape(r.RunnerID), 24), term.Pad(ago(s, r.LastHeartbeat), 6), term.Escape(r.ProjectRoot))
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

func verdict(s *cli.Shell, r runnerItem) string {
	switch {
	case r.IsAlive:
		return s.Paint(term.Green, term.Pad(s.Text("queue.runner_alive"), 8))
	case r.Silent:
		return s.Paint(term.Red, term.Pad(s.Text("queue.runner_dead"), 8))
	}
	return term.Pad(s.Text("queue.runner_stopped"), 8)
}
