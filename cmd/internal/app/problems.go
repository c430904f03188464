package app

import (
	"slices"
	"strconv"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/reqmeta"
)

// MostCauses is how many lines about files are printed where nobody asked for
// all of them.
const MostCauses = 20

// mostPlaces is how many further places of one cause are named.
const mostPlaces = 3

// Problems prints what is wrong with files as "file:line: level: message". One
// line is for one cause, whichever files have it, and there are most of them at
// the most, errors before warnings; with all, one is for each problem. It gives
// the number of causes that are not told.
func Problems(s *cli.Shell, indent string, list []reqmeta.Problem, all bool, most int) (hidden int) {
	for i := range list {
		if list[i].Message == "" {
			reqmeta.DescribeProblems(list[i:i+1], s.Catalog().Text)
		}
	}
	if all {
		for _, p := range list {
			printCause(s, indent, reqmeta.Cause{Problem: p})
		}
		return 0
	}
	causes := reqmeta.Causes(list)
	if hidden = max(0, len(causes)-most); hidden > 0 {
		slices.SortStableFunc(causes, func(a, b reqmeta.Cause) int { return strings.Compare(string(a.Level), string(b.Level)) })
	}
	for _, c := range causes[:len(causes)-hidden] {
		printCause(s, indent, c)
	}
	return hidden
}

func printCause(s *cli.Shell, indent string, c reqmeta.Cause) {
	also := ""
	if len(c.Also) > 0 {
		var places []string
		for _, p := range c.Also[:min(len(c.Also), mostPlaces)] {
			places = append(places, Place(p))
		}
		more := ""
		if n := reqmeta.FilesOf(c.Also[len(places):]); n > 0 {
			more = strconv.Itoa(n)
		}
		also = s.Text("next.also", "names", strings.Join(places, ", "), "count", more)
	}
	s.Printf("%s%s: %s: %s%s\n", indent, Place(c.Problem), s.Text("next."+string(c.Level)), c.Message, also)
}

// Place is "file:line", or "file" where a problem is one of the whole file.
func Place(p reqmeta.Problem) string {
	if p.Line == 0 {
		return term.Escape(p.Path)
	}
	return term.Escape(p.Path) + ":" + strconv.Itoa(p.Line)
}
