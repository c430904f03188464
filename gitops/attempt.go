package gitops

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// KeepAttempt makes a commit of everything in the workspace under ref, a full
// name outside refs/heads. Branch, index and files stay as they are. The same
// content under the same ref again is no error; other content is ErrMoved.
func (w *Workspace) KeepAttempt(ctx context.Context, ref string, m CommitMessage) (commit string, err error) {
	if !strings.HasPrefix(ref, "refs/aiflow/") || !ValidBranch(strings.TrimPrefix(ref, "refs/")) {
		return "", refuse(fault.GitCommandFailed, "bad_name", "name", ref, "branch", ref)
	}
	head, err := w.Head(ctx)
	if err != nil {
		return "", err
	}
	tree, err := w.snapshot(ctx)
	if err != nil {
		return "", err
	}
	if known, ok, err := w.repo.refTip(ctx, ref); err != nil || ok {
		return w.sameAttempt(ctx, ref, known, tree, err)
	}
	commit, err = w.commitTree(ctx, tree, head, m)
	if err != nil {
		return "", failedIn(w.path, err, fault.GitCommandFailed, "name", ref)
	}
	if _, err = w.git.Do(ctx, "update-ref", "-m", "aiflow: kept", ref, commit, ""); err != nil {
		return "", failedIn(w.path, err, fault.GitCommandFailed, "name", ref)
	}
	return commit, nil
}

func (w *Workspace) sameAttempt(ctx context.Context, ref, known, tree string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if kept, err := w.repo.treeOf(ctx, known); err != nil || kept == tree {
		return known, err
	}
	return "", failed(ErrMoved, fault.GitCommandFailed, "name", ref, "commit", known, "reason", "moved", "branch", ref)
}

// snapshot writes the workspace's content as a tree, through an index of its
// own that starts as a copy so that unchanged files are not read again.
func (w *Workspace) snapshot(ctx context.Context) (string, error) {
	index := filepath.Join(w.gitDir, "aiflow-"+rand.Text()+".index")
	defer func() {
		_ = os.Remove(index)
		_ = os.Remove(index + ".lock")
	}()
	if data, err := os.ReadFile(filepath.Join(w.gitDir, "index")); err == nil {
		if err := os.WriteFile(index, data, 0o600); err != nil {
			return "", failed(err, fault.PathNotWritable, "path", index)
		}
	}
	w.known = false // a step that was not judged may have made links
	calls := [][]string{{"read-tree", "HEAD"}}
	if len(w.links(ctx)) == 0 {
		calls = nil // the copy is as good as new
	}
	calls = append(calls, w.addArgs(), []string{"write-tree"})
	var out []byte
	for _, args := range calls {
		var err error
		out, err = w.git.Run(ctx, gitcmd.Call{Args: quiet(args...), Mode: gitcmd.Write, Env: []string{"GIT_INDEX_FILE=" + index}})
		if err != nil {
			return "", failed(err, fault.GitCommandFailed, "path", w.path, "reason", "not_kept")
		}
	}
	return line(out), nil
}

// commitTree names aiflow as the author where git knows none: what was tried
// is kept all the same.
func (w *Workspace) commitTree(ctx context.Context, tree, parent string, m CommitMessage) (string, error) {
	c := gitcmd.Call{
		Args:  []string{"-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign", "-p", parent, "-F", "-", tree},
		Input: m.bytes(), Mode: gitcmd.Write,
	}
	out, err := w.git.Run(ctx, c)
	if err != nil && ctx.Err() == nil {
		c.Env = []string{
			"GIT_AUTHOR_NAME=aiflow", "GIT_AUTHOR_EMAIL=aiflow@localhost",
			"GIT_COMMITTER_NAME=aiflow", "GIT_COMMITTER_EMAIL=aiflow@localhost",
		}
		out, err = w.git.Run(ctx, c)
	}
	return line(out), err
}
