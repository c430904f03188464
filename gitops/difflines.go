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
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = effort
	x, y, lines := dmp.DiffLinesToRunes(string(old), string(now))
	var edits []edit
	for _, d := range dmp.DiffCharsToLines(dmp.DiffMainRunes(x, y, false), lines) {
		for l := range strings.Lines(d.Text) {
			edits = append(edits, edit{"- +"[d.Type-diffmatchpatch.DiffDelete], l})
		}
	}
	deletionsFirst(edits)
	return edits
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
