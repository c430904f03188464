package app

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/reqmeta/choose"
)

// Reason is why a request cannot run, and others for the same reason.
type Reason struct {
	*choose.Exclusion
	also []*choose.Exclusion
}

// Reasons puts requests together that the same thing keeps from being run, such as
// nobody who would do them. Whatever else is in the list has a line of its own, as
// all have when each is asked for. Nothing is put into words: of thousands only a
// few are shown.
func Reasons(list []*choose.Exclusion, each bool) []Reason {
	causes := map[*fault.Error]string{} // thousands share one
	groups := Grouped(list, func(e *choose.Exclusion) string {
		o := e.Obstacle()
		if o == nil || each {
			return ""
		}
		key, ok := causes[o.Err]
		if !ok {
			key = cause(e)
			causes[o.Err] = key
		}
		return key
	})
	reasons := make([]Reason, len(groups))
	for i, g := range groups {
		reasons[i] = Reason{g[0], g[1:]}
	}
	return reasons
}

// cause is what an obstacle is about, whichever request it keeps.
func cause(e *choose.Exclusion) string {
	f := e.Obstacle().Err
	key := string(f.Code)
	for _, name := range slices.Sorted(maps.Keys(f.Facts)) {
		if name != "path" {
			key += "\x00" + name + "=" + strings.ReplaceAll(f.Facts[name], e.RequestID, "")
		}
	}
	return key
}

// Text is the reason with the other requests that it holds for.
func (r Reason) Text(s *cli.Shell) string {
	if r.Detail == "" {
		r.Describe(s.Catalog().Text)
	}
	if len(r.also) == 0 {
		return r.Detail
	}
	var named []string
	for _, e := range r.also[:min(len(r.also), mostNamed)] {
		named = append(named, e.RequestID)
	}
	return r.Detail + s.Text("next.also_requests", "names", term.Escape(strings.Join(named, ", ")), "count", some(len(r.also)-len(named)))
}

// At is "file:line" where the reason stands in the request, or "".
func (r Reason) At() string {
	if r.Line == 0 {
		return ""
	}
	return r.Path + ":" + strconv.Itoa(r.Line)
}
