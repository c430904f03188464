package cli

import (
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// helpBody is the help as JSON.
type helpBody struct {
	Command     string        `json:"command"`
	Summary     string        `json:"summary"`
	Usage       string        `json:"usage"`
	Description string        `json:"description"`
	Commands    []helpCommand `json:"commands"`
	Flags       []helpFlag    `json:"flags"`
	CommonFlags []helpFlag    `json:"common_flags"`
	Examples    []string      `json:"examples"`
}

type helpCommand struct {
	Name    string `json:"name"`
	Args    string `json:"args"`
	Summary string `json:"summary"`
}

type helpFlag struct {
	Names   []string `json:"names"` // with their dashes
	Value   string   `json:"value"` // "" = takes none
	Summary string   `json:"summary"`
}

func bodyOf(s *Shell, c *command, common []urfave.Flag) helpBody {
	s.follow()
	b := helpBody{
		Command: c.path, Summary: s.sentence(c.Usage), Usage: c.synopsis(), Description: strings.TrimSpace(s.sentence(c.Description)),
		Commands: []helpCommand{}, Flags: []helpFlag{}, CommonFlags: []helpFlag{}, Examples: []string{},
	}
	for _, sub := range c.VisibleCommands() {
		b.Commands = append(b.Commands, helpCommand{sub.Name, sub.ArgsUsage, s.sentence(sub.Usage)})
	}
	for _, f := range shownFlags(c.flags()) {
		b.Flags = append(b.Flags, flagHelp(s, f))
	}
	for _, f := range common {
		b.CommonFlags = append(b.CommonFlags, flagHelp(s, f))
	}
	if c.UsageText != "" {
		b.Examples = strings.Split(strings.TrimSpace(s.sentence(c.UsageText)), "\n")
	}
	return b
}

// flagHelp takes the value's name from where it stands in backquotes in the
// text.
func flagHelp(s *Shell, f urfave.Flag) helpFlag {
	var h helpFlag
	for _, n := range f.Names() {
		h.Names = append(h.Names, dashed(n))
	}
	if d, ok := f.(urfave.DocGenerationFlag); ok {
		usage := s.sentence(d.GetUsage())
		if d.TakesValue() {
			h.Value = "VALUE"
			if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 {
				h.Value = parts[1]
			}
		}
		h.Summary = strings.ReplaceAll(usage, "`", "")
	}
	return h
}

func (c helpCommand) row() row {
	return row{strings.TrimSpace(c.Name + " " + c.Args), c.Summary}
}

func (h helpFlag) row() row {
	return row{strings.TrimSpace(strings.Join(h.Names, ", ") + " " + h.Value), h.Summary}
}
