package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/term"
)

// Asked is what a shell wants completed: the arguments before the cursor, and
// the word at it as far as it is typed.
type Asked struct {
	Args []string
	Word string
}

// Candidates are words that may stand at the cursor. Those that do not begin
// with what is typed are left out by this package.
type Candidates func(Asked) []string

// Words are always the same candidates.
func Words(words ...string) Candidates { return func(Asked) []string { return words } }

// Offer is a BashComplete of candidates for a command's arguments, and of
// those for the values of its flags by their names.
func Offer(args Candidates, flags map[string]Candidates) urfave.BashCompleteFunc {
	return func(c *urfave.Context) {
		q := c.App.Metadata[metadataKey].(query)
		if q.flag != "" {
			args = flags[q.flag]
		}
		if args == nil {
			return
		}
		for _, word := range args(q.Asked) {
			fmt.Fprintln(c.App.Writer, term.Escape(word))
		}
	}
}

const metadataKey = "query"

type query struct {
	Asked
	flag string // whose value is wanted; "" = an argument
}

// complete answers a shell that asks what may stand at the cursor: words are
// the command line so far, the last one as far as it is typed.
func (s *Shell) complete(app *urfave.App, words []string) {
	typed := ""
	if n := len(words); n > 0 {
		typed, words = words[n-1], words[:n-1]
	}
	w := walk(app, words)
	_ = s.common(w)
	found := w.fitting(app, typed)
	slices.Sort(found)
	for _, f := range slices.Compact(found) {
		if strings.HasPrefix(f, typed) {
			s.Printf("%s\n", f)
		}
	}
}

func (w *walked) fitting(app *urfave.App, typed string) []string {
	name, value, hasValue := strings.Cut(typed, "=")
	switch {
	case w.open != "":
		return w.offered(app, query{Asked{w.args, typed}, w.open})
	case !strings.HasPrefix(typed, "-") || w.ended:
		return append(w.commands(), w.offered(app, query{Asked: Asked{w.args, typed}})...)
	case !hasValue:
		return w.node.flagNames()
	}
	values := w.offered(app, query{Asked{w.args, value}, strings.TrimLeft(name, "-")})
	for i, v := range values {
		values[i] = name + "=" + v
	}
	return values
}

func (n *node) flagNames() []string {
	var names []string
	for _, f := range n.visible() {
		names = append(names, dashed(f.Names()[0]))
	}
	for _, c := range commonFlags {
		names = append(names, "--"+c.name)
	}
	return names
}

func (w *walked) commands() []string {
	if len(w.args) > 0 || w.ended {
		return nil
	}
	var found []string
	for _, c := range w.node.shownCommands() {
		found = append(found, c.Name)
	}
	return found
}

// offered asks the command, or for a common flag this package.
func (w *walked) offered(app *urfave.App, q query) []string {
	if c := commonFlag(q.flag); c != nil {
		return slices.Clone(c.values)
	}
	if w.node.complete == nil {
		return nil
	}
	var b strings.Builder
	w.node.complete(urfave.NewContext(&urfave.App{
		Name: app.Name, Writer: &b, Metadata: map[string]any{metadataKey: q},
	}, nil, nil))
	return strings.Fields(b.String())
}
