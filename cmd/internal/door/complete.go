package door

import (
	"sort"
	"strings"

	"github.com/urfave/cli/v2"
)

// complete answers a shell that asks what may stand at the cursor: words are
// the command line so far, the last one as far as it is typed. A command may
// name candidates for its arguments in BashComplete.
func (s *Shell) complete(app *cli.App, words []string) {
	typed := ""
	if n := len(words); n > 0 {
		typed, words = words[n-1], words[:n-1]
	}
	w := walk(app, words)
	var found []string
	if strings.HasPrefix(typed, "-") {
		found = w.node.flagNames()
	} else {
		found = w.candidates(app)
	}
	sort.Strings(found)
	for _, f := range found {
		if strings.HasPrefix(f, typed) {
			s.Printf("%s\n", f)
		}
	}
}

func (n *node) flagNames() []string {
	var names []string
	for ; n != nil; n = n.parent {
		for _, f := range n.flags {
			if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
				names = append(names, dashed(f.Names()[0]))
			}
		}
	}
	for _, c := range commonFlags {
		names = append(names, "--"+c.name)
	}
	return names
}

func (w *walked) candidates(app *cli.App) []string {
	var found []string
	if len(w.args) == 0 {
		for _, c := range w.node.commands {
			if !c.Hidden {
				found = append(found, c.Name)
			}
		}
	}
	if w.node.complete == nil {
		return found
	}
	var b strings.Builder
	w.node.complete(cli.NewContext(&cli.App{Name: app.Name, Writer: &b}, nil, nil))
	return append(found, strings.Fields(b.String())...)
}
