// Package cli is the one way in and out of every binary: it reads the command
// line, chooses language and colour, runs one action, and turns its error into
// a line on stderr, a JSON body and an exit status.
//
// A binary is this much (cmd/aiflow-thing/main.go; the action lives in files
// beside it and has never heard of flags):
//
//	var version, commit string // set by the Makefile with -ldflags -X
//
//	func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }
//
//	func program(s *cli.Shell) *urfave.App {
//		var o options
//		return &urfave.App{
//			Name:      "aiflow-thing",
//			Usage:     "cli.thing_usage", // a message key, or plain text
//			ArgsUsage: "ID [FILE...]",    // checked: one to many arguments
//			UsageText: "aiflow-thing RQ-1", // examples, one a line
//			Flags: []urfave.Flag{
//				&urfave.BoolFlag{Name: "all", Usage: "cli.thing_all", Destination: &o.all},
//				&urfave.IntFlag{Name: "plan", Usage: "cli.thing_plan", Destination: &o.plan},
//			},
//			Action: func(c *urfave.Context) error { return thing(s, o, c.Args().Slice()) },
//		}
//	}
//
//	func thing(s *cli.Shell, o options, args []string) error {
//		cfg, warnings, err := config.Load(root, s.Sources())
//		if err != nil { return err }         // a fault: text, hints, exit status follow
//		s.Adopt(cfg, warnings)               // language of the project; prints warnings
//		if s.JSON { return s.PrintJSON(result) }
//		s.Printf("%s %s\n", r.ID, term.Escape(r.Title)) // buffered, flushed at the end
//		return nil                           // cli.Exit(1): status 1 and no message
//	}
//
// The common flags (--json, --lang, --no-color, --config, --help, --version)
// are this package's; a binary must not declare them. Flags may stand before or
// after arguments and commands, and "--" ends them. A command's Action may
// exist beside Subcommands: a first argument that is no command's name is then
// an argument. A command that does something keeps its flags to itself; those
// of one that only has commands are theirs too. BashComplete is an Offer:
// `prog --complete WORDS…` is what the scripts of `aiflow completion` call.
//
// It does not open projects, start git, or know what any command does.
package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/fault"
	"aiflow/internal/near"
	"aiflow/internal/term"
	"aiflow/messages"
)

// Process is what the operating system gives a program.
type Process struct {
	Args    []string // the program's name first
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Environ func() []string
	Now     func() time.Time
	Version string
	Commit  string
}

// OS is the real process. version and commit are what the linker wrote into
// main, or "".
func OS(version, commit string) Process {
	return Process{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ, Now: time.Now,
		Version: version, Commit: commit,
	}
}

// Shell is what an action works with: the process, and what the common flags
// said.
type Shell struct {
	Process
	Name       string // of the program
	JSON       bool
	ConfigPath string // --config

	lang    string // --lang or AIFLOW_LANG; "" = not said
	noColor bool
	version bool
	catalog *messages.Catalog
	out     *bufio.Writer
	color   [2]bool // stdout, stderr
	tty     [2]bool
	signals signals
	waits   bool // the command has --wait
}

// Main runs the program that build describes and gives its exit status.
func Main(p Process, build func(*Shell) *urfave.App) (status int) {
	s := &Shell{Process: p, out: bufio.NewWriterSize(p.Stdout, 16<<10)}
	s.tty = [2]bool{term.IsTerminal(p.Stdout), term.IsTerminal(p.Stderr)}
	_ = s.settle()
	defer func() {
		if r := recover(); r != nil {
			_ = s.out.Flush()
			status = s.report(fault.New(fault.InternalError, "cause", fmt.Sprint(r)))
			if s.Getenv("AIFLOW_DEBUG") != "" {
				fmt.Fprintf(s.Stderr, "%s\n", debug.Stack())
			}
		}
	}()
	err := s.run(build(s))
	s.signals.stop()
	return s.leave(err)
}

// settle fixes language and colour after the common flags are known.
func (s *Shell) settle() error {
	for i, tty := range s.tty {
		s.color[i] = term.Colour(tty, s.noColor, s.Getenv)
	}
	said := s.lang
	if !known(said) {
		s.lang = ""
	}
	if lang := s.Getenv("AIFLOW_LANG"); s.lang == "" && known(lang) {
		s.lang = lang
	}
	s.catalog = messages.Open(s.Lang())
	if said != "" && !known(said) {
		return Usage("bad_value", "name", "--lang", "value", said, "allowed", "ja, en")
	}
	return nil
}

func known(lang string) bool { return lang == "ja" || lang == "en" }

// common are the flags that every program has.
func (s *Shell) common() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "config", Usage: "cli.common_config", Destination: &s.ConfigPath},
		&urfave.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "cli.common_help"},
		&urfave.BoolFlag{Name: "json", Usage: "cli.common_json", Destination: &s.JSON},
		&urfave.StringFlag{Name: "lang", Usage: "cli.common_lang", Destination: &s.lang},
		&urfave.BoolFlag{Name: "no-color", Usage: "cli.common_no_color", Destination: &s.noColor},
		&urfave.BoolFlag{Name: "version", Usage: "cli.common_version", Destination: &s.version},
	}
}

// run reads the command line and does what it says.
func (s *Shell) run(app *urfave.App) error {
	s.Name = app.Name
	common := s.common()
	if len(s.Args) > 1 && s.Args[1] == "--complete" {
		return s.complete(app, common, s.Args[2:])
	}
	l := order(rootOf(app), common, s.Args[1:])
	err := s.reader(l, common).Run(l.argv())
	if name, ok := missingFlag(err); ok {
		return s.refuse(l, common, Usage("missing_flag", "name", dashed(name), "command", l.path))
	}
	return err
}

// reader is the command that was chosen as an app of its own: the library
// reads its flags, and takes no argument for a command.
func (s *Shell) reader(l *line, common []urfave.Flag) *urfave.App {
	return &urfave.App{
		Name: l.path, HelpName: l.path, Usage: "-", Compiled: time.Unix(0, 0),
		Flags:  append(l.command.flags(), common...),
		Before: func(*urfave.Context) error { return s.settle() },
		Action: func(c *urfave.Context) error { return s.act(c, l, common) },
		OnUsageError: func(_ *urfave.Context, err error, _ bool) error {
			return s.refuse(l, common, l.mistake(err, common))
		},
		HideHelp: true, HideVersion: true, DisableSliceFlagSeparator: true,
		Reader: s.Stdin, Writer: io.Discard, ErrWriter: s.Stderr,
		ExitErrHandler: func(*urfave.Context, error) {},
	}
}

// refuse gives the mistake of a command line, unless that asks for help.
func (s *Shell) refuse(l *line, common []urfave.Flag, mistake error) error {
	switch err := s.settle(); {
	case err != nil:
		return err
	case l.help && !l.topic:
		return printHelp(s, s.out, l.command, common)
	}
	return mistake
}

// act answers what every command answers, or does the command's work.
func (s *Shell) act(c *urfave.Context, l *line, common []urfave.Flag) error {
	switch {
	case s.version:
		return s.PrintVersion()
	case l.unknown != "" && (l.topic || !l.help):
		return Usage("unknown_command", "name", l.unknown, "near", near.Word(l.unknown, l.names()), "command", l.path)
	case l.man:
		printMan(s, l.command, common)
		return nil
	case l.help || l.topic:
		return printHelp(s, s.out, l.command, common)
	case l.Action == nil && s.JSON:
		return Usage("missing_command", "command", l.path)
	case l.Action == nil:
		if err := printHelp(s, s.Stderr, l.command, common); err != nil {
			return err
		}
		return Exit(fault.UsageError.Info().Exit)
	}
	if err := l.check(c); err != nil {
		return err
	}
	s.waits = slices.ContainsFunc(l.Flags, func(f urfave.Flag) bool { return f.Names()[0] == "wait" })
	return l.meant(l.Action(c), common)
}

// leave flushes, reports err and gives the exit status.
func (s *Shell) leave(err error) int {
	if ferr := s.out.Flush(); err == nil {
		err = ferr
	}
	var quiet exit
	switch {
	case err == nil:
		return 0
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE)
	case errors.As(err, &quiet):
		return int(quiet)
	}
	return s.report(err)
}
