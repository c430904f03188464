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

func (s *Shell) helpBody(n *node) helpBody {
	b := helpBody{
		Command: n.path, Summary: s.help(n.usage), Usage: n.synopsis(), Description: strings.TrimSpace(s.help(n.description)),
		Commands: []helpCommand{}, Flags: []helpFlag{}, CommonFlags: s.commonHelp(), Examples: []string{},
	}
	for _, c := range n.shownCommands() {
		b.Commands = append(b.Commands, helpCommand{c.Name, c.ArgsUsage, s.help(c.Usage)})
	}
	for _, f := range n.visible() {
		b.Flags = append(b.Flags, s.flagHelp(f))
	}
	if n.examples != "" {
		b.Examples = strings.Split(strings.TrimSpace(s.help(n.examples)), "\n")
	}
	return b
}

// flagHelp takes the value's name from where it stands in backquotes in the
// text.
func (s *Shell) flagHelp(f urfave.Flag) helpFlag {
	var h helpFlag
	for _, n := range f.Names() {
		h.Names = append(h.Names, dashed(n))
	}
	if d, ok := f.(urfave.DocGenerationFlag); ok {
		usage := s.help(d.GetUsage())
		if d.TakesValue() {
			h.Value = valueName(usage)
		}
		h.Summary = strings.ReplaceAll(usage, "`", "")
	}
	return h
}

func valueName(usage string) string {
	if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 {
		return parts[1]
	}
	return "VALUE"
}

func (s *Shell) commonHelp() []helpFlag {
	var all []helpFlag
	for _, c := range commonFlags {
		h := helpFlag{Names: []string{"--" + c.name}, Value: c.value, Summary: s.help(c.usage)}
		if c.short != "" {
			h.Names = append(h.Names, "-"+c.short)
		}
		all = append(all, h)
	}
	return all
}

func (h helpFlag) row() row {
	return row{strings.TrimSpace(strings.Join(h.Names, ", ") + " " + h.Value), h.Summary}
}

func (n *node) shownCommands() []*urfave.Command {
	var shown []*urfave.Command
	for _, c := range n.commands {
		if !c.Hidden {
			shown = append(shown, c)
		}
	}
	return shown
}
