package door

import (
	"strings"

	"github.com/urfave/cli/v2"

	"aiflow/internal/near"
)

// node is one command: the app itself or a command somewhere below it.
type node struct {
	root        bool
	path        string // "aiflow-request list"
	usage       string
	description string
	args        string
	examples    string
	hidden      bool
	flags       []cli.Flag // its own
	commands    []*cli.Command
	action      cli.ActionFunc
	complete    cli.BashCompleteFunc
	parent      *node
}

func rootOf(app *cli.App) *node {
	return &node{
		root: true, path: app.Name, usage: app.Usage, description: app.Description, args: app.ArgsUsage,
		examples: app.UsageText, flags: app.Flags, commands: app.Commands, action: app.Action, complete: app.BashComplete,
	}
}

func (n *node) child(c *cli.Command) *node {
	return &node{
		path: n.path + " " + c.Name, usage: c.Usage, description: c.Description, args: c.ArgsUsage,
		examples: c.UsageText, hidden: c.Hidden, flags: c.Flags, commands: c.Subcommands, action: c.Action,
		complete: c.BashComplete, parent: n,
	}
}

func (n *node) command(name string) *cli.Command {
	for _, c := range n.commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// flag finds a flag by name in the command or those above it.
func (n *node) flag(name string) cli.Flag {
	for ; n != nil; n = n.parent {
		for _, f := range n.flags {
			for _, have := range f.Names() {
				if have == name {
					return f
				}
			}
		}
	}
	return nil
}

// walked is a command line that has been taken apart.
type walked struct {
	node *node
	set  []string // flags of the command, each "--name" or "--name=value"
	args []string
	err  error // the first mistake; the common flags are complete all the same

	json, noColor, help, version bool
	topic                        bool // help as a word: what follows must be known
	lang, config                 string

	seen map[string]bool // names of flags in set
}

// walk finds the command, its flags and its arguments, wherever they stand.
func walk(app *cli.App, line []string) *walked {
	w := &walked{node: rootOf(app), seen: map[string]bool{}}
	for i := 0; i < len(line); i++ {
		switch word := line[i]; {
		case word == "--":
			w.args = append(w.args, line[i+1:]...)
			return w
		case len(word) > 1 && word[0] == '-':
			i += w.option(word, line[i+1:])
		default:
			w.word(word)
		}
	}
	return w
}

func (w *walked) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// word takes a word that is no flag: a command while there can be one, else an
// argument.
func (w *walked) word(word string) {
	n := w.node
	if len(w.args) > 0 || len(n.commands) == 0 {
		w.args = append(w.args, word)
		return
	}
	switch c := n.command(word); {
	case c != nil:
		w.node = n.child(c)
	case word == "help":
		w.help, w.topic = true, true
	case n.action != nil && n.args != "":
		w.args = append(w.args, word)
	default:
		w.fail(Usage("unknown_command", "name", word, "near", near.Word(word, n.names()), "command", n.path))
	}
}

func (n *node) names() []string {
	var names []string
	for _, c := range n.commands {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	return names
}

// option takes a flag and says how many of the following words belong to it.
func (w *walked) option(word string, rest []string) int {
	name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if c := commonFlag(name); c != nil {
		return w.commonOption(c, value, given, rest)
	}
	f := w.node.flag(name)
	if f == nil {
		w.fail(Usage("unknown_flag", "name", word, "near", w.nearFlag(name), "command", w.node.path))
		return 0
	}
	for _, n := range f.Names() {
		w.seen[n] = true
	}
	if !takesValue(f) || given {
		w.set = append(w.set, "--"+strings.TrimLeft(word, "-"))
		return 0
	}
	if len(rest) == 0 {
		w.fail(Usage("missing_value", "name", word))
		return 0
	}
	w.set = append(w.set, "--"+name+"="+rest[0])
	return 1
}

func (w *walked) nearFlag(name string) string {
	var names []string
	for n := w.node; n != nil; n = n.parent {
		for _, f := range n.flags {
			names = append(names, f.Names()...)
		}
	}
	for _, c := range commonFlags {
		names = append(names, c.name)
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

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// flags are all flags that the chosen command understands.
func (w *walked) flags() []cli.Flag {
	var all []cli.Flag
	seen := map[string]bool{}
	for n := w.node; n != nil; n = n.parent {
		for _, f := range n.flags {
			if name := f.Names()[0]; !seen[name] {
				seen[name] = true
				all = append(all, f)
			}
		}
	}
	return all
}

func (w *walked) argv() []string {
	return append(append(append([]string{}, w.set...), "--"), w.args...)
}

// check compares the number of arguments with what ArgsUsage promises and
// looks for required flags.
func (w *walked) check() error {
	least, most, names := arity(w.node.args)
	if len(w.args) < least {
		return Usage("missing_argument", "name", names[len(w.args)], "command", w.node.path)
	}
	if most >= 0 && len(w.args) > most {
		return Usage("extra_argument", "value", w.args[most], "command", w.node.path)
	}
	for _, f := range w.flags() {
		if r, ok := f.(cli.RequiredFlag); ok && r.IsRequired() && !w.seen[f.Names()[0]] {
			return Usage("missing_flag", "name", dashed(f.Names()[0]), "command", w.node.path)
		}
	}
	return nil
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
