package main

import (
	"strconv"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/gitops"
	"aiflow/internal/term"
)

// side is one line of a file beside another: its number and text. A side
// without a number is empty.
type side struct {
	n    int
	text string
	op   string
}

// pairs puts the lines of a hunk beside each other: what stayed with itself,
// removed lines with the added ones that follow them.
func pairs(h gitops.Hunk) [][2]side {
	var rows [][2]side
	var gone, came []side
	flush := func() {
		for i := range max(len(gone), len(came)) {
			var row [2]side
			if i < len(gone) {
				row[0] = gone[i]
			}
			if i < len(came) {
				row[1] = came[i]
			}
			rows = append(rows, row)
		}
		gone, came = nil, nil
	}
	old, now := h.OldStart, h.NewStart
	for _, l := range h.Lines {
		text := strings.TrimRight(l.Text, "\r\n")
		switch l.Op {
		case "-":
			if len(came) > 0 {
				flush()
			}
			gone = append(gone, side{old, text, l.Op})
			old++
		case "+":
			came = append(came, side{now, text, l.Op})
			now++
		default:
			flush()
			rows = append(rows, [2]side{{old, text, " "}, {now, text, " "}})
			old, now = old+1, now+1
		}
	}
	flush()
	return rows
}

// printSides prints a hunk in two columns that fit into width.
func printSides(s *cli.Shell, h gitops.Hunk, width int) {
	digits := len(strconv.Itoa(max(h.OldStart+h.OldLines, h.NewStart+h.NewLines)))
	cols := (width - 3 - 2*(digits+1)) / 2
	s.Printf("%s\n", s.Paint(term.Cyan, strings.Repeat("-", digits+1+cols)+"-+-"+strings.Repeat("-", digits+1+cols)))
	for _, row := range pairs(h) {
		left, right := fold(row[0].text, cols), fold(row[1].text, cols)
		for i := range max(len(left), len(right)) {
			s.Printf("%s | %s\n", cell(s, row[0], left, i, digits, cols, true), cell(s, row[1], right, i, digits, cols, false))
		}
	}
}

func cell(s *cli.Shell, of side, lines []string, i, digits, cols int, pad bool) string {
	number, text := strings.Repeat(" ", digits), ""
	if of.n > 0 && i < len(lines) {
		text = lines[i]
		if i == 0 {
			number = strings.Repeat(" ", digits-len(strconv.Itoa(of.n))) + strconv.Itoa(of.n)
		}
	}
	if pad {
		text = term.Pad(text, cols)
	}
	switch of.op {
	case "-":
		text = s.Paint(term.Red, text)
	case "+":
		text = s.Paint(term.Green, text)
	}
	if pad {
		return number + " " + text
	}
	return strings.TrimRight(number+" "+text, " ")
}

const tabWidth = 4

// fold makes a line of a file printable and breaks it where the column ends.
func fold(text string, cols int) []string {
	text = term.Escape(expandTabs(text))
	lines, at := []string{}, 0
	var b strings.Builder
	for _, r := range text {
		if w := term.RuneWidth(r); at+w > cols && at > 0 {
			lines = append(lines, b.String())
			b.Reset()
			at = w
		} else {
			at += w
		}
		b.WriteRune(r)
	}
	return append(lines, b.String())
}

func expandTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	at := 0
	for _, r := range text {
		if r == '\t' {
			n := tabWidth - at%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			at += n
			continue
		}
		b.WriteRune(r)
		at += term.RuneWidth(r)
	}
	return b.String()
}
