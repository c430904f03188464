package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/fault"
	"aiflow/internal/term"
)

// row is a line of two columns in the help.
type row struct{ left, right string }

// printHelp writes what a command is for, its commands and flags in order of
// their names, and examples at the end.
func printHelp(s *Shell, w io.Writer, c *command, common []urfave.Flag) error {
	h := bodyOf(s, c, common)
	if s.JSON && w == s.out {
		return s.PrintJSON(h)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\n%s\n  %s\n", h.Command, h.Summary, s.Text("cli.help_usage"), h.Usage)
	if h.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", h.Description)
	}
	section(&b, s.Text("cli.help_commands"), h.Commands)
	section(&b, s.Text("cli.help_flags"), h.Flags)
	section(&b, s.Text("cli.help_common"), h.CommonFlags)
	if len(h.Examples) > 0 {
		fmt.Fprintf(&b, "\n%s\n", s.Text("cli.help_examples"))
		for _, line := range h.Examples {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sentence is a text of the help: a message key's sentence, or the text itself.
func (s *Shell) sentence(text string) string {
	if strings.ContainsAny(text, " \n") || !strings.Contains(text, ".") {
		return text
	}
	return s.catalog.Text(text, fault.Facts{}) // gives back what is no key
}

func (c *command) synopsis() string {
	parts := []string{c.path}
	if len(c.Subcommands) > 0 && c.Action == nil {
		parts = append(parts, "COMMAND")
	} else if len(c.Subcommands) > 0 {
		parts = append(parts, "[COMMAND]")
	}
	parts = append(parts, "[--FLAG...]")
	if c.ArgsUsage != "" {
		parts = append(parts, c.ArgsUsage)
	}
	return strings.Join(parts, " ")
}

func section[T interface{ row() row }](b *strings.Builder, title string, list []T) {
	if len(list) == 0 {
		return
	}
	var rows []row
	for _, one := range list {
		rows = append(rows, one.row())
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(strings.TrimLeft(a.left, "-"), strings.TrimLeft(b.left, "-")) })
	width := 0
	for _, r := range rows {
		width = max(width, term.Width(r.left))
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, r := range rows {
		fmt.Fprintln(b, strings.TrimRight("  "+term.Pad(r.left, width)+"  "+r.right, " "))
	}
}

// shownFlags are the flags that a command is told with.
func shownFlags(flags []urfave.Flag) []urfave.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f urfave.Flag) bool {
		v, ok := f.(urfave.VisibleFlag)
		return ok && !v.IsVisible()
	})
}
