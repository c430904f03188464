package gitcmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"aiflow/internal/fault"
)

// Failure is a git that ran and ended with a non-zero exit status.
type Failure struct {
	Args       []string
	ExitStatus int // -1 when a signal ended it
	Stderr     string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("git %s: exit status %d: %s", strings.Join(f.Args, " "), f.ExitStatus, strings.TrimSpace(f.Stderr))
}

// Exit is the exit status that err reports, 0 for nil and -1 for an error
// that is not a Failure.
func Exit(err error) int {
	if err == nil {
		return 0
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.ExitStatus
	}
	return -1
}

// Stderr is what a failed git said, or err's own text.
func Stderr(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return strings.TrimSpace(f.Stderr)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// tookTooLong is GIT_TIMEOUT: which command, what it waited for (facts "waited"
// and, when that is one of the repository's hooks, "hook"), what was said until
// then, and the key of the limit.
func tookTooLong(c Call, limit time.Duration, waited, said string) error {
	key := "limits.git_timeout_sec"
	if c.Mode == Write {
		key = "limits.timeout_sec"
	}
	f := fault.New(fault.GitTimeout, "command", CommandLine(c.Args), "seconds", limit.Seconds(), "limit_key", key,
		"output", strings.TrimSpace(said))
	if last := f.Facts["output"]; last != "" {
		f.Facts["cause"] = short(last[strings.LastIndexByte(last, '\n')+1:])
	}
	if waited != "" {
		f.Facts["waited"] = short(waited)
	}
	for _, word := range strings.Fields(waited) {
		if name := filepath.Base(word); name != word && isHook(name) {
			f.Facts["hook"] = name
		}
	}
	return f
}

// isHook reports whether git runs a program of that name by itself
// (githooks(5)).
func isHook(name string) bool {
	switch name {
	case "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
		"commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
		"proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
		"post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change":
		return true
	}
	return false
}

// CommandLine is a command as a person would type it, without the settings
// that we add.
func CommandLine(args []string) string {
	for len(args) > 1 && args[0] == "-c" {
		args = args[2:]
	}
	return short("git " + strings.Join(args, " "))
}

func short(line string) string {
	const most = 200
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// NoRepository is why git cannot work with the repository at path: there is
// none (GIT_NOT_REPO), or git refuses the one that is there (GIT_REPO_REFUSED)
// and says why. Fact "trust" is the command that it names for one that belongs
// to somebody else. What is no failure of git, and nil, stays as it is.
func NoRepository(err error, path string) error {
	if Exit(err) <= 0 {
		return err
	}
	said := Stderr(err)
	if strings.Contains(strings.ToLower(said), "not a git repository") {
		return fault.Wrap(err, fault.GitNotRepo, "path", path, "cause", said)
	}
	first, _, _ := strings.Cut(said, "\n")
	f := fault.Wrap(err, fault.GitRepoRefused, "path", path, "cause", strings.TrimPrefix(first, "fatal: "), "output", said)
	const trust = "git config --global --add safe.directory "
	if _, dir, ok := strings.Cut(said, trust); ok {
		dir, _, _ = strings.Cut(dir, "\n")
		f.Facts["trust"] = trust + dir
	}
	return f
}
