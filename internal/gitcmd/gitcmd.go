// Package gitcmd is the one helper that starts the git binary. It promises
// that git is started by argument list with an environment that belongs to the
// repository that is asked, that a question takes no lock, that a write waits
// for a busy lock, that no call can wait for a person, and that none outlasts
// its limit, with whatever git starts: hooks, filters, signers, transports.
// What git syncs is the user's choice (core.fsync).
//
// It does not know what the commands mean, and it does not use a shell.
package gitcmd

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// Git is a git binary with the directory and environment to start it in.
type Git struct {
	Bin string   // absolute path; "" looks git up in Env's PATH at each call
	Dir string   // where git is started
	Env []string // base environment; GIT_* is scrubbed at each call

	// Settings are configuration for each call, "key=value", beside what git
	// reads by itself. A call's own -c wins.
	Settings []string

	// Patience is how long a write waits for a lock held by another git
	// process. Zero means DefaultPatience.
	Patience time.Duration

	// Timeout is what a write may take with all that git starts for it, and
	// QuestionTimeout what a question may. Zero means DefaultTimeout and
	// DefaultQuestionTimeout.
	Timeout, QuestionTimeout time.Duration

	// Allowed is asked before each write; its error is the call's. nil allows all.
	Allowed func() error

	waiting func(attempt int) // tests see each wait
}

// DefaultPatience is how long a write waits for a busy lock; the others are the
// configuration's defaults for who has none.
const (
	DefaultPatience        = 10 * time.Second
	DefaultTimeout         = 30 * time.Minute
	DefaultQuestionTimeout = time.Minute
)

// grace is how long git and what it started may take to end after SIGTERM, upon
// which git removes its lock files.
const grace = time.Second

// In gives the same git started in dir.
func (g Git) In(dir string) Git {
	g.Dir = dir
	return g
}

// With gives the same git with further variables in its base environment.
// They are scrubbed like the others; Call.Env is not.
func (g Git) With(env ...string) Git {
	g.Env = slices.Concat(g.Env, env)
	return g
}

// Call is one start of git.
type Call struct {
	Args  []string
	Input []byte   // standard input; nil is /dev/null
	Env   []string // set last, never scrubbed
	Mode  Mode
}

// Mode says what kind of call it is.
type Mode int

// The kinds of calls.
const (
	Question Mode = iota // takes no optional lock
	Staged               // a question about the commit being made: keeps its index
	Write                // waits for busy locks
)

// Ask puts a question and returns the standard output.
func (g Git) Ask(ctx context.Context, args ...string) ([]byte, error) {
	return g.Run(ctx, Call{Args: args})
}

// AskInput is Ask with standard input.
func (g Git) AskInput(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	return g.Run(ctx, Call{Args: args, Input: input})
}

// AskStaged puts a question about the commit that is being made: inside a
// hook it sees the index and repository that git handed to the hook.
func (g Git) AskStaged(ctx context.Context, args ...string) ([]byte, error) {
	return g.Run(ctx, Call{Args: args, Mode: Staged})
}

// Ref is a reference, and the object that it names.
type Ref struct{ Name, Commit string }

// Refs are the references of these names, and below these folders of names.
func (g Git) Refs(ctx context.Context, names ...string) ([]Ref, error) {
	out, err := g.Ask(ctx, append([]string{"for-each-ref", "--format=%(refname) %(objectname)", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for line := range strings.Lines(string(out)) {
		name, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs = append(refs, Ref{name, commit})
	}
	return refs, nil
}

// Do runs a command that writes. A busy lock is waited for.
func (g Git) Do(ctx context.Context, args ...string) ([]byte, error) {
	return g.Run(ctx, Call{Args: args, Mode: Write})
}

// DoInput is Do with standard input.
func (g Git) DoInput(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	return g.Run(ctx, Call{Args: args, Input: input, Mode: Write})
}

// Run starts git once, or again and again while a write finds a lock busy.
// A non-zero exit status is a *Failure; a git that cannot be started is the
// fault GIT_NOT_AVAILABLE, one that outlasts its limit GIT_TIMEOUT; a cancelled
// call is the context's error.
func (g Git) Run(ctx context.Context, c Call) ([]byte, error) {
	bin := g.Bin
	if bin == "" {
		found, err := Find(g.Env)
		if err != nil {
			return nil, err
		}
		bin = found.Bin
	}
	env := append(environment(g.Env, c.Mode), c.Env...)
	if c.Mode != Write {
		return g.once(ctx, bin, env, c)
	}
	return g.patiently(ctx, func() ([]byte, error) {
		if err := g.May(); err != nil {
			return nil, err
		}
		return g.once(ctx, bin, env, c)
	})
}

// May asks whether a write is allowed: for those who write without git.
func (g Git) May() error {
	if g.Allowed == nil {
		return nil
	}
	return g.Allowed()
}

func (g Git) once(ctx context.Context, bin string, env []string, c Call) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var out, stderr bytes.Buffer
	said := &proc.BoundedLog{W: &stderr, Head: 8 << 10, Tail: 24 << 10}
	run := proc.Command{
		Argv: append([]string{bin}, g.arguments(c)...), Dir: g.Dir, Env: env,
		Stdout: &out, Stderr: said, Timeout: g.limit(c.Mode), Grace: grace,
	}
	if c.Input != nil {
		run.Stdin = bytes.NewReader(c.Input)
	}
	exit, err := proc.Run(ctx, run)
	_ = said.Close() // a buffer takes everything
	switch {
	case err != nil:
		if info, e := os.Stat(g.Dir); g.Dir != "" && (e != nil || !info.IsDir()) {
			return nil, &os.PathError{Op: "start git in", Path: g.Dir, Err: err}
		}
		return nil, noGit(err, "path", bin)
	case exit.Status == 0:
		return out.Bytes(), nil
	case exit.Stopped:
		return out.Bytes(), context.Cause(ctx)
	case exit.TimedOut:
		return out.Bytes(), tookTooLong(c, run.Timeout, exit.Waited, stderr.String())
	case exit.Signaled:
		exit.Status = -1
	}
	return out.Bytes(), &Failure{Args: c.Args, ExitStatus: exit.Status, Stderr: stderr.String()}
}

func (g Git) limit(m Mode) time.Duration {
	if m == Write {
		return cmp.Or(g.Timeout, DefaultTimeout)
	}
	return cmp.Or(g.QuestionTimeout, DefaultQuestionTimeout)
}

// arguments adds what holds for every call: a question takes no lock, and what
// git tidies up by itself it tidies up before it ends.
func (g Git) arguments(c Call) []string {
	var args []string
	for _, s := range g.Settings {
		args = append(args, "-c", s)
	}
	if c.Mode == Write {
		args = append(args, "-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false")
	} else {
		args = append(args, "--no-optional-locks")
	}
	return append(args, c.Args...)
}

func noGit(err error, key, at string) error { return fault.Wrap(err, fault.GitNotAvailable, key, at) }
