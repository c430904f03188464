package gitops

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// LeftOver is what a linked worktree holds that the repository does not: what
// would be lost with it. Paths are from the top of the worktree, with slashes.
type LeftOver struct {
	Changed []string // files that differ from HEAD or are new, also those hidden from git status
	Commits []string // that nothing but the worktree's own part of the repository names
	Nested  []Item   // folders with a repository of their own that has work of its own
	Ignored []Item   // what git ignores

	hidden  []string // files that the index tells git not to look at
	modules []string // repositories of submodules that no folder belongs to any more
}

// Item is a file or folder with its size.
type Item struct {
	Path  string
	Files int
	Bytes int64
}

// first names one thing that is more than what git ignores; "" is none.
func (l *LeftOver) first() string {
	for _, i := range l.Nested {
		return i.Path
	}
	for _, name := range slices.Concat(l.Changed, l.modules, l.Commits) {
		return name
	}
	return ""
}

// inspect answers the one question before a worktree goes or is put back: what is
// in here that git does not hold? It changes nothing.
func inspect(ctx context.Context, w *Workspace) (*LeftOver, error) {
	l := &LeftOver{}
	if err := inspectRecord(ctx, w, l); err != nil {
		return nil, err
	}
	if !exists(w.path) {
		return l, inspectModules(ctx, w, l)
	}
	if err := w.verify(); err != nil {
		return nil, err
	}
	var flags []byte
	var flagsErr error
	var others sync.WaitGroup
	others.Go(func() { flags, flagsErr = w.git.Ask(ctx, "ls-files", "-v", "-z") })
	repositories, err := repositoriesIn(w.path)
	if err == nil && exists(filepath.Join(w.gitDir, "index")) {
		err = inspectFiles(ctx, w, l, "")
	} else if err == nil {
		if err = inspectWithNewIndex(ctx, w, l, "HEAD"); err == nil {
			l.Changed = slices.DeleteFunc(l.Changed, func(name string) bool { return isTorn(ctx, w, name) })
		}
	}
	others.Wait()
	if err != nil {
		return nil, err
	}
	if flagsErr != nil {
		return nil, failed(flagsErr, fault.GitCommandFailed, "path", w.path)
	}
	if l.hidden = hiddenFiles(w.path, fields(flags)); len(l.hidden) > 0 {
		if err := inspectHidden(ctx, w, l); err != nil {
			return nil, err
		}
	}
	return l, inspectNested(ctx, w, l, repositories)
}

// inspectFiles takes what git status tells. With an index of its own ("" is the
// worktree's), which was made from a commit, missing files are no loss.
func inspectFiles(ctx context.Context, w *Workspace, l *LeftOver, index string) error {
	args := quiet("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=dirty", "--no-renames")
	c := gitcmd.Call{Args: args}
	if index != "" {
		c.Env = []string{"GIT_INDEX_FILE=" + index}
	}
	out, err := w.git.Run(ctx, c)
	if err != nil {
		return failed(err, fault.GitCommandFailed, "path", w.path)
	}
	records := fields(out)
	l.Changed, l.Ignored = nil, nil
	var ignored []string
	for _, r := range records {
		if name, ok := strings.CutPrefix(r, "! "); ok {
			ignored = append(ignored, name)
		}
	}
	if err := noteIgnored(w.repo, l, w.path, ignored); err != nil {
		return err
	}
	for _, c := range parseStatus(records, "") {
		if c.Status == Untracked && w.repo.borrowed(w.path, c.Path) || c.Status == Deleted && index != "" {
			continue
		}
		l.Changed = append(l.Changed, strings.TrimSuffix(c.Path, "/"))
	}
	return nil
}

// inspectWithNewIndex judges a worktree without an index of its own, which a killed
// git left behind.
func inspectWithNewIndex(ctx context.Context, w *Workspace, l *LeftOver, rev string) error {
	index, done := privateIndex(w)
	defer done()
	if _, err := w.git.Run(ctx, gitcmd.Call{Args: quiet("read-tree", rev), Mode: gitcmd.Write, Env: []string{"GIT_INDEX_FILE=" + index}}); err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "has_changes")
	}
	return inspectFiles(ctx, w, l, index)
}

// isTorn: the file is what a killed checkout left of it.
func isTorn(ctx context.Context, w *Workspace, name string) bool {
	data, err := os.ReadFile(filepath.Join(w.path, filepath.FromSlash(name)))
	whole, ok, e := w.repo.ReadFile(ctx, "refs/heads/"+w.branch, relative(w.repo.prefix, name))
	return err == nil && e == nil && ok && bytes.HasPrefix(whole, data)
}

// hiddenFiles are the files whose index entries tell git not to look at them
// (skip-worktree, assume-unchanged), as far as they are there.
func hiddenFiles(top string, records []string) []string {
	var found []string
	for _, r := range records {
		flag, name, ok := strings.Cut(r, " ")
		if ok && (flag == "S" || flag != strings.ToUpper(flag)) && exists(filepath.Join(top, filepath.FromSlash(name))) {
			found = append(found, name)
		}
	}
	return found
}

// inspectHidden asks again with an index that hides nothing.
func inspectHidden(ctx context.Context, w *Workspace, l *LeftOver) error {
	index, done, err := copyIndex(w)
	defer done()
	if err == nil {
		err = unhideFiles(ctx, w, index, l.hidden)
	}
	if err != nil {
		return err
	}
	return inspectFiles(ctx, w, l, index)
}

// unhideFiles makes git look at these files again, in an index.
func unhideFiles(ctx context.Context, w *Workspace, index string, names []string) error {
	for _, option := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		_, err := w.git.Run(ctx, gitcmd.Call{
			Args: quiet("update-index", option, "-z", "--stdin"), Input: []byte(strings.Join(names, "\x00") + "\x00"),
			Mode: gitcmd.Write, Env: []string{"GIT_INDEX_FILE=" + index},
		})
		if err != nil {
			return failed(err, fault.GitCommandFailed, "path", w.path)
		}
	}
	return nil
}

// repositoriesIn are the folders below top that have a .git of their own, outer
// ones first. What is in a .git is not looked at, and links are not followed.
func repositoriesIn(top string) ([]string, error) {
	var found []string
	err := walkFiles(top, func(rel string, d fs.DirEntry) error {
		if d.Name() != ".git" || rel == ".git" {
			return nil
		}
		if d.IsDir() {
			if entries, err := os.ReadDir(filepath.Join(top, rel)); err != nil || len(entries) > 0 {
				found = append(found, filepath.ToSlash(filepath.Dir(rel)))
			}
			return fs.SkipDir
		}
		found = append(found, filepath.ToSlash(filepath.Dir(rel)))
		return nil
	})
	return found, err
}

// walkFiles calls f for everything below top. A folder that may not be read is made
// readable: the worktree is ours.
func walkFiles(top string, f func(rel string, d fs.DirEntry) error) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil && d != nil && d.IsDir() && os.Chmod(path, 0o700) == nil {
			return walkFiles(path, func(rel string, d fs.DirEntry) error {
				below, e := filepath.Rel(top, filepath.Join(path, rel))
				if e != nil {
					return e
				}
				return f(below, d)
			})
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil {
			return failed(err, fault.WorkspaceFailed, "path", path)
		}
		rel, err := filepath.Rel(top, path)
		if err != nil || rel == "." {
			return err
		}
		return f(rel, d)
	})
}

// measured counts the files of a path below top and their bytes.
func measured(top, name string) (Item, error) {
	item := Item{Path: name}
	at := filepath.Join(top, filepath.FromSlash(name))
	add := func(info fs.FileInfo, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !info.IsDir() {
			item.Files++
			item.Bytes += info.Size()
		}
		return err
	}
	info, err := os.Lstat(at)
	if err = add(info, err); err != nil || info == nil || !info.IsDir() {
		return item, err
	}
	return item, walkFiles(at, func(_ string, d fs.DirEntry) error { return add(d.Info()) })
}

// inspectNested judges the repositories inside. One goes with the worktree only
// when it is the unchanged copy of another: a submodule that git filled, or one
// that lies in what git ignores.
func inspectNested(ctx context.Context, w *Workspace, l *LeftOver, repositories []string) error {
	var kept []string
	for _, name := range repositories {
		if slices.ContainsFunc(kept, func(outer string) bool { return below(name, outer) }) {
			continue
		}
		mayGo := isSubmodule(w, name) || slices.ContainsFunc(l.Ignored, func(i Item) bool { return below(name, i.Path) })
		if mayGo && unchangedCopy(ctx, w, name, l) {
			continue
		}
		item, err := measured(w.path, name)
		if err != nil {
			return err
		}
		kept = append(kept, name)
		l.Nested = append(l.Nested, item)
		for i := range l.Ignored {
			if outer := &l.Ignored[i]; name != outer.Path && below(name, outer.Path) {
				outer.Files, outer.Bytes = outer.Files-item.Files, outer.Bytes-item.Bytes
			}
		}
	}
	within := func(name string) bool {
		return slices.ContainsFunc(kept, func(outer string) bool { return below(name, outer) })
	}
	l.Changed = slices.DeleteFunc(l.Changed, within)
	l.Ignored = slices.DeleteFunc(l.Ignored, func(i Item) bool { return within(i.Path) })
	return inspectModules(ctx, w, l)
}

// below reports whether a path is outer or in it.
func below(name, outer string) bool { return name == outer || strings.HasPrefix(name, outer+"/") }

// isSubmodule: its repository is where git puts those of a worktree's submodules.
func isSubmodule(w *Workspace, name string) bool {
	link := linkTarget(filepath.Join(w.path, filepath.FromSlash(name)))
	return link != "" && below(atomicfile.RealPath(link), filepath.Join(atomicfile.RealPath(w.gitDir), "modules"))
}

// unchangedCopy: nothing is changed in the repository, and each of its commits
// came from another one. What it ignores is the worktree's to judge. Any doubt
// says no.
func unchangedCopy(ctx context.Context, w *Workspace, name string, l *LeftOver) bool {
	at := filepath.Join(w.path, filepath.FromSlash(name))
	inner := &Workspace{repo: w.repo, path: at, git: pinned(w.repo.git.In(at), at)}
	flags, err := inner.git.Ask(ctx, "ls-files", "-v", "-z")
	if err != nil || len(hiddenFiles(at, fields(flags))) > 0 {
		return false
	}
	var there LeftOver
	if inspectFiles(ctx, inner, &there, "") != nil || len(there.Changed) > 0 || !onlyFetched(ctx, inner.git) {
		return false
	}
	if isSubmodule(w, name) { // else the outer folder is ignored as a whole
		for _, i := range there.Ignored {
			i.Path = name + "/" + i.Path
			l.Ignored = append(l.Ignored, i)
		}
	}
	return true
}

// onlyFetched reports whether all commits of a repository are those of its
// remotes; first are options of git's own.
func onlyFetched(ctx context.Context, g gitcmd.Git, first ...string) bool {
	out, err := g.Ask(ctx, append(first, "rev-list", "-n", "1", "--all", "--reflog", "HEAD", "--not", "--remotes", "--")...)
	return err == nil && len(out) == 0
}

// inspectModules finds repositories of submodules whose folder is gone.
func inspectModules(ctx context.Context, w *Workspace, l *LeftOver) error {
	home := filepath.Join(w.gitDir, "modules")
	if !exists(home) {
		return nil
	}
	return walkFiles(home, func(rel string, d fs.DirEntry) error {
		dir := filepath.Join(home, rel)
		if !d.IsDir() || !exists(filepath.Join(dir, "objects")) {
			return nil
		}
		g := w.repo.git.In(dir).With("GIT_CEILING_DIRECTORIES=" + dir)
		used := slices.ContainsFunc(l.Nested, func(i Item) bool {
			return sameFile(linkTarget(filepath.Join(w.path, filepath.FromSlash(i.Path))), dir)
		})
		if !used && !onlyFetched(ctx, g, "--git-dir="+dir, "-c", "core.worktree="+dir) { // its folder of files may be gone
			l.modules = append(l.modules, dir)
		}
		return nil
	})
}

var objectName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{40})\b`) })

// maxRecordFile bounds a file of the worktree's record that is searched for
// names of commits; its logs are small.
const maxRecordFile = 8 << 20

// inspectRecord finds commits that only the worktree's own part of the
// repository names: a detached HEAD and where it was before, an unfinished
// merge or rebase, bisect, refs of the worktree's own.
func inspectRecord(ctx context.Context, w *Workspace, l *LeftOver) error {
	names := map[string]bool{}
	err := walkFiles(w.gitDir, func(rel string, d fs.DirEntry) error {
		switch {
		case d.IsDir() && rel == "modules":
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(rel, "index") || strings.HasPrefix(rel, "config"):
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxRecordFile {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(w.gitDir, rel))
		for _, m := range objectName().FindAll(data, -1) {
			names[string(m)] = true
		}
		return err
	})
	if err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.gitDir)
	}
	delete(names, strings.Repeat("0", 40))
	delete(names, strings.Repeat("0", 64))
	dropBranchCommits(w, names)
	if len(names) == 0 {
		return nil
	}
	l.Commits, err = unreachableCommits(ctx, w.repo, names)
	return err
}

// dropBranchCommits takes out what the workspace's branch has: in most worktrees, all.
func dropBranchCommits(w *Workspace, names map[string]bool) {
	h, err := read(w.src, readHead)
	if err != nil || h.Detached {
		return
	}
	_, _ = read(w.src, func(repo *objects) (struct{}, error) {
		at := h.Commit
		for range 2 * maxHeldLooks {
			delete(names, at)
			if len(names) == 0 {
				break
			}
			c, err := repo.CommitObject(plumbing.NewHash(at))
			if err != nil || len(c.ParentHashes) == 0 {
				return struct{}{}, err
			}
			at = c.ParentHashes[0].String()
		}
		return struct{}{}, nil
	})
}

// maxHeldLooks bounds the commits that are looked at one by one before git is
// asked about all.
const maxHeldLooks = 100

// unreachableCommits are those of the names that are commits which no ref of the repository
// reaches.
func unreachableCommits(ctx context.Context, r *Repo, names map[string]bool) ([]string, error) {
	var found []string
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(names)), maxHeldLooks) {
		args := append([]string{"rev-list", "--ignore-missing"}, chunk...)
		out, err := r.git.Ask(ctx, append(args, "--not", "--single-worktree", "--all", "--")...)
		if err != nil {
			return nil, failed(err, fault.GitCommandFailed)
		}
		for c := range strings.FieldsSeq(string(out)) {
			if names[c] {
				found = append(found, c)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
