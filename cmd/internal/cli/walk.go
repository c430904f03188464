package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/fault"
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
	flags       []urfave.Flag // its own
	commands    []*urfave.Command
	action      urfave.ActionFunc
	complete    urfave.BashCompleteFunc
	parent      *node
}

func rootOf(app *urfave.App) *node {
	return &node{
		root: true, path: app.Name, usage: app.Usage, description: app.Description, args: app.ArgsUsage,
		examples: app.UsageText, flags: app.Flags, commands: app.Commands, action: app.Action, complete: app.BashComplete,
	}
}

func (n *node) child(c *urfave.Command) *node {
	return &node{
		path: n.path + " " + c.Name, usage: c.Usage, description: c.Description, args: c.ArgsUsage,
		examples: c.UsageText, hidden: c.Hidden, flags: c.Flags, commands: c.Subcommands, action: c.Action,
		complete: c.BashComplete, parent: n,
	}
}

func (n *node) command(name string) *urfave.Command {
	for _, c := range n.commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// reach is the command and those above it that do nothing themselves: what has
// an action of its own keeps its flags to itself.
func (n *node) reach() []*node {
	all := []*node{n}
	for at := n.parent; at != nil; at = at.parent {
		if at.action == nil {
			all = append(all, at)
		}
	}
	return all
}

// flag finds a flag of the command by name.
func (n *node) flag(name string) urfave.Flag {
	for _, at := range n.reach() {
		if f := named(at.flags, name); f != nil {
			return f
		}
	}
	return nil
}

func named(flags []urfave.Flag, name string) urfave.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// allFlags are all flags that the command understands.
func (n *node) allFlags() []urfave.Flag {
	if len(n.reach()) == 1 {
		return slices.Clone(n.flags)
	}
	var all []urfave.Flag
	seen := map[string]bool{}
	for _, at := range n.reach() {
		for _, f := range at.flags {
			if name := f.Names()[0]; !seen[name] {
				seen[name] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// walked is a command line that has been taken apart.
type walked struct {
	node *node
	set  []option
	args []string
	err  error // the first mistake; the common flags are complete all the same

	open  string // the flag whose value would come next
	ended bool   // by "--"

	json, noColor, help, version bool
	topic                        bool // help as a word: what follows must be known
	lang, config                 string
}

// option is a flag of the command as it was given.
type option struct {
	word     string // "--plan" or "-n", as it was typed
	name     string
	value    string
	hasValue bool
}

func (o option) String() string {
	if o.hasValue {
		return "--" + o.name + "=" + o.value
	}
	return "--" + o.name
}

// walk finds the command, its flags and its arguments, wherever they stand.
func walk(app *urfave.App, line []string) *walked {
	w := &walked{node: rootOf(app)}
	for i := 0; i < len(line) && !w.ended; i++ {
		switch word := line[i]; {
		case word == "--":
			w.args, w.ended = append(w.args, line[i+1:]...), true
		case len(word) > 1 && word[0] == '-':
			i += w.option(word, line[i+1:])
		default:
			w.word(word)
		}
	}
	w.belong()
	return w
}

// belong refuses flags that stand before the name of a command which does not
// have them.
func (w *walked) belong() {
	for _, o := range w.set {
		if w.node.flag(o.name) == nil {
			w.fail(w.strange(o.word, o.name))
		}
	}
}

// meant adds to "no such request" the command or flag that was meant, when the
// name looks like one's.
func (w *walked) meant(err error) error {
	f, ok := fault.As(err)
	if !ok || f.Code != fault.RequestNotFound || len(w.args) == 0 || f.Facts["id"] != w.args[0] {
		return err
	}
	word := near.Word(w.args[0], w.node.names())
	if word == "" {
		word = w.nearFlag(w.args[0])
	}
	if word != "" {
		f.Facts["near"] = word
	}
	return err
}

// strange is the mistake of a flag that the command does not have.
func (w *walked) strange(word, name string) error {
	for at := w.node.parent; at != nil; at = at.parent {
		if named(at.flags, name) != nil {
			return Usage("foreign_flag", "name", word, "command", w.node.path, "owner", at.path)
		}
	}
	return Usage("unknown_flag", "name", word, "near", w.nearFlag(name), "command", w.node.path)
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
	word, _, _ = strings.Cut(word, "=")
	f := w.node.flag(name)
	if f == nil {
		w.fail(w.strange(word, name))
		return 0
	}
	o := option{word: word, name: name, value: value, hasValue: given}
	switch {
	case given || !takesValue(f):
	case len(rest) == 0:
		w.open = f.Names()[0]
		w.fail(Usage("missing_value", "name", word))
		return 0
	default:
		o.value, o.hasValue = rest[0], true
	}
	w.set = append(w.set, o)
	if o.hasValue && !given {
		return 1
	}
	return 0
}

func (w *walked) nearFlag(name string) string {
	var names []string
	for _, f := range w.node.allFlags() {
		names = append(names, f.Names()...)
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

func takesValue(f urfave.Flag) bool {
	d, ok := f.(urfave.DocGenerationFlag)
	return ok && d.TakesValue()
}

func (w *walked) argv() []string {
	var line []string
	for _, o := range w.set {
		line = append(line, o.String())
	}
	return append(append(line, "--"), w.args...)
}

// check compares the number of arguments with what ArgsUsage promises, looks
// for required flags and reads the values of the flags.
func (w *walked) check() error {
	least, most, names := arity(w.node.args)
	if len(w.args) < least {
		return Usage("missing_argument", "name", names[len(w.args)], "command", w.node.path)
	}
	if most >= 0 && len(w.args) > most {
		return Usage("extra_argument", "value", w.args[most], "command", w.node.path)
	}
	for _, f := range w.node.allFlags() {
		if r, ok := f.(urfave.RequiredFlag); ok && r.IsRequired() && !w.given(f) {
			return Usage("missing_flag", "name", dashed(f.Names()[0]), "command", w.node.path)
		}
	}
	for _, o := range w.set {
		if err := o.check(w.node.flag(o.name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walked) given(f urfave.Flag) bool {
	return slices.ContainsFunc(w.set, func(o option) bool { return slices.Contains(f.Names(), o.name) })
}

// check reads the value as cli will, to say in plain words what is allowed.
func (o option) check(f urfave.Flag) error {
	kind, ok := readable(f, o)
	switch {
	case ok:
		return nil
	case o.value == "":
		return Usage("missing_value", "name", o.word)
	}
	return Usage(kind, "name", o.word, "value", o.value)
}

func readable(f urfave.Flag, o option) (kind string, ok bool) {
	switch f.(type) {
	case *urfave.BoolFlag:
		_, err := strconv.ParseBool(o.value)
		return "bad_bool", err == nil || !o.hasValue
	case *urfave.IntFlag:
		_, err := strconv.ParseInt(o.value, 0, strconv.IntSize)
		return "bad_number", err == nil
	case *urfave.DurationFlag:
		d, err := time.ParseDuration(o.value)
		return "bad_duration", err == nil && d >= 0
	}
	return "", true
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
