package main

import (
	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/queue"
)

// runnerItem is a record with the verdict of the 120,000 ms rule.
type runnerItem struct {
	queue.Runner
	IsAlive bool `json:"is_alive"`
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
		items = append(items, runnerItem{r, r.Alive(s.Now())})
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
		return s.PrintJSON(struct {
			Items []queue.Space `json:"items"`
		}{items})
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
	case r.Status == queue.RunnerStopped:
		return term.Pad(s.Text("queue.runner_stopped"), 8)
	case r.IsAlive:
		return s.Paint(term.Green, term.Pad(s.Text("queue.runner_alive"), 8))
	}
	return s.Paint(term.Red, term.Pad(s.Text("queue.runner_dead"), 8))
}
