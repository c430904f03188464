package gitops

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Commit commits what the last Changes saw, or everything there when there was
// none, on the workspace's branch, with the repository's own hooks. A refusal
// is GIT_COMMIT_FAILED with the output; nothing can wait for a person. It gives
// the commit as it stands in the repository: a hook may have changed the message.
func (w *Workspace) Commit(ctx context.Context, m CommitMessage, o CommitOptions) (Commit, error) {
	before, err := w.onBranch(ctx)
	if err != nil {
		return Commit{}, err
	}
	if !w.staged {
		if err := w.stage(ctx); err != nil {
			return Commit{}, err
		}
	}
	return w.commit(ctx, before, m, o)
}

// CommitFile writes one file (relative to Dir) and commits just that; its mode
// is kept. Other changes stay as they are.
func (w *Workspace) CommitFile(ctx context.Context, relPath string, data []byte, m CommitMessage, o CommitOptions) (Commit, error) {
	before, err := w.onBranch(ctx)
	if err != nil {
		return Commit{}, err
	}
	if err := w.git.May(); err != nil {
		return Commit{}, err
	}
	if err := w.write(relPath, data); err != nil {
		return Commit{}, err
	}
	full := filepath.ToSlash(filepath.Join(w.repo.prefix, relPath))
	made, err := w.commit(ctx, before, m, o, "--only", "--", full)
	if !strings.Contains(gitcmd.Stderr(err), "did not match any file") {
		return made, err
	}
	if _, err := w.git.Do(ctx, "--literal-pathspecs", "add", "--", full); err != nil {
		return Commit{}, failedIn(w.path, err, fault.GitCommitFailed, "path", relPath)
	}
	return w.commit(ctx, before, m, o, "--only", "--", full)
}

func (w *Workspace) commit(ctx context.Context, before Head, m CommitMessage, o CommitOptions, only ...string) (Commit, error) {
	args := quiet("-c", "i18n.commitEncoding=UTF-8")
	if !o.RunHooks {
		args = append(args, "-c", "core.hooksPath="+os.DevNull)
	}
	args = append(args, "--literal-pathspecs", "commit", "-q", "-F", "-", "--cleanup=whitespace")
	if o.AllowEmpty {
		args = append(args, "--allow-empty")
	}
	out, err := w.git.Run(ctx, gitcmd.Call{Args: append(args, only...), Input: m.bytes(), Env: hookEnv(w, o.Env), Mode: gitcmd.Write})
	if err != nil {
		return Commit{}, refused(w, err, string(out))
	}
	w.staged, w.patch = false, nil
	return made(ctx, w, before)
}

// made is the commit that the branch stands at after git committed.
func made(ctx context.Context, w *Workspace, before Head) (Commit, error) {
	if err := w.verify(); err != nil {
		return Commit{}, err
	}
	made, err := read(w.src, func(repo *objects) (Commit, error) {
		tip, err := repo.Reference(plumbing.NewBranchReferenceName(w.branch), true)
		if err != nil {
			return Commit{}, err
		}
		c, err := repo.CommitObject(tip.Hash())
		if err != nil || foreignText(c) {
			return Commit{}, errors.Join(err, errAskGit)
		}
		return fromObject(c), nil
	})
	if err != nil {
		made, err = askTip(ctx, w.git)
	}
	if err == nil && made.Hash == before.Commit {
		err = refuse(fault.GitCommitFailed, "not_committed", "branch", w.branch)
	}
	return made, err
}

func refused(w *Workspace, err error, stdout string) error {
	for _, s := range []string{"nothing to commit", "nothing added to commit", "no changes added to commit"} {
		if strings.Contains(stdout, s) && gitcmd.Exit(err) == 1 {
			return failed(errors.Join(ErrNothingToCommit, err), fault.GitCommitFailed, "branch", w.branch, "reason", "nothing_to_commit")
		}
	}
	facts := []any{"branch", w.branch, "reason", "refused"}
	if lackingModules(w) {
		facts = append(facts, "lacks", modules)
	}
	if saysUnsigned().MatchString(gitcmd.Stderr(err)) {
		facts = append(facts, "signing", "git config commit.gpgsign false")
	}
	return failedIn(w.path, err, fault.GitCommitFailed, facts...)
}

// saysUnsigned are git's words when it could not sign what it was to commit.
var saysUnsigned = lazily(`(?i)(gpg|ssh-keygen|signing|gpgsm).{0,80}(failed|key|No such)|failed to sign|user\.signingkey`)

// write replaces one file inside the workspace. Links that lead elsewhere are
// not followed.
func (w *Workspace) write(relPath string, data []byte) error {
	p := filepath.Join(w.Dir(), filepath.FromSlash(relPath))
	dir := filepath.Dir(p)
	if !filepath.IsLocal(filepath.FromSlash(relPath)) {
		return refuse(fault.GitCommitFailed, "not_inside", "path", relPath)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return failedIn(w.path, err, fault.GitCommitFailed, "path", relPath)
	}
	info, err := os.Lstat(p)
	link := err == nil && info.Mode()&os.ModeSymlink != 0
	if link || atomicfile.RealPath(dir) != filepath.Join(atomicfile.RealPath(w.path), strings.TrimPrefix(dir, w.path)) {
		return refuse(fault.GitCommitFailed, "not_inside", "path", relPath)
	}
	o := atomicfile.Options{TempSuffix: rand.Text(), Volatile: w.linked} // what is lost of a worktree is in the commit
	err = atomicfile.Write(atomicfile.OS{}, p, data, o)
	return failedIn(w.path, err, fault.GitCommitFailed, "path", relPath)
}

// bytes is the message as git gets it: a subject of one line, the body, and
// the trailers as the last paragraph.
func (m CommitMessage) bytes() []byte {
	parts := []string{oneLine(m.Subject)}
	if parts[0] == "" {
		parts[0] = "(no subject)"
	}
	if body := strings.TrimSpace(clean(m.Body)); body != "" {
		parts = append(parts, body)
	}
	var trailers []string
	for _, t := range m.Trailers {
		trailers = append(trailers, t[0]+": "+oneLine(t[1]))
	}
	if len(trailers) > 0 {
		parts = append(parts, strings.Join(trailers, "\n"))
	}
	return []byte(strings.Join(parts, "\n\n") + "\n")
}

func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// clean drops what git refuses in a message and what would act on a terminal.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
