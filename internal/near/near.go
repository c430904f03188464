// Package near finds the word that somebody probably meant.
//
// It does not know any words itself.
package near

import "slices"

// Word gives the candidate closest to word, or "" when none is close: at most
// a third of the letters may differ (one in a short word). Two neighbouring
// letters that changed places count as one difference.
func Word(word string, candidates []string) string {
	best, _ := closest(word, candidates)
	return best
}

// Only is Word where a guess is worse than none: "" also when two different
// candidates are equally close.
func Only(word string, candidates []string) string {
	best, tied := closest(word, candidates)
	if tied {
		return ""
	}
	return best
}

func closest(word string, candidates []string) (best string, tied bool) {
	w := []rune(word)
	limit := min(len(w)/3+1, 3)
	least := limit + 1
	var t table
	for _, c := range candidates {
		letters := []rune(c)
		switch d := t.distance(w, letters, min(limit, least)); {
		case d > limit || d >= len(letters):
		case d < least:
			best, least, tied = c, d, false
		case d == least && c != best:
			tied = true
		}
	}
	return best, tied
}

// Distance is how many letters were added, left out, replaced or changed places
// with their neighbours between two words; anything above limit may come out as
// any number above it.
func Distance(a, b string, limit int) int {
	var t table
	return t.distance([]rune(a), []rune(b), limit)
}

// table is three rows of numbers, kept from one distance to the next.
type table struct{ before, last, row []int }

// distance is the optimal string alignment distance, or something above limit
// when it is above limit.
func (t *table) distance(a, b []rune, limit int) int {
	a, b = differing(a, b)
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	n := len(b) + 1
	t.before, t.last, t.row = slices.Grow(t.before[:0], n)[:n], slices.Grow(t.last[:0], n)[:n], slices.Grow(t.row[:0], n)[:n]
	for j := range t.last {
		t.last[j] = j
	}
	for i := range a {
		if least := t.fill(a, b, i, limit); least > limit {
			return limit + 1
		}
		t.before, t.last, t.row = t.last, t.row, t.before
	}
	return t.last[len(b)]
}

// differing is what two words are without their common beginning and end.
func differing(a, b []rune) (x, y []rune) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// fill makes the row of a[i], as far as it can lead to limit or less, and gives
// the least number of it and the row before.
func (t *table) fill(a, b []rune, i, limit int) int {
	before, last, row := t.before, t.last, t.row
	from, to := max(0, i-limit), min(len(b), i+limit+1)
	row[from] = min(i, limit) + 1
	least := min(row[from], slices.Min(last[from:to+1]))
	for j := from; j < to; j++ {
		d := min(last[j]+cost(a[i] != b[j]), row[j]+1, last[j+1]+1)
		if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
			d = min(d, before[j-1]+1)
		}
		row[j+1], least = d, min(least, d)
	}
	if to < len(b) {
		row[to+1] = limit + 1
	}
	return least
}

func cost(differs bool) int {
	if differs {
		return 1
	}
	return 0
}
