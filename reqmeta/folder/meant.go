package folder

import (
	"strings"

	"aiflow/internal/near"
)

// MaxMeant is in how many places somebody who tells of missing ids should ask
// what was meant: each question looks at every id, and where more are missing,
// it is not for their spelling.
const MaxMeant = 50

// Guesser is Meant for somebody who tells of many ids, at most MaxMeant times.
type Guesser struct {
	Folder *Folder
	asked  int
}

// Meant is Folder.Meant, and "" once that was asked often enough.
func (g *Guesser) Meant(id, by string) string {
	if g.asked++; g.asked > MaxMeant {
		return ""
	}
	return g.Folder.Meant(id, by)
}

// Meant gives the id that was probably meant by one that no request has: the
// only one that differs in case alone, or that begins with it, or that has it as
// a part, or that is written nearly so, also among what is done beside. "" when
// there is none, or none more likely than the others. What the request by
// depends on is not itself.
func (f *Folder) Meant(id, by string) string {
	ids := make([]string, 0, len(f.Requests))
	for _, r := range f.Requests {
		if r.ID != by {
			ids = append(ids, r.ID)
		}
	}
	ids = append(ids, f.BesideIDs()...)
	for _, fits := range []func(have, id string) bool{strings.EqualFold, strings.HasPrefix, hasPart} {
		if found := onlyOne(ids, id, fits); found != "" {
			return found
		}
	}
	return near.Only(id, ids)
}

func onlyOne(ids []string, id string, fits func(have, id string) bool) string {
	found := ""
	for _, have := range ids {
		switch {
		case have == found || !fits(have, id):
		case found != "":
			return ""
		default:
			found = have
		}
	}
	return found
}

// hasPart reports whether part stands in id between dashes: 002 in RQ-2026-002-x.
func hasPart(id, part string) bool { return strings.Contains("-"+id+"-", "-"+part+"-") }
