package main

import (
	"cmp"
	"fmt"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/gitops"
	"aiflow/internal/term"
	"aiflow/runner"
)

type diffOptions struct {
	side, unified bool
	width         int
	html          string
}

// diff shows what a run changed against its base, and what it left uncommitted
// where it stopped.
func diff(s *cli.Shell, o diffOptions, arg string) error {
	if o.width != 0 && o.width < leastWidth {
		return cli.Usage("bad_value", "name", "--width", "value", o.width, "allowed", leastWidthText)
	}
	p, err := open(s)
	if err != nil {
		return err
	}
	if arg == "" && o.html != "" && o.html != "-" && !strings.Contains(o.html, ".") {
		if _, _, err := pick(p, o.html); err == nil { // a run, and the file was left out
			return cli.Usage("bad_value", "name", "--html", "value", o.html, "allowed", "FILE.html")
		}
	}
	st, _, err := pick(p, arg)
	if err != nil {
		return err
	}
	ends, err := runner.EndsOf(s.Context(), p, st)
	if err != nil {
		return err
	}
	d, err := runner.Compare(s.Context(), p, ends, gitops.DiffOptions{})
	if err != nil {
		return err
	}
	switch {
	case o.html != "":
		return saveHTML(s, p, st, d, o.html)
	case s.JSON:
		return s.PrintJSON(d)
	}
	width := o.look(s)
	printDiff(s, d.Diff, width)
	if u := d.Uncommitted; u != nil {
		s.Printf("\n%s\n", s.Paint(term.Yellow, keptTitle(s, u)))
		printDiff(s, u.Diff, width)
	}
	return nil
}

// The narrowest terminal on which two texts side by side can be read, and the
// narrowest that can be asked for.
const (
	sideFrom       = 100
	leastWidth     = 40
	leastWidthText = "40.."
)

// look is the width of the texts side by side; 0 is one above the other.
func (o diffOptions) look(s *cli.Shell) int {
	width := cmp.Or(o.width, term.Columns(s.Stdout))
	switch {
	case o.unified:
		return 0
	case o.side, o.width > 0, s.Terminal() && width >= sideFrom:
		return max(width, leastWidth)
	}
	return 0
}

func keptTitle(s *cli.Shell, u *runner.Uncommitted) string {
	return s.Text("work.diff_kept", "step_id", u.StepID, "attempt", u.Attempt)
}

func printDiff(s *cli.Shell, d gitops.Diff, width int) {
	s.Printf("%s\n", s.Text("work.diff_stat", "base", term.ShortHash(d.Base), "head", term.ShortHash(d.Head),
		"files", d.Stat.Files, "added", d.Stat.Additions, "deleted", d.Stat.Deletions))
	for _, f := range d.Files {
		s.Printf("%s\n", s.Paint(term.Bold, fileTitle(f)))
		for _, h := range f.Hunks {
			if width > 0 {
				printSides(s, h, width)
			} else {
				printHunk(s, h)
			}
		}
	}
	if d.Truncated {
		s.Printf("%s\n", s.Text("work.diff_truncated"))
	}
}

func fileTitle(f gitops.FileDiff) string {
	name := term.Escape(f.Path)
	if f.OldPath != "" {
		name = term.Escape(f.OldPath) + " -> " + name
	}
	return fmt.Sprintf("%s %s +%d -%d", f.Status, name, f.Additions, f.Deletions)
}

func printHunk(s *cli.Shell, h gitops.Hunk) {
	s.Printf("%s\n", s.Paint(term.Cyan, fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)))
	for _, l := range h.Lines {
		text := l.Op + term.Escape(strings.TrimRight(l.Text, "\r\n"))
		switch l.Op {
		case "+":
			text = s.Paint(term.Green, text)
		case "-":
			text = s.Paint(term.Red, text)
		}
		s.Printf("%s\n", text)
	}
}
