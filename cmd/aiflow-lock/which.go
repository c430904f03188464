package main

import (
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
)

// which lock is meant.
type which struct {
	request, name string
	slot          int
	queue         bool
}

func (w *which) flags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "request", Usage: "lock.request_usage", Destination: &w.request},
		&urfave.BoolFlag{Name: "queue", Usage: "lock.queue_usage", Destination: &w.queue},
		&urfave.StringFlag{Name: "name", Usage: "lock.name_usage", Destination: &w.name},
		&urfave.IntFlag{Name: "slot", Usage: "lock.slot_usage", Destination: &w.slot},
	}
}

// check wants exactly one of them.
func (w *which) check(set func(string) bool) error {
	count := 0
	for _, given := range []bool{set("request"), w.queue, set("name"), set("slot")} {
		if given {
			count++
		}
	}
	if count != 1 {
		return cli.Usage("which_lock")
	}
	if set("slot") && w.slot < 1 {
		return cli.Usage("bad_value", "name", "--slot", "value", w.slot, "allowed", "1, 2, 3 …")
	}
	if set("name") && locks.Named(w.name).Check() != nil {
		return cli.Usage("bad_lock_name", "name", "--name", "value", w.name)
	}
	return nil
}

// key is the lock to take. A request is found as it is everywhere: a name that
// nobody else uses would keep nobody out.
func (w *which) key(p *project.Project) (locks.Key, error) {
	switch {
	case w.queue:
		return locks.Queue(), nil
	case w.slot > 0:
		return locks.Slot(w.slot), nil
	case w.name != "":
		return locks.Named(w.name), nil
	}
	folder, err := p.Requests()
	if err != nil {
		return locks.Key{}, err
	}
	r, err := app.Find(p, folder, w.request)
	if err != nil {
		return locks.Key{}, err
	}
	return locks.Request(r.ID), nil
}

// existing is the lock to release: its request may be gone, and what is there
// comes before what could be.
func (w *which) existing(p *project.Project, m *locks.Manager) (locks.Key, error) {
	if w.request == "" {
		return w.key(p)
	}
	entries, err := m.List()
	if err != nil {
		return locks.Key{}, err
	}
	there := idsOf(entries, locks.TypeRequest)
	if slices.Contains(there, w.request) {
		return locks.Request(w.request), nil
	}
	begun := slices.DeleteFunc(there, func(id string) bool { return !strings.HasPrefix(id, w.request) })
	k, err := w.key(p)
	switch {
	case len(begun) == 0, err == nil && k.ID == w.request:
		return k, err
	case len(begun) == 1:
		return locks.Request(begun[0]), nil
	}
	return locks.Key{}, fault.New(fault.RequestNotFound, "id", w.request, "similar", strings.Join(begun, ", "))
}

func idsOf(entries []locks.Entry, kind string) []string {
	var ids []string
	for _, e := range entries {
		if k, ok := locks.KeyOf(e.Path); ok && k.Type == kind {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// held offers the names of the locks of a type that are there, and more.
func held(s *cli.Shell, kind string, more cli.Candidates) cli.Candidates {
	return func(a cli.Asked) []string {
		var found []string
		if more != nil {
			found = more(a)
		}
		p := app.Quiet(s)
		if p == nil {
			return found
		}
		entries, _ := p.Locks().List()
		return append(found, idsOf(entries, kind)...)
	}
}
