package folder

import (
	"slices"
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
	Beside func() []string // ids that are done elsewhere, which the folder does not know; nil: none
	asked  int
}

// Meant is Folder.Meant, and "" once that was asked often enough.
func (g *Guesser) Meant(id, by string) string {
	if g.asked++; g.asked > MaxMeant {
		return ""
	}
	var beside []string
	if g.Beside != nil {
		beside = g.Beside()
	}
	return g.Folder.meant(id, by, beside)
}

// Meant gives the id that was probably meant by one that no request has: the
// only one that differs in case alone, or that begins with it, or that has it as
// a part, or that is written nearly so, also among what is done beside. "" when
// there is none, or none more likely than the others. What the request by
// depends on is not itself, and another number is no slip: task-4 is not task-5.
func (f *Folder) Meant(id, by string) string { return f.meant(id, by, nil) }

func (f *Folder) meant(id, by string, beside []string) string {
	ids := append(f.BesideIDs(), beside...)
	for _, r := range f.Requests {
		if r.ID != by {
			ids = append(ids, r.ID)
		}
	}
	ids = slices.DeleteFunc(ids, func(have string) bool { return otherNumber(have, id) })
	for _, fits := range []func(have, id string) bool{strings.EqualFold, strings.HasPrefix, hasPart} {
		if found := onlyOne(ids, id, fits); found != "" {
			return found
		}
	}
	return near.Only(id, ids)
}

// otherNumber reports whether two ids are the same but for their numbers. Zeros before
// one do not count.
func otherNumber(a, b string) bool {
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	words := func(id string) []string { return strings.FieldsFunc(id, digit) }
	numbers := func(id string) []string {
		list := strings.FieldsFunc(id, func(r rune) bool { return !digit(r) })
		for i := range list {
			list[i] = strings.TrimLeft(list[i], "0")
		}
		return list
	}
	return slices.Equal(words(a), words(b)) && !slices.Equal(numbers(a), numbers(b))
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
