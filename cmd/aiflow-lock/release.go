package main

import (
	"aiflow/cmd/internal/cli"
	"aiflow/locks"
)

// releaseLock removes a lock by hand. One that has vanished is success.
func releaseLock(s *cli.Shell, w which, force bool) error {
	p, m, err := open(s)
	if err != nil {
		return err
	}
	key, err := w.existing(p, m)
	if err != nil {
		return err
	}
	e, gone, err := m.Break(s.Context(), key, force)
	if err != nil {
		if !s.JSON && e.Path != "" {
			printEntry(s, p, e)
		}
		return err
	}
	if s.JSON {
		body := releasedBody{OK: true, Released: gone}
		if gone {
			item := e.Item(p.Dir)
			item.Advice = nil // it is gone
			body.Lock = &item
		}
		return s.PrintJSON(body)
	}
	if !gone {
		s.Printf("%s\n", s.Text("lock.vanished"))
		return nil
	}
	s.Printf("%s\n", s.Catalog().Text("lock.released", factsOf(s, p, e)))
	return nil
}

type releasedBody struct {
	OK       bool        `json:"ok"`
	Released bool        `json:"released"`
	Lock     *locks.Item `json:"lock"` // null when there was none
}
