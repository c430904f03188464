package app

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/reqmeta"
)

// Reason is why a request cannot run, and others for the same reason.
type Reason struct {
	*reqmeta.Exclusion
	Also []string // ids
}

// Reasons puts requests together that the same thing keeps from being run, such as
// nobody who would do them. Whatever else is in the list has a line of its own.
// Nothing is put into words: of thousands only a few are shown.
func Reasons(list []*reqmeta.Exclusion) []Reason {
	var reasons []Reason
	known := map[string]int{}
	for _, e := range list {
		if e.Obstacle() != nil {
			key := cause(e)
			if at, ok := known[key]; ok {
				reasons[at].Also = append(reasons[at].Also, e.RequestID)
				continue
			}
			known[key] = len(reasons)
		}
		reasons = append(reasons, Reason{Exclusion: e})
	}
	return reasons
}

// cause is what an obstacle is about, whichever request it keeps.
func cause(e *reqmeta.Exclusion) string {
	key := string(e.ReasonCode)
	f, ok := fault.As(e.Obstacle().Err)
	if !ok {
		return key + e.Path
	}
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
	if len(r.Also) == 0 {
		return r.Detail
	}
	named := r.Also[:min(len(r.Also), mostPlaces)]
	more := ""
	if n := len(r.Also) - len(named); n > 0 {
		more = strconv.Itoa(n)
	}
	return r.Detail + s.Text("next.also_requests", "names", term.Escape(strings.Join(named, ", ")), "count", more)
}

// At is "file:line" where the reason stands in the request, or "".
func (r Reason) At() string {
	if r.Line == 0 {
		return ""
	}
	return r.Path + ":" + strconv.Itoa(r.Line)
}
