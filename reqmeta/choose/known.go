package choose

import "aiflow/reqmeta/folder"

// known is what Facts say of requests, each asked for once.
type known struct {
	facts Facts
	some  []bool // by request index: something may be known of it; nil: of nobody, or of everybody
	every bool

	holders map[int]*Holder
	runs    map[int]*LatestRun
}

func newKnown(f *folder.Folder, facts Facts) *known {
	t := &known{facts: facts, holders: map[int]*Holder{}, runs: map[int]*LatestRun{}}
	switch {
	case facts.Locked == nil && facts.LatestRun == nil:
	case facts.Concerned == nil:
		t.every = true
	default:
		t.some = make([]bool, len(f.Requests))
		for _, id := range facts.Concerned {
			if i := f.Index(id); i >= 0 {
				t.some[i] = true
			}
		}
	}
	return t
}

// of reports whether anything may be known of a request besides its file.
func (t *known) of(i int) bool { return t.every || t.some != nil && t.some[i] }

func (j *judge) locked(i int) *Holder {
	t := j.known
	if t.facts.Locked == nil || !t.of(i) {
		return nil
	}
	return asked(t, t.holders, i, t.facts.Locked, j.f.Requests[i].ID)
}

func (j *judge) latest(i int) *LatestRun {
	t := j.known
	if t.facts.LatestRun == nil || !t.of(i) {
		return nil
	}
	return asked(t, t.runs, i, t.facts.LatestRun, j.f.Requests[i].ID)
}

// asked gives an answer that is there, or asks.
func asked[T any](t *known, answers map[int]*T, i int, ask func(id string) *T, id string) *T {
	a, ok := answers[i]
	if !ok {
		a = ask(id)
		answers[i] = a
	}
	return a
}
