package main

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/locks"
	"aiflow/project"
)

func open(s *cli.Shell) (*project.Project, *locks.Manager, error) {
	p, err := app.Open(s, nil)
	if err != nil {
		return nil, nil, err
	}
	return p, p.Locks(), nil
}

func showLocks(s *cli.Shell) error {
	p, m, err := open(s)
	if err != nil {
		return err
	}
	entries, err := m.List()
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(cli.Items(locks.Items(p.Dir, entries)))
	}
	if len(entries) == 0 {
		s.Printf("%s\n", s.Text("lock.none"))
	}
	for _, e := range entries {
		printEntry(s, p, e)
	}
	return nil
}

// printEntry says who, since when, until when, what that means, and what to
// type.
func printEntry(s *cli.Shell, p *project.Project, e locks.Entry) {
	facts, colour, holder, means := factsOf(s, p, e), term.Yellow, "lock.holder", "lock.means_"+string(e.Verdict)
	switch {
	case e.Orphaned:
		means = "lock.means_orphaned"
	case e.Live && (e.Verdict == locks.Held || e.Verdict == locks.Mine):
		colour = term.Green
	}
	if e.Problem != nil {
		holder = "lock.file"
	}
	s.Printf("%s  %s\n", term.Pad(term.Escape(e.LockType+" "+e.RequestID+e.Name), 24), s.Paint(colour, string(e.Verdict)))
	s.Printf("  %s\n  %s\n", s.Catalog().Text(holder, facts), s.Catalog().Text(means, facts))
	if hint := s.Catalog().Text(hintKey(e), fault.WithAdvice(facts, e.Advise())); hint != "" {
		s.Printf("  -> %s\n", strings.TrimSuffix(strings.TrimSuffix(hint, "; "), "、"))
	}
}

// hintKey is the sentence for what can be done.
func hintKey(e locks.Entry) string {
	if e.Orphaned {
		return "lock.hint_orphaned"
	}
	switch e.Verdict {
	case locks.Held, locks.Mine:
		return "lock.hint_wait"
	case locks.Dead, locks.Expired:
		return "lock.hint_release"
	case locks.Newer:
		return "lock.hint_upgrade"
	case locks.ClockFault:
		return "lock.hint_clock"
	}
	return "lock.hint_force"
}

func factsOf(s *cli.Shell, p *project.Project, e locks.Entry) fault.Facts {
	f := fault.Facts{"path": e.Item(p.Dir).Path}
	set := func(name, value string) {
		if value != "" {
			f[name] = value
		}
	}
	if e.PID != 0 {
		f["pid"] = strconv.Itoa(e.PID)
	}
	if e.Command != 0 {
		f["command"] = strconv.Itoa(e.Command)
	}
	set("run_id", e.RunID)
	set("hostname", cmp.Or(e.Hostname, e.Host))
	set("since", moment(e.CreatedAt))
	set("until", moment(e.ExpiresAt))
	if !e.CreatedAt.IsZero() && !e.CreatedAt.After(s.Now()) {
		set("age", term.Elapsed(s.Now().Sub(e.CreatedAt)))
	}
	if problem, ok := fault.As(e.Problem); ok {
		set("reason", problem.Facts["reason"])
		set("version", problem.Facts["version"])
	}
	return f
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
