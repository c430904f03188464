package main

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
)

// binary is a program of the toolkit that stands beside this one.
type binary struct{ name, usage string }

func others() []binary {
	return []binary{
		{"next", "cli.other_next"},
		{"request", "cli.other_request"},
		{"run", "cli.other_run"},
		{"land", "cli.other_land"},
		{"lock", "cli.other_lock"},
		{"hook", "cli.other_hook"},
		{"doctor", "cli.other_doctor"},
		{"queue", "cli.other_queue"},
		{"serve", "cli.other_serve"},
		{"mcp", "cli.other_mcp"},
	}
}

// shortcuts are the words that people try first: what run and request can do is
// found without them.
func shortcuts() map[string][]string {
	short := map[string][]string{"run-next": {"run", "--next"}, "ui": {"serve"}}
	for _, word := range []string{"answer", "auto", "clean", "deinit", "diff", "drop", "logs", "restack", "resume", "status", "stop"} {
		short[word] = []string{"run", word}
	}
	for _, word := range []string{"check", "edit", "export", "graph", "import", "list", "new", "rm", "set", "show"} {
		short[word] = []string{"request", word}
	}
	return short
}

// forward is a command line that belongs to another binary.
type forward struct {
	name   string   // "next"
	args   []string // for that binary
	common []string // flags of every binary among them, for our own errors
}

// forwarded says whether the first word of line names another binary: one of
// the toolkit, or any aiflow-WORD on PATH.
func forwarded(line []string) (forward, bool) {
	before, word, rest := cut(line)
	if len(rest) == 0 && len(line) > 0 && line[0] == "--complete" { // the word is still being typed
		return forward{}, false
	}
	f := forward{common: commonOf(line)}
	help := word == "help" && len(rest) > 0
	switch {
	case help && rest[0] == "man" && len(rest) > 1:
		word, rest = rest[1], append([]string{"help", "man"}, rest[2:]...)
	case help:
		word, rest = rest[0], append([]string{"--help"}, rest[1:]...)
	}
	if short, ok := shortcuts()[word]; ok {
		word, rest = short[0], append(short[1:len(short):len(short)], rest...)
	}
	f.name, f.args = word, append(before[:len(before):len(before)], rest...)
	known := slices.ContainsFunc(others(), func(b binary) bool { return b.name == word })
	ours := slices.Contains([]string{"init", "version", "help", "completion", "schema"}, word)
	return f, isWord(word) && !ours && (known || app.Beside("aiflow-"+word) != "")
}

// isWord keeps paths and flags out of the name of a program.
func isWord(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// cut splits line at the first word that is no flag.
func cut(line []string) (before []string, word string, rest []string) {
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == "--lang" || line[i] == "--config":
			i++
		case !strings.HasPrefix(line[i], "-"):
			return line[:i], line[i], line[i+1:]
		}
	}
	return line, "", nil
}

func commonOf(line []string) []string {
	var found []string
	for i, word := range line {
		switch {
		case word == "--":
			return found
		case word == "--json", word == "--no-color", strings.HasPrefix(word, "--lang="):
			found = append(found, word)
		case word == "--lang" && i+1 < len(line):
			found = append(found, word, line[i+1])
		}
	}
	return found
}

// exec becomes the other binary; it comes back only when that fails.
func (f forward) exec(p cli.Process) int {
	err := error(fs.ErrNotExist)
	path := app.Beside("aiflow-" + f.name)
	if path != "" {
		err = syscall.Exec(path, append([]string{"aiflow-" + f.name}, f.args...), p.Environ())
	}
	p.Args = append([]string{"aiflow"}, f.common...)
	return cli.Main(p, func(*cli.Shell) *urfave.App {
		return &urfave.App{Name: "aiflow", Action: func(*urfave.Context) error {
			return fault.Wrap(err, fault.BinaryNotFound, "name", "aiflow-"+f.name, "path", path)
		}}
	})
}
