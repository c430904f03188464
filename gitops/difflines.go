package gitops

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// edit is one line of a comparison, with its end of line.
type edit struct {
	op   byte // ' ', '+' or '-'
	text string
}

// diffLines compares by whole lines. When effort runs out the rest is shown
// as replaced, which is coarse but true.
func diffLines(old, now []byte, effort time.Duration) []edit {
	a, b := split(old), split(now)
	head, tail := commonEnds(a, b)
	book := &lineBook{number: map[string]rune{}, next: 1}
	x, y := book.runes(a[head:len(a)-tail]), book.runes(b[head:len(b)-tail])
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = effort
	edits := make([]edit, 0, len(a)+len(b))
	edits = appendLines(edits, ' ', a[:head])
	for _, d := range dmp.DiffMainRunes(x, y, false) {
		edits = appendLines(edits, sign(d.Type), book.lines(d.Text))
	}
	edits = appendLines(edits, ' ', a[len(a)-tail:])
	deletionsFirst(edits)
	return edits
}

func split(data []byte) []string {
	lines := strings.SplitAfter(string(data), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

func commonEnds(a, b []string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

func appendLines(edits []edit, op byte, lines []string) []edit {
	for _, l := range lines {
		edits = append(edits, edit{op, l})
	}
	return edits
}

func sign(op diffmatchpatch.Operation) byte {
	switch op {
	case diffmatchpatch.DiffInsert:
		return '+'
	case diffmatchpatch.DiffDelete:
		return '-'
	}
	return ' '
}

// deletionsFirst puts each block of changes into git's order.
func deletionsFirst(edits []edit) {
	for i := 0; i < len(edits); {
		j := i
		for j < len(edits) && edits[j].op != ' ' {
			j++
		}
		slices.SortStableFunc(edits[i:j], func(a, b edit) int { return int(b.op) - int(a.op) }) // '-' is above '+'
		i = max(j, i+1)
	}
}

// lineBook gives each different line a rune; surrogates are no runes.
type lineBook struct {
	number map[string]rune
	text   []string
	next   rune
}

const (
	firstSurrogate = 0xD800
	afterSurrogate = 0xE000
)

func (k *lineBook) runes(lines []string) []rune {
	out := make([]rune, len(lines))
	for i, l := range lines {
		r, ok := k.number[l]
		if !ok {
			r = k.next
			k.number[l] = r
			k.text = append(k.text, l)
			if k.next++; k.next == firstSurrogate {
				k.next = afterSurrogate
			}
		}
		out[i] = r
	}
	return out
}

func (k *lineBook) lines(s string) []string {
	var out []string
	for _, r := range s {
		if r >= afterSurrogate {
			r -= afterSurrogate - firstSurrogate
		}
		out = append(out, k.text[r-1])
	}
	return out
}

func countLines(edits []edit) (added, deleted int) {
	for _, e := range edits {
		switch e.op {
		case '+':
			added++
		case '-':
			deleted++
		}
	}
	return added, deleted
}

// isBinary is git's rule: a NUL near the beginning.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}
