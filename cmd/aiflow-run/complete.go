package main

import (
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// offering says for each command what a shell may complete.
func offering(s *cli.Shell, a *urfave.App) *urfave.App {
	a.BashComplete = cli.Offer(cli.First(app.RequestIDs(s, reqmeta.Draft, reqmeta.Ready, reqmeta.Running, reqmeta.Blocked)), nil)
	run := cli.First(func(asked cli.Asked) []string { return recordedIDs(s, asked.Word) })
	modes := cli.Words(string(runs.ModeResume), string(runs.ModeRetryStep), string(runs.ModeReplan))
	for _, c := range a.Commands {
		switch c.Name {
		case "list":
			c.BashComplete = cli.Offer(cli.First(func(cli.Asked) []string { return app.WithRuns(s) }), nil)
		case "show", "logs", "diff", "stop", "resume", "answer", "drop", "restack":
			c.BashComplete = cli.Offer(run, map[string]cli.Candidates{"mode": modes})
		}
	}
	return a
}

// recordedIDs are the ids of runs and of the requests that have some. Folders
// of runs are looked into only where the word can still become a run's id.
func recordedIDs(s *cli.Shell, word string) []string {
	ids := app.WithRuns(s)
	p := app.Quiet(s)
	if p == nil || !strings.HasPrefix(runs.IDPrefix, word) && !strings.HasPrefix(word, runs.IDPrefix) {
		return ids
	}
	for _, id := range ids[:len(ids):len(ids)] {
		if all, err := runs.ListRuns(p.Dir, p.RunsDir(), id); err == nil {
			ids = append(ids, all...)
		}
	}
	return ids
}
