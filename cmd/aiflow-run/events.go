package main

import (
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner/stage"
)

// show tells on standard error how a run goes: a line for what happened, and a
// live one on a terminal for what goes on.
type show struct {
	s    *cli.Shell
	p    *project.Project
	many bool // several runs at a time: each has a live line, and is named in all
	line *term.Progress
	tick *time.Ticker
	over chan struct{}
}

func newShow(s *cli.Shell, p *project.Project) *show {
	w := &show{s: s, p: p, line: s.Progress(), tick: time.NewTicker(time.Second), over: make(chan struct{})}
	go func() {
		for {
			select {
			case <-w.over:
				return
			case <-w.tick.C:
				w.line.Tick()
			}
		}
	}()
	return w
}

func (w *show) end() {
	w.tick.Stop()
	close(w.over)
	w.line.Clear()
}

// event shows one event. What starts something replaces the live line, what
// happened stays.
func (w *show) event(e stage.Event) {
	text, name := w.text(e), ""
	if w.many {
		if name = e.RequestID; name != "" && !strings.HasPrefix(text, name+" ") {
			text = name + ": " + text
		}
	}
	switch e.Kind {
	case stage.Waiting:
		w.line.Count(name, text, e.Until)
	case stage.StepBegun, stage.RoleBegun, stage.CommandBegun, stage.TestBegun, stage.Finishing:
		w.line.Set(name, text)
	case stage.Ended:
		w.line.Done(name)
		w.line.Line(text)
	default:
		w.line.Line(text)
	}
}

func (w *show) text(e stage.Event) string {
	if e.Kind == stage.Repaired {
		return term.Escape(app.Note(w.s, e.Note))
	}
	if e.Kind == stage.WorkspaceUp {
		e.What = app.Here(w.s, w.p, e.What)
	}
	return w.s.Catalog().Text("work.event_"+string(e.Kind), e.Facts())
}
