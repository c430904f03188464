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
	tree, err := snapshotTree(ctx, w, true)
	if err != nil {
		return "", err
	}
	known, ok, err := w.repo.refTip(ctx, ref)
	if err != nil {
		return "", err
	}
	if ok {
		if kept, err := w.repo.treeOf(ctx, known); err != nil || kept == tree {
			return known, err
		}
		return "", failed(ErrMoved, fault.GitCommandFailed, "name", ref, "commit", known, "reason", "moved", "branch", ref)
	}
	commit, err = commitTree(ctx, w, tree, []string{head}, m)
	if err != nil {
		return "", failedIn(w.path, err, fault.GitCommandFailed, "name", ref)
	}
	if _, err = w.git.Do(ctx, "update-ref", "-m", "aiflow: kept", ref, commit, ""); err != nil {
		return "", failedIn(w.path, err, fault.GitCommandFailed, "name", ref)
	}
	return commit, nil
}

// SnapshotCommit is a commit, on no branch, of everything in the workspace that Changes would
// see. The same content is the same commit; branch, index and files stay as they are.
func SnapshotCommit(ctx context.Context, w *Workspace) (string, error) {
	head, err := w.Head(ctx)
	if err != nil {
		return "", err
	}
	tree, err := snapshotTree(ctx, w, false)
	if err != nil {
		return "", err
	}
	if of, err := w.repo.treeOf(ctx, head); err == nil && of == tree {
		return head, nil
	}
	out, err := w.git.Run(ctx, gitcmd.Call{
		Args: []string{"commit-tree", "--no-gpg-sign", "-p", head, "-m", "aiflow: so far", tree}, Mode: gitcmd.Write,
		Env: append(anonymous(), "GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_DATE=@0 +0000"),
	})
	if err != nil {
		return "", failedIn(w.path, err, fault.GitCommandFailed, "commit", head)
	}
	return line(out), nil
}

// anonymous names aiflow where git may know nobody.
func anonymous() []string {
	return []string{
		"GIT_AUTHOR_NAME=aiflow", "GIT_AUTHOR_EMAIL=aiflow@localhost",
		"GIT_COMMITTER_NAME=aiflow", "GIT_COMMITTER_EMAIL=aiflow@localhost",
	}
}

// Holds reports whether the workspace holds what HEAD has, or tree, as Changes
// would see it; the index stays as it is.
func (w *Workspace) Holds(ctx context.Context, tree string) (bool, error) {
	now, err := snapshotTree(ctx, w, false)
	if err != nil || now == tree {
		return err == nil, err
	}
	h, err := w.head(ctx)
	if err != nil {
		return false, err
	}
	head, err := w.repo.treeOf(ctx, h.Commit)
	return now == head, err
}

// snapshotTree writes the workspace's content as a tree; all: also what git is told
// not to see.
func snapshotTree(ctx context.Context, w *Workspace, all bool) (string, error) {
	index, done, err := copyIndex(w)
	defer done()
	if err != nil {
		return "", err
	}
	ask := func(input []byte, args ...string) ([]byte, error) {
		out, err := w.git.Run(ctx, gitcmd.Call{Args: quiet(args...), Input: input, Mode: gitcmd.Write, Env: []string{"GIT_INDEX_FILE=" + index}})
		if err != nil {
			return nil, failed(err, fault.GitCommandFailed, "path", w.path, "reason", "not_kept")
		}
		return out, nil
	}
	w.known = false // a step that was not judged may have made links
	if !exists(index) || len(links(ctx, w)) > 0 {
		if _, err := ask(nil, "read-tree", "HEAD"); err != nil && exists(index) {
			return "", err // without an index and a HEAD, all there is is new
		}
	}
	if all {
		flags, err := ask(nil, "ls-files", "-v", "-z")
		if err != nil {
			return "", err
		}
		if hidden := hiddenFiles(w.path, fields(flags)); len(hidden) > 0 {
			if err := unhideFiles(ctx, w, index, hidden); err != nil {
				return "", err
			}
		}
	}
	if err := w.add(ctx, "GIT_INDEX_FILE="+index); err != nil {
		return "", failed(err, fault.GitCommandFailed, "path", w.path, "reason", "not_kept")
	}
	if !all {
		out, err := ask(nil, "write-tree")
		return line(out), err
	}
	if removed, err := ask(nil, "diff-index", "--cached", "--diff-filter=D", "--no-renames", "--name-only", "-z", "HEAD", "--"); err == nil {
		if there := stillThere(w, fields(removed)); len(there) > 0 {
			if _, err := ask(there, "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
				return "", err
			}
		}
	}
	out, err := ask(nil, "write-tree")
	return line(out), err
}

// stillThere are the files among names that were only taken out of the index, as
// literal pathspecs.
func stillThere(w *Workspace, names []string) []byte {
	var list []byte
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(w.path, filepath.FromSlash(name))); err == nil && !info.IsDir() && !w.repo.borrowed(w.path, name) {
			list = append(append(list, ":(top,literal)"+name...), 0)
		}
	}
	return list
}

// copyIndex makes an index of our own that starts as a copy, so that unchanged
// files are not read again. done removes it.
func copyIndex(w *Workspace) (index string, done func(), err error) {
	index, done = privateIndex(w)
	data, err := os.ReadFile(filepath.Join(w.gitDir, "index"))
	if err != nil {
		return index, done, nil // none, or a folder: git says so
	}
	if err := os.WriteFile(index, data, 0o600); err != nil {
		return index, done, failed(err, fault.PathNotWritable, "path", index)
	}
	return index, done, nil
}

func privateIndex(w *Workspace) (index string, done func()) {
	index = filepath.Join(w.gitDir, "aiflow-"+rand.Text()+".index")
	return index, func() {
		_ = os.Remove(index)
		_ = os.Remove(index + ".lock")
	}
}

// commitTree names aiflow as the author where git knows none: what was tried
// is kept all the same.
func commitTree(ctx context.Context, w *Workspace, tree string, parents []string, m CommitMessage) (string, error) {
	args := []string{"-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	c := gitcmd.Call{
		Args:  append(args, "-F", "-", tree),
		Input: m.bytes(), Mode: gitcmd.Write,
	}
	out, err := w.git.Run(ctx, c)
	if err != nil && ctx.Err() == nil {
		c.Env = anonymous()
		out, err = w.git.Run(ctx, c)
	}
	return line(out), err
}
