package gitops

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Changes gives everything in the workspace that differs from HEAD, new files
// included, ignored ones not. It stages all of it: the index of a linked
// worktree is ours. Commit commits what the last Changes saw.
func (w *Workspace) Changes(ctx context.Context) (ChangeSet, error) {
	set, err := differences(ctx, w)
	if err == nil {
		set.Tree, err = w.tree(ctx, set.Empty())
	}
	w.staged = err == nil
	return set, err
}

// Judged is Changes for a step that is about to be committed: the patch is read
// with them, for Patch to give, and there is a Tree only when it is wanted.
func (w *Workspace) Judged(ctx context.Context, tree bool) (ChangeSet, error) {
	set, err := differences(ctx, w, patchFlags()...)
	if err == nil && tree {
		set.Tree, err = w.tree(ctx, set.Empty())
	}
	w.staged = err == nil
	return set, err
}

// Between names the files that differ between two trees.
func (r *reader) Between(ctx context.Context, from, to string) ([]string, error) {
	out, err := r.git.Ask(ctx, "diff-tree", "-r", "--name-only", "-z", "--end-of-options", from, to)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed, "from", from, "to", to)
	}
	return fields(out), nil
}

// differences stages everything and asks what differs from HEAD. Links that
// prepare the worktree show in what is new; when there are some that were not
// known, all is staged again without them and what they hide.
func differences(ctx context.Context, w *Workspace, more ...string) (ChangeSet, error) {
	if err := w.stage(ctx); err != nil {
		return ChangeSet{}, err
	}
	set, err := stagedChanges(ctx, w, more...)
	if err != nil || !w.linked {
		return set, err
	}
	found := borrowedOf(w, set)
	w.known = true
	if len(found) == 0 {
		return set, nil
	}
	note(w, found...)
	if _, err := w.git.Do(ctx, quiet("read-tree", "HEAD")...); err != nil {
		return ChangeSet{}, failed(err, fault.GitCommandFailed, "path", w.path, "reason", "not_staged")
	}
	if err := w.stage(ctx); err != nil {
		return ChangeSet{}, err
	}
	return stagedChanges(ctx, w, more...)
}

func stagedChanges(ctx context.Context, w *Workspace, more ...string) (ChangeSet, error) {
	w.patch = nil
	args := append(quiet("diff-index", "--cached", "--raw", "--numstat", "--no-abbrev", "-z", "-M"), more...)
	out, err := w.git.Ask(ctx, append(args, "HEAD", "--")...)
	if err != nil {
		return ChangeSet{}, failed(err, fault.GitCommandFailed, "path", w.path)
	}
	// No field is empty, so two NULs end the entries.
	entries, patch, found := bytes.Cut(out, []byte("\x00\x00"))
	switch {
	case found:
		w.patch = patch
	case len(more) > 0 && len(out) == 0:
		w.patch = []byte{}
	}
	var set ChangeSet
	for _, e := range parseRawNumstat(fields(entries), w.repo.prefix) {
		set.Files = append(set.Files, e.FileChange)
		set.Added += e.Added
		set.Deleted += e.Deleted
	}
	return set, nil
}

func (w *Workspace) stage(ctx context.Context) error {
	if err := w.verify(); err != nil {
		return err
	}
	w.staged, w.patch = false, nil
	err := w.add(ctx)
	return failed(err, fault.GitCommandFailed, "path", w.path, "reason", "not_staged")
}

// add puts everything into an index. A repository inside that has no commit yet
// cannot be added, and is left out.
func (w *Workspace) add(ctx context.Context, env ...string) error {
	try := func() error {
		_, err := w.git.Run(ctx, gitcmd.Call{Args: quiet(addArgs(w)...), Mode: gitcmd.Write, Env: env})
		return err
	}
	w.unborn = nil
	err := try()
	if err == nil || !w.linked || ctx.Err() != nil {
		return err
	}
	inside, e := repositoriesIn(w.path)
	if e != nil {
		return err
	}
	for _, name := range inside {
		if _, ok, e := revParse(ctx, w.git.In(filepath.Join(w.path, filepath.FromSlash(name))), "HEAD"); e != nil || !ok {
			w.unborn = append(w.unborn, name)
		}
	}
	if len(w.unborn) == 0 {
		return err
	}
	return try()
}

// Unborn are repositories inside the workspace, seen when it was last staged,
// that have no commit: no branch can hold what is in them.
func (w *Workspace) Unborn() []string { return w.unborn }

func addArgs(w *Workspace) []string {
	args := []string{"add", "-A"}
	if exists(filepath.Join(w.gitDir, "info", "sparse-checkout")) {
		args = append(args, "--sparse")
	}
	if w.linked && len(w.borrowed)+len(w.unborn) == 0 {
		return args
	}
	args = append(args, "--", ":/")
	if w.linked {
		for _, name := range slices.Concat(w.borrowed, w.unborn) {
			args = append(args, excluding(name)...)
		}
		return args
	}
	for _, dir := range []string{"locks", "cache", "worktrees", "project"} {
		args = append(args, excluding(w.repo.prefix+".aiflow/"+dir)...)
	}
	for _, path := range w.leave {
		args = append(args, excluding(w.repo.prefix+path)...)
	}
	return args
}

// excluding leaves a path and what is below it out of a git add. As a literal,
// a path that is ignored would make git refuse; so it is written as a pattern
// from its first character on.
func excluding(path string) []string {
	pattern := "[" + path[:1] + "]" + escapeGlob(path[1:])
	return []string{":(top,exclude,glob)" + pattern, ":(top,exclude,glob)" + pattern + "/**"}
}

// tree is the tree of the index. When nothing differs it is HEAD's.
func (w *Workspace) tree(ctx context.Context, unchanged bool) (string, error) {
	if unchanged {
		if h, err := w.head(ctx); err == nil {
			if tree, err := w.repo.treeOf(ctx, h.Commit); err == nil {
				return tree, nil
			}
		}
	}
	out, err := w.git.Do(ctx, "write-tree")
	if err != nil {
		return "", failed(err, fault.GitCommandFailed, "path", w.path)
	}
	return line(out), nil
}

// treeOf is the tree of a commit: equal trees are equal content.
func (r *reader) treeOf(ctx context.Context, commit string) (string, error) {
	tree, err := read(r.src, func(repo *objects) (string, error) {
		c, err := repo.CommitObject(plumbing.NewHash(commit))
		if err != nil {
			return "", err
		}
		return c.TreeHash.String(), nil
	})
	if err == nil {
		return tree, nil
	}
	out, err := r.git.Ask(ctx, "rev-parse", "--verify", "-q", "--end-of-options", commit+"^{tree}")
	if err != nil {
		return "", failed(err, fault.GitCommandFailed, "commit", commit)
	}
	return line(out), nil
}

// parseRawNumstat reads git's --raw entries (":mode mode hash hash X", path,
// for renames a second path) followed by its --numstat entries ("added TAB
// deleted TAB path", for renames an empty path and two more fields).
func parseRawNumstat(records []string, prefix string) []entry {
	var entries []entry
	at := map[string]int{}
	for i := 0; i < len(records); i++ {
		var e entry
		if e, i = rawEntry(records, i, prefix); e.Path != "" {
			at[e.Path] = len(entries)
			entries = append(entries, e)
			continue
		}
		f := strings.SplitN(records[i], "\t", 3) // added, deleted, path
		if len(f) == 3 && f[2] == "" && i+2 < len(records) {
			i += 2
			f[2] = records[i]
		}
		if n, ok := at[relative(prefix, f[len(f)-1])]; ok && len(f) == 3 {
			c := &entries[n].FileChange
			c.Binary = f[0] == "-" // of which no lines are counted
			c.Added, _ = strconv.Atoi(f[0])
			c.Deleted, _ = strconv.Atoi(f[1])
		}
	}
	return entries
}

func rawEntry(records []string, i int, prefix string) (entry, int) {
	about, ok := strings.CutPrefix(records[i], ":")
	f := strings.Fields(about)
	if !ok || len(f) != 5 || i+1 >= len(records) {
		return entry{}, i
	}
	c := FileChange{Path: relative(prefix, records[i+1]), Status: letter(f[4]), OldMode: f[0], NewMode: f[1]}
	c.Submodule = f[0] == gitlink || f[1] == gitlink
	i++
	if c.Status == Renamed && i+1 < len(records) {
		c.OldPath, c.Path = c.Path, relative(prefix, records[i+1])
		i++
	}
	c.ModeChange = c.OldMode != c.NewMode && c.Status != Added && c.Status != Deleted
	return entry{c, f[2], f[3]}, i
}

const gitlink = "160000"

// Patch gives the changes as a unified diff that git apply takes, with binary
// files in it.
func (w *Workspace) Patch(ctx context.Context) ([]byte, error) {
	if !w.staged {
		if _, err := w.Judged(ctx, false); err != nil {
			return nil, err
		}
	}
	if w.patch != nil {
		return w.patch, nil
	}
	return patch(ctx, w.git, "diff-index", "--cached", "HEAD", "--")
}

// Patch gives what changed between two commits as a unified diff that git
// apply takes.
func (r *reader) Patch(ctx context.Context, from, to string) ([]byte, error) {
	from, to, err := r.commits(ctx, from, to)
	if err != nil {
		return nil, err
	}
	return patch(ctx, r.git, "diff-tree", "-r", from, to, "--")
}

func patch(ctx context.Context, g gitcmd.Git, command string, rest ...string) ([]byte, error) {
	out, err := g.Ask(ctx, append(append(quiet(command, "-M"), patchFlags()...), rest...)...)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	return out, nil
}

func patchFlags() []string {
	return []string{"-p", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"}
}

// ApplyPatch applies a unified diff to the workspace's files, whole or not at
// all. One that does not fit is PATCH_APPLY_FAILED with git's words.
func (w *Workspace) ApplyPatch(ctx context.Context, patch []byte) error {
	if err := w.verify(); err != nil {
		return err
	}
	if n := len(patch); n > 0 && patch[n-1] != '\n' {
		patch = append(bytes.Clone(patch), '\n')
	}
	options, err := checkPatch(ctx, w, patch)
	if err == nil {
		w.staged = false
		_, err = w.git.DoInput(ctx, patch, append([]string{"apply", "--whitespace=nowarn"}, options...)...)
	}
	return failed(err, fault.PatchApplyFailed, "path", w.path)
}

// checkPatch finds out how the patch fits: as it is or, since models count
// badly, with the line counts of its hunks left out of account.
func checkPatch(ctx context.Context, w *Workspace, patch []byte) ([]string, error) {
	_, err := w.git.AskInput(ctx, patch, "apply", "--check", "--whitespace=nowarn")
	if err == nil || !strings.Contains(gitcmd.Stderr(err), "corrupt patch") {
		return nil, err
	}
	if _, e := w.git.AskInput(ctx, patch, "apply", "--check", "--whitespace=nowarn", "--recount"); e == nil {
		return []string{"--recount"}, nil
	}
	return nil, err
}
