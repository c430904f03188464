package main

import (
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/reqmeta"
)

// idAndPairs offers an id, and then what can be set.
func idAndPairs(s *cli.Shell) urfave.BashCompleteFunc {
	ids := app.RequestIDs(s)
	return cli.Offer(func(a cli.Asked) []string {
		switch {
		case len(a.Args) == 0:
			return ids(a)
		case slices.ContainsFunc(a.Args, func(arg string) bool { return strings.Contains(arg, "=") }):
			return pairs(a.Word)
		}
		return append(pairs(a.Word), ids(a)...)
	}, nil)
}

// pairs are KEY= while no value is begun, and then KEY=VALUE.
func pairs(word string) []string {
	values := map[string][]string{
		"status": reqmeta.Statuses[:], "priority": reqmeta.Priorities[:], "estimate": reqmeta.Estimates[:],
		"title": nil, "labels": nil, "depends_on": nil, "base": nil, "touches": nil,
	}
	key, _, begun := strings.Cut(word, "=")
	var offered []string
	for name, allowed := range values {
		switch {
		case !begun:
			offered = append(offered, name+"=")
		case name == key:
			for _, v := range allowed {
				offered = append(offered, name+"="+v)
			}
		}
	}
	return offered
}
