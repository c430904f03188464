package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

const (
	// DefaultWorkPrefix begins the names of work branches.
	DefaultWorkPrefix = "aiflow/"
	// DefaultWorktreesDir is where worktrees are, below the project's root.
	DefaultWorktreesDir = ".aiflow/worktrees"
)

// Repo is a repository with a checkout. Paths that go in and come out are
// slash-separated and relative to the root that was opened, which may be a
// folder inside the checkout.
type Repo struct {
	reader
	WorkPrefix   string // such branches are never chosen as a base
	WorktreesDir string // relative to root, or absolute; worktrees are made and removed only there
}

// reader answers what a repository holds. It writes nothing, so it asks no guard.
type reader struct {
	git       gitcmd.Git
	root      string // where the project is
	top       string // of the checkout
	prefix    string // root inside top: "" or "dir/"
	commonDir string
	src       *source
	config    *settings
}

// Marked gives the same repository whose git processes have further entries in
// their environment, by which they are found should their starter die.
func (r *Repo) Marked(env ...string) *Repo {
	c := *r
	c.git = r.git.With(env...)
	return &c
}

// Guarded gives the same repository, which asks before each of its writes, and of
// those of its workspaces; may's error is theirs.
func (r *Repo) Guarded(may func() error) *Repo {
	c := *r
	c.git.Allowed = may
	return &c
}

// Open finds the repository that root is in. No repository is GIT_NOT_REPO, one
// that git refuses to use GIT_REPO_REFUSED, a bare one GIT_BARE_REPO.
func Open(ctx context.Context, g gitcmd.Git, root string) (*Repo, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fault.Wrap(err, fault.GitNotRepo, "path", root)
	}
	r := &Repo{WorkPrefix: DefaultWorkPrefix, WorktreesDir: DefaultWorktreesDir, reader: reader{git: g.In(abs), root: abs, config: &settings{}}}
	if err := locate(ctx, r); err != nil {
		return nil, err
	}
	r.src = newSource(gitDirOf(r.top), r.commonDir)
	return r, nil
}

func locate(ctx context.Context, r *Repo) error {
	out, err := r.git.Ask(ctx, "rev-parse", "--is-bare-repository", "--git-common-dir", "--show-prefix", "--show-toplevel")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	switch {
	case err != nil && lines[0] == "true":
		return fault.New(fault.GitBareRepo, "path", r.root)
	case err != nil:
		return failed(gitcmd.NoRepository(err, r.root), fault.GitNotRepo, "path", r.root)
	case len(lines) != 4:
		return locateOneByOne(ctx, r) // a path holds a line break
	}
	settle(r, lines[1], lines[2], lines[3])
	return nil
}

func locateOneByOne(ctx context.Context, r *Repo) error {
	var answers [3]string
	for i, question := range []string{"--git-common-dir", "--show-prefix", "--show-toplevel"} {
		out, err := r.git.Ask(ctx, "rev-parse", question)
		if err != nil {
			return failed(gitcmd.NoRepository(err, r.root), fault.GitNotRepo, "path", r.root)
		}
		answers[i] = strings.TrimSuffix(string(out), "\n")
	}
	settle(r, answers[0], answers[1], answers[2])
	return nil
}

func settle(r *Repo, commonDir, prefix, top string) {
	if !filepath.IsAbs(commonDir) {
		commonDir = filepath.Join(r.root, commonDir)
	}
	r.commonDir, r.prefix, r.top = commonDir, prefix, top
}

// Top is the top folder of the checkout.
func (r *reader) Top() string { return r.top }

// CommonDir is the folder of git that all its worktrees share.
func (r *reader) CommonDir() string { return r.commonDir }

// relative turns a path from the top into one from the root, which is prefix below it.
func relative(prefix, path string) string {
	if prefix == "" || path == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, prefix); ok {
		return rest
	}
	p, err := filepath.Rel(prefix, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(p)
}

// failed makes a fault of an error that git or the disk gave; nil of none. What says that
// git is missing or the caller gave up stays as it is.
func failed(err error, code fault.Code, pairs ...any) error {
	return failedIn("", err, code, pairs...)
}

// failedIn is failed for work in dir, whose disk may be the cause.
func failedIn(dir string, err error, code fault.Code, pairs ...any) error {
	if _, ok := fault.As(err); ok || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	facts := []any{"cause", inOneLine(gitcmd.Stderr(err)), "output", gitcmd.Stderr(err)}
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok {
		facts = append(facts, "exit_status", f.ExitStatus, "command", gitcmd.CommandLine(f.Args))
	}
	if trouble, path := diskTrouble(err, dirAmong(dir, pairs)); trouble != "" {
		return fault.Wrap(err, trouble, append(facts, "path", path)...)
	}
	return because(fault.Wrap(err, code, append(facts, pairs...)...))
}

// inOneLine is what git said as a sentence can have it, without its hints, which are of
// commands that the reader did not type.
func inOneLine(said string) string {
	var lines []string
	for l := range strings.Lines(said) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "hint:") {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, " ")
}

// refuse makes a fault of our own judgement.
func refuse(code fault.Code, reason string, pairs ...any) error {
	return because(fault.New(code, append([]any{"reason", reason, "cause", reason}, pairs...)...))
}

// unexpected is what git said in a form that we do not know.
func unexpected(command, output string) error {
	return fault.New(fault.GitCommandFailed, "command", command, "output", output)
}

// because points to the sentence about the reason, if there is one.
func because(f *fault.Error) error {
	if reason := f.Facts["reason"]; reason != "" {
		f.Facts["cause_key"] = "git." + reason
	}
	return f
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// quiet are settings for commands in a checkout: no daemon is started for it,
// and no commit goes off to pack the repository.
func quiet(args ...string) []string {
	return append([]string{"-c", "core.fsmonitor=", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)
}
