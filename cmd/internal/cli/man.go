package cli

import (
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// printMan writes the manual page of c and of the commands below it, for man(1).
func printMan(s *Shell, c *command, common []urfave.Flag) {
	h := bodyOf(s, c, common)
	version, _ := s.build()
	s.Printf(".TH %s 1 \"\" \"aiflow %s\"\n", roff(strings.ToUpper(strings.ReplaceAll(c.path, " ", "-"))), roff(version))
	s.Printf(".SH NAME\n%s \\- %s\n", roff(c.path), roff(h.Summary))
	s.Printf(".SH SYNOPSIS\n.B %s\n", roff(h.Usage))
	if h.Description != "" {
		s.Printf(".SH DESCRIPTION\n%s\n", roff(h.Description))
	}
	manFlags(s, ".SH OPTIONS", h.Flags)
	if len(h.Commands) > 0 {
		s.Printf(".SH COMMANDS\n")
		manCommands(s, c, common)
	}
	manFlags(s, ".SH COMMON OPTIONS", h.CommonFlags)
	if len(h.Examples) > 0 {
		s.Printf(".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.Join(h.Examples, "\n")))
	}
	s.Printf(".SH SEE ALSO\n.BR aiflow (1)\n")
}

func manCommands(s *Shell, c *command, common []urfave.Flag) {
	for _, sub := range c.VisibleCommands() {
		below := c.child(sub.Name)
		h := bodyOf(s, below, common)
		s.Printf(".SS %s\n%s\n", roff(h.Usage), roff(h.Summary))
		if h.Description != "" {
			s.Printf(".PP\n%s\n", roff(h.Description))
		}
		manFlags(s, ".PP", h.Flags)
		manCommands(s, below, common)
	}
}

func manFlags(s *Shell, head string, flags []helpFlag) {
	if len(flags) == 0 {
		return
	}
	s.Printf("%s\n", head)
	for _, f := range flags {
		row := f.row()
		s.Printf(".TP\n.B %s\n%s\n", roff(row.left), roff(row.right))
	}
}

// roff is text in which nothing is taken for a request of roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
