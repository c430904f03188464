package app

import (
	"strconv"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/reqmeta"
)

// Reason is why a request cannot run, and others for the same reason.
type Reason struct {
	Code   fault.Code
	Detail string
	At     string   // "file:line" where it stands in the request
	Also   []string // ids
}

// Reasons puts requests together that the same thing keeps from being run, such as
// nobody who would do them. Whatever else is in the list has a line of its own.
func Reasons(s *cli.Shell, list []*reqmeta.Exclusion) []Reason {
	var reasons []Reason
	known := map[string]int{}
	for _, e := range list {
		if e.Detail == "" {
			e.Describe(s.Catalog().Text)
		}
		if e.Obstacle() != nil {
			key := string(e.ReasonCode) + strings.ReplaceAll(e.Detail, e.RequestID, "\x00")
			if at, ok := known[key]; ok {
				reasons[at].Also = append(reasons[at].Also, e.RequestID)
				continue
			}
			known[key] = len(reasons)
		}
		r := Reason{Code: e.ReasonCode, Detail: e.Detail}
		if e.Line > 0 {
			r.At = e.Path + ":" + strconv.Itoa(e.Line)
		}
		reasons = append(reasons, r)
	}
	return reasons
}

// Text is the reason with the other requests that it holds for.
func (r Reason) Text(s *cli.Shell) string {
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
