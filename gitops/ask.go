package gitops

import (
	"bytes"
	"context"
	"path"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Ignored gives those of the paths that git ignores. Tracked files are never
// ignored.
func (r *reader) Ignored(ctx context.Context, paths ...string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := r.git.AskInput(ctx, []byte(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "-z", "--stdin")
	if err != nil && gitcmd.Exit(err) != 1 {
		return nil, failed(err, fault.GitCommandFailed)
	}
	return fields(out), nil
}

// Identity is the author that commits get. git's own words about what to type
// are in the fault's output.
func (r *reader) Identity(ctx context.Context) (name, email string, err error) {
	out, err := r.git.Ask(ctx, "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return "", "", failed(err, fault.GitIdentityMissing, "reason", "identity_missing",
			"command", `git config user.name "…" && git config user.email "…"`)
	}
	name, rest, _ := strings.Cut(line(out), " <")
	email, _, _ = strings.Cut(rest, "> ")
	return name, email, nil
}

// ReadFile gives a file's bytes as they are in commit; false when there is no
// such file. A symlink's bytes are its target.
func (r *reader) ReadFile(ctx context.Context, commit, relPath string) ([]byte, bool, error) {
	full := path.Join(r.prefix, relPath)
	h, ok, err := r.commit(ctx, commit)
	if err != nil || !ok {
		return nil, false, err
	}
	out, err := r.git.Ask(ctx, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", h, "--", full)
	about, _, _ := bytes.Cut(out, []byte("\t"))
	f := strings.Fields(string(about)) // mode, type, object
	if err == nil && (len(f) != 3 || f[1] != "blob") {
		return nil, false, nil
	}
	var data []byte
	if err == nil {
		data, err = r.git.Ask(ctx, "cat-file", "blob", f[2])
	}
	return data, err == nil, failed(err, fault.GitCommandFailed, "commit", h, "path", full)
}

// fields splits NUL-terminated output.
func fields(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// paths are fields of which it is asked whether one is there: a landing may have very many.
func paths(out []byte) map[string]bool {
	there := map[string]bool{}
	for _, path := range fields(out) {
		there[path] = true
	}
	return there
}
