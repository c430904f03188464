package door

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"aiflow/internal/fault"
	"aiflow/internal/term"
)

// row is a line of two columns in the help.
type row struct{ left, right string }

// printHelp writes what a command is for, its commands and flags in order of
// their names, and examples at the end.
func (s *Shell) printHelp(w io.Writer, n *node) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\n%s\n  %s\n", n.path, s.help(n.usage), s.Text("cli.help_usage"), n.synopsis())
	if n.description != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(s.help(n.description)))
	}
	section(&b, s.Text("cli.help_commands"), s.commandRows(n))
	section(&b, s.Text("cli.help_flags"), s.flagRows(n))
	section(&b, s.Text("cli.help_common"), s.commonRows())
	if n.examples != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Text("cli.help_examples"))
		for _, line := range strings.Split(strings.TrimSpace(s.help(n.examples)), "\n") {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// help is a text of the help: a message key's sentence, or the text itself.
func (s *Shell) help(text string) string {
	if strings.ContainsAny(text, " \n") || !strings.Contains(text, ".") {
		return text
	}
	return s.catalog.Text(text, fault.Facts{}) // gives back what is no key
}

func (n *node) synopsis() string {
	parts := []string{n.path}
	if len(n.commands) > 0 && n.action == nil {
		parts = append(parts, "COMMAND")
	} else if len(n.commands) > 0 {
		parts = append(parts, "[COMMAND]")
	}
	parts = append(parts, "[--FLAG...]")
	if n.args != "" {
		parts = append(parts, n.args)
	}
	return strings.Join(parts, " ")
}

func section(b *strings.Builder, title string, rows []row) {
	if len(rows) == 0 {
		return
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

func (s *Shell) commandRows(n *node) []row {
	var rows []row
	for _, c := range n.commands {
		if !c.Hidden {
			rows = append(rows, row{strings.TrimSpace(c.Name + " " + c.ArgsUsage), s.help(c.Usage)})
		}
	}
	return rows
}

func (s *Shell) flagRows(n *node) []row {
	var rows []row
	for _, f := range n.visible() {
		rows = append(rows, s.flagRow(f))
	}
	return rows
}

// visible are the flags that a command is told with: its own, and those of a
// parent that does nothing itself and so has them for its commands.
func (n *node) visible() []cli.Flag {
	var all []cli.Flag
	seen := map[string]bool{}
	for at := n; at != nil; at = at.parent {
		if at != n && at.action != nil {
			continue
		}
		for _, f := range at.flags {
			name := f.Names()[0]
			if v, ok := f.(cli.VisibleFlag); (!ok || v.IsVisible()) && !seen[name] {
				seen[name] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// flagRow shows "--plan N  text": the value's name stands in backquotes in the
// text.
func (s *Shell) flagRow(f cli.Flag) row {
	var names []string
	for _, n := range f.Names() {
		names = append(names, dashed(n))
	}
	left, usage := strings.Join(names, ", "), ""
	if d, ok := f.(cli.DocGenerationFlag); ok {
		usage = s.help(d.GetUsage())
		if d.TakesValue() {
			left += " " + valueName(usage)
		}
	}
	return row{left, strings.ReplaceAll(usage, "`", "")}
}

func valueName(usage string) string {
	if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 {
		return parts[1]
	}
	return "VALUE"
}

func (s *Shell) commonRows() []row {
	var rows []row
	for _, c := range commonFlags {
		left := "--" + c.name
		if c.short != "" {
			left += ", -" + c.short
		}
		rows = append(rows, row{strings.TrimSpace(left + " " + c.value), s.help(c.usage)})
	}
	return rows
}
