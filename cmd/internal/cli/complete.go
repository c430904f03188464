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

// First offers words for the first argument only.
func First(words Candidates) Candidates {
	return func(a Asked) []string {
		if len(a.Args) > 0 {
			return nil
		}
		return words(a)
	}
}

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
func (s *Shell) complete(app *urfave.App, common []urfave.Flag, words []string) error {
	typed := ""
	if n := len(words); n > 0 {
		typed, words = words[n-1], words[:n-1]
	}
	l := order(rootOf(app), common, words)
	if err := s.settle(); err != nil {
		return err
	}
	found := l.fitting(app, common, typed)
	slices.Sort(found)
	for _, f := range slices.Compact(found) {
		if strings.HasPrefix(f, typed) {
			s.Printf("%s\n", f)
		}
	}
	return nil
}

func (l *line) fitting(app *urfave.App, common []urfave.Flag, typed string) []string {
	name, value, joined := strings.Cut(typed, "=")
	switch {
	case l.open != "":
		return l.offered(app, query{Asked{l.args, typed}, l.open})
	case !strings.HasPrefix(typed, "-") || l.ended:
		words := l.offered(app, query{Asked: Asked{l.args, typed}})
		if len(l.args) == 0 && !l.ended {
			for _, c := range l.VisibleCommands() {
				words = append(words, c.Name)
			}
		}
		return words
	case !joined:
		var names []string
		for _, f := range append(shownFlags(l.command.flags()), common...) {
			names = append(names, dashed(f.Names()[0]))
		}
		return names
	}
	values := l.offered(app, query{Asked{l.args, value}, strings.TrimLeft(name, "-")})
	for i, v := range values {
		values[i] = name + "=" + v
	}
	return values
}

// offered asks the command, unless the flag is a common one.
func (l *line) offered(app *urfave.App, q query) []string {
	if q.flag == "lang" {
		return []string{"en", "ja"}
	}
	if l.BashComplete == nil {
		return nil
	}
	var b strings.Builder
	l.BashComplete(urfave.NewContext(&urfave.App{
		Name: app.Name, Writer: &b, Metadata: map[string]any{metadataKey: q},
	}, nil, nil))
	return strings.Fields(b.String())
}
