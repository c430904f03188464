package main

import (
	"cmp"
	"context"
	"os"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/project"
	"aiflow/queue"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
)

// push puts requests in: those that are named, or all that can run now.
func push(s *cli.Shell, w where, runnable bool, ids []string) error {
	if runnable == (len(ids) > 0) {
		return cli.Usage("push_what", "command", s.Name+" push")
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	ctx := s.Context()
	survey, err := p.Survey(ctx)
	if err != nil {
		return err
	}
	survey.Elsewhere = true
	app.Notes(s, survey)
	chosen, err := toPush(s, p, survey, ids)
	if err != nil {
		return err
	}
	q, err := open(s, w, quickly)
	if err != nil {
		return err
	}
	return pushAll(ctx, s, p, q, chosen)
}

// toPush are the requests to push; one that cannot run is refused before
// anything is pushed.
func toPush(s *cli.Shell, p *project.Project, survey *project.Survey, ids []string) ([]*reqmeta.Request, error) {
	var chosen []*reqmeta.Request
	if len(ids) == 0 {
		for _, c := range survey.Select().Runnable {
			chosen = append(chosen, c.Request)
		}
		return chosen, nil
	}
	for _, id := range ids {
		r, err := app.Find(p, survey.Folder, id)
		if err != nil {
			return nil, err
		}
		if why, ok := choose.JudgeNamed(survey.Folder, survey.Facts, r.ID); !ok {
			return nil, why.Fault(s.Catalog().Text)
		}
		chosen = append(chosen, r)
	}
	return chosen, nil
}

func pushAll(ctx context.Context, s *cli.Shell, p *project.Project, q *queue.Store, chosen []*reqmeta.Request) error {
	items := []answer{}
	for _, r := range chosen {
		// Its text is what a client that knows no request files shows, or works from.
		data, err := os.ReadFile(p.Path(r.Path))
		if err != nil {
			return err
		}
		text := cmp.Or(strings.TrimSpace(string(reqmeta.Readable(data))), r.Title())
		text = strings.ToValidUTF8(text[:min(len(text), maxPrompt)], "") // never half a character
		t, created, err := q.Push(ctx, queue.NewTask{RequestID: r.ID, Prompt: text})
		if err != nil {
			return err
		}
		items = append(items, answer{true, created, t})
		if !s.JSON {
			s.Printf("%s\n", told(s, t, created))
		}
	}
	if s.JSON {
		return s.PrintJSON(struct {
			OK    bool     `json:"ok"`
			Items []answer `json:"items"`
		}{true, items})
	}
	if len(items) == 0 {
		s.Printf("%s\n", s.Text("queue.push_nothing"))
	}
	return nil
}
