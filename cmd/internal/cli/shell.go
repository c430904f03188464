package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/messages"
)

// Out is standard output, buffered; Main flushes it at the end. Long
// running actions call Flush when something must be seen now.
func (s *Shell) Out() io.Writer { return s.out }

// Flush writes out what is buffered.
func (s *Shell) Flush() error { return s.out.Flush() }

// Printf prints on standard output.
func (s *Shell) Printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// PrintJSON prints v on standard output: in one line, or indented for a person
// who looks at a terminal.
func (s *Shell) PrintJSON(v any) error {
	indent := ""
	if s.tty[0] {
		indent = "  "
	}
	return writeJSON(s.out, v, indent)
}

// Text is the sentence of key with facts, given as names and values in turn.
func (s *Shell) Text(key string, pairs ...any) string {
	return s.catalog.Text(key, fault.NewFacts(pairs...))
}

// Catalog holds the sentences in the language of the shell.
func (s *Shell) Catalog() *messages.Catalog { return s.catalog }

// Warn prints "name: warning: text" on stderr.
func (s *Shell) Warn(key string, facts fault.Facts) {
	word := term.Paint(s.color[1], term.Yellow, s.Text("cli.warning"))
	fmt.Fprintf(s.Stderr, "%s: %s: %s\n", s.Name, word, oneLine(s.catalog.Text(key, facts)))
}

// Lang is the language of the sentences: "ja" or "en".
func (s *Shell) Lang() string {
	if s.lang != "" {
		return s.lang
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := s.Getenv(name); v != "" {
			if strings.HasPrefix(v, "ja") {
				return "ja"
			}
			return "en"
		}
	}
	return "en"
}

// LangSaid is the language that --lang, AIFLOW_LANG or the configuration named;
// "" when it only follows the locale.
func (s *Shell) LangSaid() string { return s.lang }

// Paint colours text for standard output, if that takes colour.
func (s *Shell) Paint(style term.Style, text string) string {
	return term.Paint(s.color[0], style, text)
}

// PaintErr colours text for standard error, if that takes colour.
func (s *Shell) PaintErr(style term.Style, text string) string {
	return term.Paint(s.color[1], style, text)
}

// Terminal reports whether standard output is a terminal.
func (s *Shell) Terminal() bool { return s.tty[0] }

// OnePlace reports whether a person sees standard output and standard error in
// one terminal, where the same must not be said on both.
func (s *Shell) OnePlace() bool { return s.tty[0] && s.tty[1] }

// Progress is a line on standard error that lives while work goes on, or plain
// lines where that is no terminal. Whoever uses it calls Tick once a second.
func (s *Shell) Progress() *term.Progress {
	return term.NewProgress(term.ProgressOptions{
		W: s.Stderr, Live: s.tty[1] && s.Getenv("TERM") != "dumb", Now: s.Now,
		Columns: func() int { return term.Columns(s.Stderr) },
	})
}

// Sources are where configuration comes from besides the file: environment and
// --config. Actions add their own flags to Flags ("server.port": "4311").
func (s *Shell) Sources() config.Sources {
	return config.Sources{Env: s.Getenv, Path: s.ConfigPath, Flags: map[string]string{}}
}

// Adopt takes the project's language over, unless --lang or AIFLOW_LANG said
// one, and prints the warnings about its configuration.
func (s *Shell) Adopt(cfg config.Config, warnings []config.Warning) {
	if s.lang == "" && known(cfg.Lang) {
		s.lang = cfg.Lang
		s.catalog = messages.Open(cfg.Lang)
	}
	for _, w := range warnings {
		s.Warn("config."+w.Kind, w.Facts)
	}
}

// follow takes the language of the project above for what is said before a project
// is opened: help, and what is wrong with a command line.
func (s *Shell) follow() {
	dir, err := os.Getwd()
	for err == nil && s.lang == "" {
		if _, missing := os.Stat(filepath.Join(dir, filepath.FromSlash(config.File))); missing == nil {
			if cfg, _, err := config.Load(dir, s.Sources()); err == nil {
				s.Adopt(cfg, nil)
			}
			return
		}
		if dir == filepath.Dir(dir) {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// Tell prints "name: text" on standard error: something that a person should
// know and that is neither an error nor a warning.
func (s *Shell) Tell(text string) { fmt.Fprintf(s.Stderr, "%s: %s\n", s.Name, oneLine(text)) }
