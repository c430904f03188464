package gitops

import "strings"

// hunks cuts the changed lines and their surroundings out of a comparison, at
// most room lines. used is how many it took; cut tells that some are missing.
func hunks(edits []edit, context, room, lineBytes int) (found []Hunk, used int, cut bool) {
	found = []Hunk{}
	for _, s := range spans(edits, context) {
		if used+s.end-s.start > room {
			cut = true
			s.end = s.start + max(room-used, 0)
		}
		if s.end > s.start {
			h, long := makeHunk(edits, s, lineBytes)
			found, cut = append(found, h), cut || long
			used += s.end - s.start
		}
		if used >= room && cut {
			break
		}
	}
	return found, used, cut
}

// span is a range of edits, with the line numbers before it.
type span struct{ start, end, oldBefore, newBefore int }

// spans finds the ranges; changes whose surroundings touch share one.
func spans(edits []edit, context int) []span {
	var found []span
	for i, e := range edits {
		if e.op == ' ' {
			continue
		}
		start, end := max(i-context, 0), min(i+context+1, len(edits))
		if n := len(found); n > 0 && start <= found[n-1].end {
			found[n-1].end = end
			continue
		}
		found = append(found, span{start: start, end: end})
	}
	i, old, now := 0, 0, 0
	for n := range found {
		for ; i < found[n].start; i++ {
			old, now = advance(edits[i], old, now)
		}
		found[n].oldBefore, found[n].newBefore = old, now
	}
	return found
}

func advance(e edit, old, now int) (int, int) {
	switch e.op {
	case '-':
		return old + 1, now
	case '+':
		return old, now + 1
	}
	return old + 1, now + 1
}

func makeHunk(edits []edit, s span, lineBytes int) (h Hunk, cut bool) {
	old, now := s.oldBefore, s.newBefore
	h.Lines = make([]Line, 0, s.end-s.start)
	for _, e := range edits[s.start:s.end] {
		old, now = advance(e, old, now)
		text, ended := strings.CutSuffix(e.text, "\n")
		if lineBytes > 0 && len(text) > lineBytes {
			text, cut = text[:lineBytes], true
		}
		h.Lines = append(h.Lines, Line{Op: string(e.op), Text: strings.ToValidUTF8(text, "\uFFFD"), NoNL: !ended})
	}
	h.OldLines, h.NewLines = old-s.oldBefore, now-s.newBefore
	h.OldStart, h.NewStart = firstLine(s.oldBefore, h.OldLines), firstLine(s.newBefore, h.NewLines)
	return h, cut
}

// firstLine is the number of a side's first line or, as in a unified diff,
// of the line before when the side has none.
func firstLine(before, lines int) int {
	if lines == 0 {
		return before
	}
	return before + 1
}
