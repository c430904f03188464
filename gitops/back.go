package gitops

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/format/index"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// TakeBack undoes, in files and index, what differs from a tree or commit
// ("HEAD" is the last commit), whole or not at all. It is the reversed patch
// and nothing else, so it may be used in the user's checkout too: a file that
// changes meanwhile makes it fail. The caller has kept what is undone.
func (w *Workspace) TakeBack(ctx context.Context, tree string) error {
	if err := w.stage(ctx); err != nil {
		return err
	}
	undo, err := patch(ctx, w.git, "diff-index", "--cached", tree, "--")
	if err != nil || len(undo) == 0 {
		return err
	}
	if _, err := w.git.DoInput(ctx, undo, quiet("apply", "-R", "--index", "--whitespace=nowarn")...); err != nil {
		code := fault.WorkspaceFailed
		if !w.linked {
			code = fault.WorktreeDirty // somebody works there too
		}
		return failed(err, code, "path", w.path, "reason", "not_reset")
	}
	return nil
}

// SetBranch says whose branch the workspace is for, whatever somebody has checked out there.
func (w *Workspace) SetBranch(branch string) { w.branch = branch }

// SoftReset puts the workspace's branch to commit and checks it out, and leaves
// files and index as they are: what a command committed by itself, on this
// branch or another, becomes changes again. The caller has kept the commits.
func (w *Workspace) SoftReset(ctx context.Context, commit string) error {
	h, err := w.head(ctx)
	if err != nil {
		return err
	}
	w.staged = false
	if err := headToBranch(ctx, w, h); err != nil {
		return err
	}
	if err := leaveMerge(ctx, w); err != nil {
		return err
	}
	_, err = w.git.Do(ctx, quiet("reset", "-q", "--soft", commit)...)
	return failed(err, fault.WorkspaceFailed, "path", w.path, "commit", commit, "reason", "not_reset")
}

// headToBranch makes HEAD, which is h, name the workspace's branch again. Files and index
// stay as they are.
func headToBranch(ctx context.Context, w *Workspace, h Head) error {
	if h.Branch == w.branch || w.branch == "" {
		return nil
	}
	_, err := w.git.Do(ctx, "symbolic-ref", "-m", "aiflow: back to the run's branch", "HEAD", "refs/heads/"+w.branch)
	return failed(err, fault.WorkspaceFailed, "path", w.path, "branch", w.branch)
}

// leaveMerge forgets about a merge or conflicts that were left open, with which
// git moves no branch. The files stay as they are.
func leaveMerge(ctx context.Context, w *Workspace) error {
	open, err := unmerged(ctx, w.git)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		if err := w.stage(ctx); err != nil {
			return err
		}
	}
	if !exists(filepath.Join(w.gitDir, "MERGE_HEAD")) {
		return nil
	}
	_, err = w.git.Do(ctx, "merge", "--quit")
	return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "not_reset")
}

// Unmerged names the files in which a merge left conflicts that nobody has
// resolved, as seen from the workspace.
func (w *Workspace) Unmerged(ctx context.Context) ([]string, error) {
	if names, err := read(w.src, func(*objects) ([]string, error) { return unmergedIn(filepath.Join(w.gitDir, "index")) }); err == nil {
		return names, nil
	}
	return unmerged(ctx, w.git)
}

// unmergedIn names the files of which an index has several versions.
func unmergedIn(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var in index.Index
	if err := index.NewDecoder(bufio.NewReader(file)).Decode(&in); err != nil {
		return nil, err
	}
	var names []string
	for _, e := range in.Entries {
		if e.Stage > 0 && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// Marked names those of Unmerged that still have the marks of the conflict: who
// resolves a file need not tell git so. It names none where that cannot be asked.
func Marked(ctx context.Context, w *Workspace) []string {
	names, _ := w.Unmerged(ctx)
	return slices.DeleteFunc(names, func(name string) bool {
		path := filepath.Join(w.path, filepath.FromSlash(name))
		if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
			return true
		}
		data, err := os.ReadFile(path)
		return err != nil || !conflictMarks.Match(data)
	})
}

var conflictMarks = regexp.MustCompile(`(?ms)^<{7} .*^={7}\r?$.*^>{7} `)

func unmerged(ctx context.Context, g gitcmd.Git) ([]string, error) {
	out, err := g.Ask(ctx, "diff-files", "--name-only", "--diff-filter=U", "-z")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	return slices.Compact(fields(out)), nil
}

// KeepCommit gives a commit a name outside refs/heads, so that it outlives
// what becomes of its branch. The same again is no error.
func (r *Repo) KeepCommit(ctx context.Context, ref, commit string) error {
	_, err := r.git.Do(ctx, "update-ref", "-m", "aiflow: kept", "--end-of-options", ref, commit)
	return failed(err, fault.GitCommandFailed, "name", ref, "commit", commit)
}
