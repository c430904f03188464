package app

import (
	"maps"
	"slices"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/project"
	"aiflow/runs"
)

// Quiet opens the project for a shell's completion, which is told nothing and
// wants only what files say; nil when there is none.
func Quiet(s *cli.Shell) *project.Project {
	env, err := Env(s, nil)
	if err != nil {
		return nil
	}
	p, _ := project.OpenAnyway(env)
	return p
}

// RequestIDs offers the ids of the requests with one of the statuses; of all
// when none is named.
func RequestIDs(s *cli.Shell, statuses ...string) cli.Candidates {
	return func(cli.Asked) []string {
		p := Quiet(s)
		if p == nil {
			return nil
		}
		folder, err := p.Requests()
		if err != nil {
			return nil
		}
		var ids []string
		for _, r := range folder.Requests {
			if r.ID != "" && (len(statuses) == 0 || slices.Contains(statuses, r.Meta.Status)) {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
}

// WithRuns are the ids of the requests that have runs.
func WithRuns(s *cli.Shell) []string {
	p := Quiet(s)
	if p == nil {
		return nil
	}
	all, _ := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	return slices.Sorted(maps.Keys(all))
}

// Listed offers words for a flag that takes several with commas between them.
func Listed(words ...string) cli.Candidates {
	return func(a cli.Asked) []string {
		before := a.Word[:strings.LastIndex(a.Word, ",")+1]
		var lists []string
		for _, w := range words {
			lists = append(lists, before+w)
		}
		return lists
	}
}
