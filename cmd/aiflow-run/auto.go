package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/config"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner"
	"aiflow/runs"
)

func autoCommand(s *cli.Shell) *urfave.Command {
	var o runner.AutoOptions
	var until string
	return &urfave.Command{
		Name: "auto", Usage: "work.auto_usage", Description: "work.auto_description",
		UsageText: "aiflow-run auto\naiflow-run auto --max-runs 5\naiflow-run auto --until 07:30 --max-cost 20\naiflow-run auto --stack --jobs 2\naiflow-run auto --land-into nightly",
		Flags: []urfave.Flag{
			&urfave.IntFlag{Name: "max-runs", Usage: "work.auto_max_runs", Destination: &o.MaxRuns},
			&urfave.IntFlag{Name: "max-minutes", Usage: "work.auto_max_minutes", Destination: &o.MaxMinutes},
			&urfave.Float64Flag{Name: "max-cost", Usage: "work.auto_max_cost", Destination: &o.MaxCostUSD},
			&urfave.StringFlag{Name: "until", Usage: "work.auto_until", Destination: &until},
			&urfave.StringFlag{Name: "base", Usage: "work.flag_base", Destination: &o.Base},
			&urfave.BoolFlag{Name: "stack", Usage: "work.flag_stack", Destination: &o.Stack},
			&urfave.IntFlag{Name: "jobs", Usage: "work.auto_jobs", Destination: &o.Jobs},
			&urfave.StringFlag{Name: "land-into", Usage: "work.auto_land_into", Destination: &o.LandInto},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.Named(c, "land-into", "base"); err != nil {
				return err
			}
			if o.Base != "" && o.LandInto != "" {
				return cli.Usage("auto_land_base")
			}
			for _, f := range []struct {
				name string
				most int
			}{{"jobs", config.MaxJobs}, {"max-minutes", config.MaxMinutes}, {"max-runs", config.MaxRuns}} {
				if n := c.Int(f.name); c.IsSet(f.name) && (n < 1 || n > f.most) {
					return cli.Usage("bad_value", "name", "--"+f.name, "value", n, "allowed", "1.."+strconv.Itoa(f.most))
				}
			}
			if c.IsSet("max-cost") && (!(o.MaxCostUSD > 0) || math.IsInf(o.MaxCostUSD, 0)) {
				return cli.Usage("bad_value", "name", "--max-cost", "value", o.MaxCostUSD, "allowed", "0.01..")
			}
			return auto(s, o, until)
		},
	}
}

// auto runs one request after the other until a rule says stop.
func auto(s *cli.Shell, o runner.AutoOptions, until string) (err error) {
	if o.Until, err = clockTime(until, s.Now()); err != nil {
		return err
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	if o.Jobs > 1 && p.Config.Git.Workspace == config.WorkspaceInPlace {
		return cli.Usage("auto_jobs")
	}
	ctx, hurry := s.Patience()
	show := newShow(s, p)
	show.many = cmp.Or(o.Jobs, p.Config.Jobs()) > 1
	r := newRunner(s, p, show, hurry)
	session, err := r.Auto(ctx, o)
	show.end()
	if err != nil {
		return err
	}
	err = r.Advised(s.Context(), session.Err())
	if s.JSON {
		if err := printStatus(s, p, session); err != nil {
			return err
		}
		return cli.Reported(err)
	}
	if err := printSession(s, p, session, err != nil && s.OnePlace()); err != nil {
		return err
	}
	_ = s.Flush()
	return err
}

// clockTime is the next time that a clock shows HH:MM; "" is never.
func clockTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, cli.Usage("bad_value", "name", "--until", "value", text, "allowed", "HH:MM")
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

// status shows the session of runs that goes on, or the last one.
func status(s *cli.Shell) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	session, err := work.Runner(s, p).LoadSession(s.Context())
	if err != nil {
		return err
	}
	if s.JSON {
		return printStatus(s, p, session)
	}
	return printSession(s, p, session, false)
}

// printSession shows what a session did and, last, what waits for a person,
// whichever session or command left it. told: the reason why it stopped is told
// by cmd/internal/cli.
func printSession(s *cli.Shell, p *project.Project, v runner.Session, told bool) error {
	if v.State == runner.Idle {
		s.Printf("%s\n", s.Text("work.session_none"))
		return printWaiting(s, p, v)
	}
	if err := printSessionBody(s, p, v); err != nil {
		return err
	}
	if v.StopReason != nil && !told {
		s.Printf("%s: %s\n", v.StopReason.ReasonCode, v.StopReason.Message)
		for _, a := range v.StopReason.Actions {
			s.Printf("  %s: %s\n", s.Text("cli.hint"), a)
		}
	}
	if before := v.Before; before != nil && v.Idle() {
		s.Printf("%s\n", s.Text("work.session_before", "at", before.StartedAt.Local().Format(time.DateTime)))
		if err := printSessionBody(s, p, *before); err != nil {
			return err
		}
	}
	return printWaiting(s, p, v)
}

func printSessionBody(s *cli.Shell, p *project.Project, v runner.Session) error {
	now, err := summaries(s, p, resultsOf(p, v))
	if err != nil {
		return err
	}
	for _, r := range v.Results {
		i := slices.IndexFunc(now, func(n runs.Summary) bool { return n.RunID == r.RunID })
		if i < 0 { // cleaned away since
			now, i = append(now, runs.Summary{State: r.State, Merged: r.State == runs.Done}), len(now)
		}
		printResult(s, r, now[i])
	}
	for _, k := range v.Skipped {
		s.Printf("%s  %s  %s  %s\n", term.Pad("SKIPPED", 12), k.RequestID, s.Paint(term.Yellow, string(k.ReasonCode)), k.Detail)
	}
	for _, t := range v.ActiveTurns() {
		s.Printf("%s\n", s.Text("work.session_now", "id", t.RequestID, "run_id", t.RunID))
	}
	if v.StopAsked {
		s.Printf("%s\n", s.Text("work.stop_after_this"))
	}
	for i, w := range v.Waits {
		facts := w.Facts()
		if i == len(v.Waits)-1 && v.ProviderWait != nil {
			break // that is now, and told below
		}
		if end := v.EndedAt; i == len(v.Waits)-1 && end == nil && v.State == runner.Stopped {
			delete(facts, "at") // the session was cut off, nobody knows when
		} else if end != nil && w.Until != nil && end.Before(*w.Until) {
			facts["at"] = end.Local().Format("2006-01-02 15:04")
		}
		facts["from"] = w.From.Local().Format("2006-01-02 15:04")
		s.Printf("%s\n", term.Escape(s.Catalog().Text("work.session_waited", facts)))
	}
	if w := v.ProviderWait; w != nil {
		s.Printf("%s\n", term.Escape(s.Catalog().Text("work.waits_for", w.Facts())))
	}
	if v.Usage != nil {
		s.Printf("%s\n", s.Catalog().Text("work.session_usage", v.Usage.Facts()))
	}
	c := countersNow(v, now)
	s.Printf("%s\n", s.Text("work.session_counts", "state", v.State, "count", c.Runs, "done", c.Done,
		"needs_input", c.NeedsInput, "failed", c.Failed, "skips", c.Skips))
	printLanded(s, p, v, now)
	return nil
}

// resultsOf are the records of a session's runs.
func resultsOf(p *project.Project, v runner.Session) []*runs.Stage {
	var stages []*runs.Stage
	for _, r := range v.Results {
		if st, err := p.Run(r.RequestID, r.RunID).LoadStage(); err == nil {
			stages = append(stages, st)
		}
	}
	return stages
}

// countersNow counts what the runs of a session came to, whatever became of them since.
func countersNow(v runner.Session, now []runs.Summary) runner.Counters {
	c := v.Counters
	c.Done, c.NeedsInput, c.Failed = 0, 0, 0
	for _, r := range v.Results {
		if i := slices.IndexFunc(now, func(n runs.Summary) bool { return n.RunID == r.RunID }); i >= 0 {
			r.State = now[i].State
		}
		switch r.State {
		case runs.Done:
			c.Done++
		case runs.NeedsInput:
			c.NeedsInput++
		case runs.Failed:
			c.Failed++
		}
	}
	return c
}

// printLanded says how to take over what the session landed, while that is not done:
// a squash with a message of one's own does it, too.
func printLanded(s *cli.Shell, p *project.Project, v runner.Session, now []runs.Summary) {
	i := slices.IndexFunc(v.Results, func(r runner.Result) bool {
		return r.LandedInto != "" && slices.ContainsFunc(now, func(n runs.Summary) bool { return n.RunID == r.RunID && n.LandedOn == r.LandedInto })
	})
	if i >= 0 {
		s.Printf("%s\n", s.Text("work.auto_take", "command", "git merge "+project.GitName(p, v.Results[i].LandedInto)))
	}
}

// printResult shows what a run of a session came to, and where it has come since.
func printResult(s *cli.Shell, r runner.Result, now runs.Summary) {
	text := stateText(s, now)
	if now.State == runs.Done && (!now.Merged && now.BranchExists || now.LandedOn != "" && now.LandedOn == r.LandedInto) {
		text = string(now.State) // the line says the rest
	}
	line := term.Pad(text, 12) + "  " + r.RequestID
	switch {
	case now.ReasonCode != "":
		line += "  " + string(now.ReasonCode)
		if r.Said != "" {
			line += "  \"" + term.Escape(r.Said) + "\""
		}
	case now.State == runs.Done && now.BranchExists && !now.Merged:
		line += "  " + r.WorkBranch
	}
	switch {
	case r.LandedInto != "":
		line += "  " + s.Text("work.auto_landed", "into", r.LandedInto)
	case r.NotLanded != "":
		line += "  " + s.Text("work.auto_not_landed", "reason", r.NotLanded)
	}
	line += warned(s, r.Warnings)
	s.Printf("%s\n", s.Paint(stateStyle(now.State), line))
}
