package app

import (
	"cmp"
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

// Problems prints what is wrong with files as "file:line: level: message". One
// line is for one cause, whichever files have it, and there are most of them at
// the most, errors before warnings; with all, one is for each problem. It gives
// the number of causes, and of those that are not told.
func Problems(s *cli.Shell, indent string, list []reqmeta.Problem, all bool, most int) (causes, hidden int) {
	for i := range list {
		if list[i].Message == "" {
			reqmeta.DescribeProblems(list[i:i+1], s.Catalog().Text)
		}
	}
	groups := Grouped(list, func(p reqmeta.Problem) string {
		if all {
			return ""
		}
		return string(p.Level) + p.Message
	})
	if !all && len(groups) > most {
		hidden = len(groups) - most
		slices.SortStableFunc(groups, func(a, b []reqmeta.Problem) int { return cmp.Compare(a[0].Level, b[0].Level) })
	}
	for _, g := range groups[:len(groups)-hidden] {
		p, others, also := g[0], g[1:], ""
		if len(others) > 0 {
			var places []string
			for _, other := range others[:min(len(others), mostNamed)] {
				places = append(places, Place(other.Path, other.Line))
			}
			also = s.Text("next.also", "names", strings.Join(places, ", "), "count", some(FilesOf(others[len(places):])))
		}
		s.Printf("%s%s: %s: %s%s\n", indent, Place(p.Path, p.Line), s.Text("next."+string(p.Level)), p.Message, also)
	}
	return len(groups), hidden
}

// FilesOf is how many files the problems are in.
func FilesOf(list []reqmeta.Problem) int {
	paths := map[string]bool{}
	for _, p := range list {
		paths[p.Path] = true
	}
	return len(paths)
}

// Place is "file:line", or "file" where something is wrong with the file as a whole.
func Place(path string, line int) string {
	if line == 0 {
		return term.Escape(path)
	}
	return term.Escape(path) + ":" + strconv.Itoa(line)
}
