// Package cli is the one way in and out of every binary: it reads the command
// line, chooses language and colour, runs one action, and turns its error into
// a line on stderr, a JSON body and an exit status.
//
// A binary is this much (cmd/aiflow-thing/main.go; the action lives in files
// beside it and has never heard of flags):
//
//	var version, commit string // set by the Makefile with -ldflags -X
//
//	func main() { os.Exit(cli.Main(cli.OS(version, commit), app)) }
//
//	func app(s *cli.Shell) *urfave.App {
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
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/internal/fault"
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
	catalog *messages.Catalog
	out     *bufio.Writer
	color   [2]bool // stdout, stderr
	tty     [2]bool
	signals signals
}

// Main runs the program that build describes and gives its exit status.
func Main(p Process, build func(*Shell) *urfave.App) (status int) {
	growStack(false, 0)
	s := newShell(p)
	defer func() {
		if r := recover(); r != nil {
			status = s.panicked(r, debug.Stack())
		}
	}()
	err := s.run(build(s))
	s.signals.stop()
	return s.leave(err)
}

func newShell(p Process) *Shell {
	s := &Shell{Process: p, out: bufio.NewWriterSize(p.Stdout, 16<<10)}
	s.tty = [2]bool{term.IsTerminal(p.Stdout), term.IsTerminal(p.Stderr)}
	s.settle()
	return s
}

// settle fixes language and colour after the common flags are known.
func (s *Shell) settle() {
	for i, tty := range s.tty {
		s.color[i] = term.Colour(tty, s.noColor, s.Getenv)
	}
	if lang := s.Getenv("AIFLOW_LANG"); s.lang == "" && known(lang) {
		s.lang = lang
	}
	s.catalog = messages.Open(s.Lang())
}

func (s *Shell) run(app *urfave.App) error {
	s.Name = app.Name
	if len(s.Args) > 1 && s.Args[1] == "--complete" {
		s.complete(app, s.Args[2:])
		return nil
	}
	w := walk(app, s.Args[1:])
	if err := s.common(w); err != nil {
		return err
	}
	switch {
	case w.version:
		return s.PrintVersion()
	case w.help && !(w.topic && w.err != nil) && s.JSON:
		return s.PrintJSON(s.helpBody(w.node))
	case w.help && !(w.topic && w.err != nil):
		return s.printHelp(s.out, w.node)
	case w.err != nil:
		return w.err
	case w.node.action == nil:
		return s.noCommand(w)
	}
	if err := w.check(); err != nil {
		return err
	}
	return w.meant(s.act(s.flat(app, w), w))
}

// act calls the action. Where no flag has anything to say there is nothing for
// cli to do, and aiflow-next starts without its regular expressions.
func (s *Shell) act(app *urfave.App, w *walked) error {
	if len(w.set) > 0 || slices.ContainsFunc(app.Flags, preset) {
		return app.Run(append([]string{w.node.path}, w.argv()...))
	}
	var set flag.FlagSet
	if err := set.Parse(w.argv()); err != nil {
		return Usage("bad_flag", "reason", err)
	}
	return app.Action(urfave.NewContext(app, &set, nil))
}

// preset reports whether a flag says something that was not given.
func preset(f urfave.Flag) bool {
	switch f := f.(type) {
	case *urfave.BoolFlag:
		return f.Value || len(f.EnvVars) > 0
	case *urfave.IntFlag:
		return f.Value != 0 || len(f.EnvVars) > 0
	case *urfave.StringFlag:
		return f.Value != "" || len(f.EnvVars) > 0
	case *urfave.DurationFlag:
		return f.Value != 0 || len(f.EnvVars) > 0
	}
	return true
}

// common takes over what the common flags said.
func (s *Shell) common(w *walked) error {
	s.JSON, s.noColor, s.ConfigPath = w.json, w.noColor, w.config
	if w.lang != "" && !known(w.lang) {
		return Usage("bad_value", "name", "--lang", "value", w.lang, "allowed", "ja, en")
	}
	s.lang = w.lang
	s.settle()
	return nil
}

func known(lang string) bool { return lang == "ja" || lang == "en" }

// flat is the command that was chosen as an app of its own, so that cli finds
// neither commands nor help in its arguments.
func (s *Shell) flat(app *urfave.App, w *walked) *urfave.App {
	return &urfave.App{
		Name: w.node.path, HelpName: w.node.path, Usage: "-", Compiled: time.Unix(0, 0),
		Flags: w.node.allFlags(), Action: w.node.action, Metadata: app.Metadata,
		HideHelp: true, HideVersion: true, DisableSliceFlagSeparator: app.DisableSliceFlagSeparator,
		Reader: s.Stdin, Writer: s.out, ErrWriter: s.Stderr,
		ExitErrHandler: func(*urfave.Context, error) {},
		OnUsageError: func(_ *urfave.Context, err error, _ bool) error {
			return Usage("bad_flag", "reason", err)
		},
	}
}

func (s *Shell) noCommand(w *walked) error {
	if s.JSON {
		return Usage("missing_command", "command", w.node.path)
	}
	if err := s.printHelp(s.Stderr, w.node); err != nil {
		return err
	}
	return Exit(fault.UsageError.Info().Exit)
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

func (s *Shell) panicked(r any, stack []byte) int {
	_ = s.out.Flush()
	cause := fault.New(fault.InternalError, "cause", fmt.Sprint(r))
	status := s.report(cause)
	if s.Getenv("AIFLOW_DEBUG") != "" {
		fmt.Fprintf(s.Stderr, "%s\n", stack)
	}
	return status
}
