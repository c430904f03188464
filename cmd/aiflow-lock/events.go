package main

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/editlock"
	"aiflow/internal/fault"
	"aiflow/internal/term"
)

// showEvents counts what the project lock, under which requests are edited,
// went through.
func showEvents(s *cli.Shell, since string) error {
	age, err := cli.Age("--since", since, "24h, 90m, 7d")
	if err != nil {
		return err
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	var from time.Time
	if age > 0 {
		from = p.Now().Add(-age)
	}
	dir := filepath.Join(p.Path(p.Config.Paths.AiflowDir), "project", "autosave")
	c, err := editlock.OpenJournal(dir, p.Now).CountSince(from)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(c)
	}
	printCounts(s, c)
	if c.BadLines > 0 {
		s.Warn("projectlock.events_bad", fault.Facts{"count": strconv.Itoa(c.BadLines), "path": dir})
	}
	return nil
}

// printCounts prints a line for each thing that happened.
func printCounts(s *cli.Shell, c editlock.Counts) {
	if c.Lines == 0 {
		s.Printf("%s\n", s.Text("projectlock.events_none"))
		return
	}
	s.Printf("%s - %s\n", moment(c.Since.Time), moment(c.Until.Time))
	rows := countRows(s, c)
	wide := 0
	for _, r := range rows {
		wide = max(wide, term.Width(r[0]))
	}
	for _, r := range rows {
		s.Printf("%s  %s\n", term.Pad(r[0], wide), r[1])
	}
}

func countRows(s *cli.Shell, c editlock.Counts) [][2]string {
	attempts := map[string]int{}
	for operation, by := range c.Attempts {
		for strategy, n := range by {
			attempts[strings.TrimSpace(operation+" "+string(strategy))] = n
		}
	}
	rows := [][2]string{
		{s.Text("projectlock.events_attempts"), tally(attempts)},
		{s.Text("projectlock.events_acquired"), tally(c.Acquired)},
		{s.Text("projectlock.events_renewed"), strconv.Itoa(c.Renewed)},
	}
	byNumber := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }
	for _, n := range slices.SortedFunc(maps.Keys(c.Recoveries), byNumber) {
		rows = append(rows, [2]string{s.Text("projectlock.events_recovered", "count", n), strconv.Itoa(c.Recoveries[n])})
	}
	hold := "-"
	if c.Released > 0 {
		seconds := func(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
		h := c.Hold
		hold = s.Text("projectlock.events_hold_times", "total", seconds(h.Total), "min", seconds(h.Min),
			"median", seconds(h.Median), "p95", seconds(h.P95), "max", seconds(h.Max))
	}
	return append(
		rows,
		[2]string{s.Text("projectlock.events_readonly"), tally(c.ReadonlyByCode)},
		[2]string{s.Text("projectlock.events_release_failed"), strconv.Itoa(c.ReleaseFailed)},
		[2]string{s.Text("projectlock.events_released"), strconv.Itoa(c.Released)},
		[2]string{s.Text("projectlock.events_hold"), hold},
	)
}

// tally is "3 (acquire file-lock 2, renew file-lock 1)".
func tally[K ~string](counts map[K]int) string {
	total := 0
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		total += counts[k]
		if k != "" {
			parts = append(parts, string(k)+" "+strconv.Itoa(counts[k]))
		}
	}
	if len(parts) == 0 {
		return strconv.Itoa(total)
	}
	return strconv.Itoa(total) + " (" + strings.Join(parts, ", ") + ")"
}
