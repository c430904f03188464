package cli

import (
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/near"
)

// command is a command of a program with the names and commands above it,
// which the library's own type does not know.
type command struct {
	*urfave.Command
	path   string // "aiflow-request list"
	parent *command
}

// rootOf is the program itself as a command.
func rootOf(app *urfave.App) *command {
	return &command{path: app.Name, Command: &urfave.Command{
		Name: app.Name, Usage: app.Usage, Description: app.Description, ArgsUsage: app.ArgsUsage, UsageText: app.UsageText,
		Flags: app.Flags, Subcommands: app.Commands, Action: app.Action, BashComplete: app.BashComplete,
	}}
}

func (c *command) child(name string) *command {
	if found := c.Command.Command(name); found != nil {
		return &command{found, c.path + " " + found.Name, c}
	}
	return nil
}

// flags are all flags that the command understands, without the common ones:
// its own, and those of the commands above it that only have commands.
func (c *command) flags() []urfave.Flag {
	all := slices.Clone(c.Flags)
	for at := c.parent; at != nil; at = at.parent {
		for _, f := range at.Flags {
			if at.Action == nil && named(all, f.Names()[0]) == nil {
				all = append(all, f)
			}
		}
	}
	return all
}

func named(flags []urfave.Flag, name string) urfave.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// line is a command line in the order that the library needs: it stops reading
// flags at the first argument, people write them anywhere.
type line struct {
	*command
	common, flags []string // as they were given; a value is joined with "="
	args          []string
	open          string // the flag at the end whose value is missing
	ended         bool   // by "--"
	help          bool   // was asked for by flag; the library would answer it itself
	topic         bool   // help was asked for by the word
	man           bool   // as a manual page
	unknown       string // no command of this name
}

// order finds the command that words name, and puts flags before arguments.
func order(c *command, common []urfave.Flag, words []string) *line {
	l := &line{command: c}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			l.args, l.ended = append(l.args, words[i+1:]...), true
			return l
		case len(word) > 1 && word[0] == '-':
			name, _, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
			list, f := &l.flags, named(l.command.flags(), name)
			if f == nil {
				if f = named(common, name); f != nil {
					list = &l.common
				}
			}
			switch {
			case f != nil && list == &l.common && f.Names()[0] == "help":
				l.help = true
				continue
			case f == nil || joined || !f.(urfave.DocGenerationFlag).TakesValue():
			case i+1 < len(words):
				i++
				word += "=" + words[i]
			default:
				l.open = f.Names()[0]
				return l
			}
			*list = append(*list, word)
		case len(l.args) > 0 || len(l.Subcommands) == 0 && (l.parent != nil || word != "help" && !l.topic):
			l.args = append(l.args, word)
		case l.child(word) != nil:
			l.command = l.child(word)
		case word == "help":
			l.topic = true
		case word == "man" && l.topic:
			l.man = true
		case l.Action != nil && l.ArgsUsage != "":
			l.args = append(l.args, word)
		case l.unknown == "":
			l.unknown = word
		}
	}
	return l
}

// argv is what the library reads: the common flags first, so that a mistake
// behind them is told in the language and form that they ask for.
func (l *line) argv() []string {
	if l.open != "" {
		return slices.Concat([]string{l.path}, l.common, l.flags, []string{dashed(l.open)})
	}
	return slices.Concat([]string{l.path}, l.common, l.flags, []string{"--"}, l.args)
}

// names are the commands below c that are told of.
func (c *command) names() []string {
	var names []string
	for _, sub := range c.VisibleCommands() {
		names = append(names, sub.Names()...)
	}
	return names
}

// nearFlag is the flag of c that was probably meant.
func (c *command) nearFlag(name string, common []urfave.Flag) string {
	var names []string
	for _, f := range slices.Concat(c.flags(), common) {
		names = append(names, f.Names()...)
	}
	if found := near.Word(name, names); found != "" {
		return dashed(found)
	}
	return ""
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// arity reads "ID [FILE...]": brackets mean optional, dots mean many (-1).
func arity(usage string) (least, most int, names []string) {
	for _, word := range strings.Fields(usage) {
		if word == "--" {
			continue
		}
		name := strings.Trim(word, "[]")
		bare := strings.TrimSuffix(strings.TrimSuffix(name, "..."), "…")
		if !strings.HasPrefix(word, "[") {
			least++
			names = append(names, bare)
		}
		if bare != name {
			most = -1
		} else if most >= 0 {
			most++
		}
	}
	return least, most, names
}
