package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Method is a way to take a branch over.
type Method string

// The ways: a merge commit, the commits one by one, or one commit.
const (
	Merge  Method = "merge"
	Rebase Method = "rebase"
	Squash Method = "squash"
)

// Scratch gives the linked worktree at path, on no branch and at commit, made
// where it is not there. What an earlier use left in it is nobody's work and goes.
func (r *Repo) Scratch(ctx context.Context, path, commit string) (*Workspace, error) {
	if !r.isOwnPlace(path) {
		return nil, refuse(fault.WorkspaceFailed, "outside", "path", path, "dir", r.WorktreesDir)
	}
	w, ok, err := r.OpenWorktree(ctx, path)
	if err != nil {
		return nil, err
	}
	if ok {
		if _, err := w.ClearStaleLocks(); err != nil {
			return nil, err
		}
		if err := w.Restart(ctx, commit); err == nil || ctx.Err() != nil {
			return w, err
		}
	}
	if err := r.DropScratch(ctx, path); err != nil {
		return nil, err
	}
	_, err = r.git.Do(ctx, quiet("worktree", "add", "-q", "--detach", "--", path, commit)...)
	w, ok, openErr := r.OpenWorktree(ctx, path)
	if openErr == nil && ok && (err == nil || ctx.Err() == nil) {
		return w, nil // a failing post-checkout hook fails the command, not the worktree
	}
	return nil, failed(errors.Join(err, openErr), fault.WorkspaceFailed, "path", path, "reason", "refused")
}

// DropScratch removes such a worktree with what is in it.
func (r *Repo) DropScratch(ctx context.Context, path string) error {
	if a := r.adminOf(path); a != nil {
		return r.unregister(ctx, path, a)
	}
	err := removeAll(path)
	return failed(err, fault.WorkspaceFailed, "path", path, "reason", "not_removed")
}

// Restart puts a scratch worktree to a commit, off every branch and out of a merge
// or rebase that was not ended. No hook runs. What git ignores stays.
func (w *Workspace) Restart(ctx context.Context, commit string) error {
	h, err := w.head(ctx)
	if err != nil {
		return err
	}
	for _, state := range []string{"rebase-merge", "rebase-apply", "sequencer"} {
		if err := os.RemoveAll(filepath.Join(w.gitDir, state)); err != nil {
			return failed(err, fault.WorkspaceFailed, "path", w.path, "reason", "not_reset")
		}
	}
	w.branch = ""
	if h.Branch != "" {
		if _, err := w.git.Do(ctx, "update-ref", "--no-deref", "-m", "aiflow: off the branch", "HEAD", commit); err != nil {
			return failed(err, fault.WorkspaceFailed, "path", w.path, "commit", commit)
		}
	}
	if _, err := w.git.Do(ctx, quiet("-c", "submodule.recurse=false", "reset", "-q", "--hard", commit)...); err != nil {
		return failed(err, fault.WorkspaceFailed, "path", w.path, "commit", commit, "reason", "not_reset")
	}
	return removeNew(ctx, w)
}

// Take is what a scratch worktree takes over.
type Take struct {
	Method  Method
	Own     bool          // only what is after Base: it is moved on top first
	Commit  string        // the tip of what is taken over
	Base    string        // rebase: what is after it and up to Commit
	Message CommitMessage // of the commit that a merge or squash makes
	Hooks   bool
	Env     []string // further variables for git and its hooks
}

// TakeOver takes over a branch in a scratch worktree as `git merge` and the like do, with
// the repository's settings and hooks, and gives the commit that came of it, or the
// files that collide. Fault: GIT_COMMIT_FAILED where a hook or git refuses.
func (w *Workspace) TakeOver(ctx context.Context, t Take) (commit string, conflicts []string, err error) {
	inheritSettings(ctx, w)
	run := func(input []byte, args ...string) (string, error) {
		all := quiet("-c", "i18n.commitEncoding=UTF-8", "-c", "rerere.autoUpdate=false") // else what collides is not listed
		if !t.Hooks {
			all = append(all, "-c", "core.hooksPath="+os.DevNull)
		}
		out, err := w.git.Run(ctx, gitcmd.Call{Args: append(all, args...), Input: input, Env: hookEnv(w, t.Env), Mode: gitcmd.Write})
		return string(out), err
	}
	message := t.Message.bytes()
	var said string
	if t.Own && t.Method != Rebase {
		said, err = moveOwn(ctx, w, &t, run)
	}
	switch {
	case err != nil:
	case t.Method == Merge:
		said, err = run(nil, "-c", "merge.autoStash=false", "merge", "-q", "--no-ff", "--no-squash", "--commit", "-m", string(message), t.Commit)
	case t.Method == Squash:
		said, err = run(nil, "-c", "merge.autoStash=false", "merge", "-q", "--squash", "--ff", t.Commit) // --ff: with merge.ff it would refuse
		if err == nil {
			said, err = run(message, "commit", "-q", "-F", "-", "--cleanup=whitespace", "--allow-empty")
		}
	case t.Method == Rebase:
		said, err = rebase(ctx, w, t, run)
	}
	if err != nil {
		if fault.Has(err, fault.GitTimeout) || gitcmd.Exit(err) <= 0 {
			return "", nil, err
		}
		listed, e := unmerged(ctx, w.git)
		if conflicts = gitcmd.Collide(listed, said); e != nil || len(conflicts) > 0 {
			return "", conflicts, e
		}
		return "", nil, refused(w, err, said)
	}
	commit, err = w.Head(ctx)
	return commit, nil, err
}

// moveOwn puts the commits after Base on top of where the worktree is, and goes back.
func moveOwn(ctx context.Context, w *Workspace, t *Take, run func([]byte, ...string) (string, error)) (string, error) {
	onto, err := w.Head(ctx)
	if err != nil {
		return "", err
	}
	said, err := rebase(ctx, w, *t, run)
	if err != nil {
		return said, err
	}
	if t.Commit, err = w.Head(ctx); err != nil {
		return "", err
	}
	return "", w.Restart(ctx, onto)
}

// rebase takes the commits one by one; those that are there already stay as empty
// ones, whose trailers tell that they are there.
func rebase(ctx context.Context, w *Workspace, t Take, run func([]byte, ...string) (string, error)) (string, error) {
	onto, err := w.Head(ctx)
	if err != nil {
		return "", err
	}
	args := []string{
		"-c", "rebase.autoStash=false", "-c", "rebase.updateRefs=false", "-c", "rebase.autoSquash=false",
		"rebase", "-q", "--empty=keep", "--onto", onto,
	}
	merges, err := w.git.Ask(ctx, "rev-list", "--merges", "--max-count=1", t.Base+".."+t.Commit)
	if err != nil {
		return "", err
	}
	if len(merges) > 0 {
		args = append(args, "--rebase-merges")
	}
	return run(nil, append(args, t.Base, t.Commit)...)
}

// CheckedOut is the folder that has branch checked out, or is in the middle of a
// rebase or a bisection of it, "" when none has.
func (r *Repo) CheckedOut(ctx context.Context, branch string) string {
	if h, err := r.Head(ctx); err == nil && h.Branch == branch || interrupted(gitDirOf(r.top), branch) {
		return r.top
	}
	main := filepath.Dir(r.commonDir)
	if filepath.Base(r.commonDir) == ".git" && main != r.top && (r.headBranch(r.commonDir) == branch || interrupted(r.commonDir, branch)) {
		return main
	}
	for _, a := range r.admins() {
		if (a.branch == branch || interrupted(a.dir, branch)) && exists(filepath.Join(a.path, ".git")) { // else git calls it prunable
			return a.path
		}
	}
	return ""
}

// interrupted reports whether the checkout whose part of the repository is gitDir
// goes back to branch when its rebase or bisection ends; HEAD is detached until then.
func interrupted(gitDir, branch string) bool {
	return slices.Contains(goesBackTo(gitDir), branch)
}

// goesBackTo are the branches, or a commit, that interrupted means.
func goesBackTo(gitDir string) (found []string) {
	for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
		if text, err := os.ReadFile(filepath.Join(gitDir, filepath.FromSlash(name))); err == nil {
			found = append(found, strings.TrimPrefix(line(text), "refs/heads/"))
		}
	}
	return found
}

// Interrupted is LAND_REFUSED where the checkout is in the middle of the rebase or the
// bisection of a branch, so that none is checked out until that ends.
func Interrupted(ctx context.Context, r *Repo) error {
	for _, branch := range goesBackTo(gitDirOf(r.root)) {
		if _, ok, err := r.BranchTip(ctx, branch); err == nil && ok {
			return notForward(r.root, branch, "land.rebasing", nil)
		}
	}
	return nil
}

// Advance moves a branch from one commit to a later one, and nothing where it does
// not stand there: ErrMoved in the chain. Where it is checked out git itself
// goes forward there, so that it protects what nobody committed; LAND_REFUSED
// says what it said, and nothing has changed.
func (r *Repo) Advance(ctx context.Context, branch, from, to string) error {
	if at := r.CheckedOut(ctx, branch); at != "" {
		return forward(ctx, r, at, branch, from, to)
	}
	if err := compareAndSwapRef(ctx, r, branch, from, to); err != nil {
		return err
	}
	at := r.CheckedOut(ctx, branch)
	if at == "" {
		return nil
	}
	// It was checked out at that moment: its files are those of before, or of now already.
	if _, err := r.git.In(at).Do(ctx, quiet("read-tree", "-m", "-u", from, to)...); err != nil {
		err = errors.Join(refusedAt(ctx, r.git.In(at), branch, err), compareAndSwapRef(ctx, r, branch, to, from))
		_, back := UndoHalfway(context.WithoutCancel(ctx), r, branch, to)
		return errors.Join(err, back)
	}
	return nil
}

func compareAndSwapRef(ctx context.Context, r *Repo, branch, from, to string) error {
	_, err := r.git.Do(ctx, "update-ref", "-m", "aiflow: landed", "--end-of-options", "refs/heads/"+branch, to, from)
	return orRefused(ctx, r, err, branch, from)
}

// MoveBranch moves a branch that nobody has checked out from one commit to another one,
// which need not be later, and keeps the old one under a ref. ErrMoved in the chain, or
// LAND_REFUSED.
func (r *Repo) MoveBranch(ctx context.Context, branch, from, to, kept string) error {
	if !ValidBranch(branch) || !strings.HasPrefix(kept, "refs/aiflow/") {
		return refuse(fault.GitCommandFailed, "bad_name", "branch", branch, "name", kept)
	}
	input := "start\nupdate " + kept + " " + from + "\nupdate refs/heads/" + branch + " " + to + " " + from + "\ncommit\n"
	_, err := r.git.DoInput(ctx, []byte(input), "update-ref", "-m", "aiflow: restacked", "--stdin")
	return orRefused(ctx, r, err, branch, from)
}

// orRefused says of an error that the branch is no longer where it was, or that something,
// mostly a hook, keeps it there.
func orRefused(ctx context.Context, r *Repo, err error, branch, from string) error {
	moved := orMoved(ctx, r, err, branch, from)
	if gitcmd.Exit(err) <= 0 || errors.Is(moved, ErrMoved) {
		return moved
	}
	return landRefused(err, "", branch, nil, append(refusal(err, r.root), "unseen", true)...)
}

// orMoved says of an error that the branch is no longer where it was, if so.
func orMoved(ctx context.Context, r *Repo, err error, branch, from string) error {
	if err == nil {
		return nil
	}
	if now, ok, e := revParse(ctx, r.git, "refs/heads/"+branch); e == nil && (!ok || now != from) {
		return failed(errors.Join(ErrMoved, err), fault.GitCommandFailed, "branch", branch, "reason", "moved")
	}
	return failed(err, fault.GitCommandFailed, "branch", branch)
}

// forward lets git go forward in the checkout at a folder.
func forward(ctx context.Context, r *Repo, at, branch, from, to string) error {
	g := r.git.In(at)
	now, ok, err := r.BranchTip(ctx, branch)
	if err != nil {
		return err
	}
	if !ok || now != from {
		return failed(ErrMoved, fault.GitCommandFailed, "branch", branch, "reason", "moved")
	}
	if interrupted(gitDirOf(at), branch) {
		return notForward(at, branch, "land.rebasing", nil)
	}
	list, err := changesOf(ctx, g, from, to)
	if err != nil {
		return err
	}
	files, err := restored(ctx, g, list)
	switch {
	case err != nil:
		return err
	case len(files) > 0:
		return notForward(at, branch, "land.gone_there", files)
	}
	// What a person sets for merges by hand (--squash, -s ours) is not for going forward.
	half, err := moveCheckout(ctx, g, from, list, "-c", "merge.autoStash=false", "-c", "branch."+branch+".mergeOptions=",
		"merge", "-q", "--ff-only", "--no-squash", "--commit", "--no-overwrite-ignore", to)
	if err != nil {
		moved := orMoved(ctx, r, err, branch, from)
		switch trouble, _ := diskTrouble(err, at); {
		case errors.Is(moved, ErrMoved), gitcmd.Exit(err) <= 0 && !errors.Is(err, ErrHalfway):
			return moved
		case trouble == fault.DiskFull:
			return failedIn(at, err, fault.LandRefused)
		case errors.Is(err, ErrHalfway):
			return landRefused(err, at, branch, half, "half", true, "unseen", true, "cause", saysFirst(err))
		}
		return refusedAt(ctx, g, branch, err)
	}
	h, err := headOf(ctx, newSource(gitDirOf(at), r.commonDir), g)
	if err != nil || h.Branch == branch || h.Commit != to {
		return err
	}
	// Another branch was checked out at that moment, and went forward instead.
	if _, err := g.Do(ctx, quiet("reset", "-q", "--keep", "ORIG_HEAD")...); err != nil {
		return failed(err, fault.GitCommandFailed, "branch", h.Branch)
	}
	return failed(ErrMoved, fault.GitCommandFailed, "branch", branch, "reason", "moved")
}

func notForward(at, branch, why string, files []string, more ...any) error {
	return landRefused(nil, at, branch, files, append(more, "cause_key", why)...)
}

// landRefused is about the checkout at a folder; "" where the branch is in none.
func landRefused(err error, at, branch string, files []string, more ...any) error {
	facts := []any{"branch", branch}
	if at != "" {
		facts = append(append(facts, Unfinished(at)...), "path", at, "files", strings.Join(files, ", "))
	}
	return fault.Wrap(err, fault.LandRefused, append(facts, more...)...)
}

// ignoredOf are the facts of files in the way that git ignores, which its status and its
// stash leave out: their names, and whether nothing else is in the way.
func ignoredOf(ctx context.Context, g gitcmd.Git, files []string) []any {
	names, err := (&reader{git: g}).Ignored(ctx, files...)
	if err != nil || len(names) == 0 {
		return nil
	}
	facts := []any{"ignored", strings.Join(names, ", ")}
	if len(names) == len(files) {
		facts = append(facts, "unseen", true)
	}
	return facts
}

// ForecastAdvance tells of each commit to which a branch would advance whether that comes to
// LAND_REFUSED, as far as it can be seen before. What is not committed in its checkout is
// looked at once, and nothing changes.
func (r *Repo) ForecastAdvance(ctx context.Context, branch, from string) (func(to string) error, error) {
	at := r.CheckedOut(ctx, branch)
	if at == "" {
		return func(string) error { return nil }, nil
	}
	g, dir := r.git.In(at), gitDirOf(at)
	out, err := g.Ask(ctx, "diff", "--name-only", "-z", "--no-renames", "HEAD")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	mine := paths(out)
	return func(to string) error {
		switch {
		case interrupted(dir, branch):
			return notForward(at, branch, "land.rebasing", nil)
		case exists(filepath.Join(dir, "MERGE_HEAD")), exists(filepath.Join(dir, "CHERRY_PICK_HEAD")):
			return notForward(at, branch, "land.merging", nil)
		}
		list, err := changesOf(ctx, g, from, to)
		if err != nil {
			return err
		}
		goes := map[string]bool{} // what the changes delete
		for _, c := range list {
			goes[c.path] = c.kind == 'D'
		}
		var gone, changed []string
		for _, c := range list {
			switch here, way := obstructs(at, c.path, goes); {
			case way != "" && (!goes[way] || mine[way]):
				changed = append(changed, way)
			case here && (c.kind == 'A' || mine[c.path]):
				changed = append(changed, c.path)
			case !here && c.kind != 'A' && c.kind != 'D' && mine[c.path]:
				gone = append(gone, c.path)
			}
		}
		switch {
		case len(gone) > 0:
			return notForward(at, branch, "land.gone_there", gone)
		case len(changed) > 0:
			return notForward(at, branch, "land.changed_there", changed, ignoredOf(ctx, g, changed)...)
		}
		return nil
	}, nil
}

// obstructs reports whether something that stays lies at a path of a checkout: a file, or a
// folder with files that the changes leave. way is what lies where a folder would have to be.
func obstructs(at, path string, goes map[string]bool) (here bool, way string) {
	for i, r := range path {
		if r != '/' {
			continue
		}
		if fi, err := os.Lstat(filepath.Join(at, filepath.FromSlash(path[:i]))); err != nil {
			return false, ""
		} else if !fi.IsDir() {
			return false, path[:i]
		}
	}
	full := filepath.Join(at, filepath.FromSlash(path))
	fi, err := os.Lstat(full)
	if err != nil || !fi.IsDir() {
		return err == nil, ""
	}
	err = filepath.WalkDir(full, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(at, name)
		if err == nil && !d.IsDir() && !goes[filepath.ToSlash(rel)] {
			here = true
			return fs.SkipAll
		}
		return nil
	})
	return here || err != nil, ""
}

// restored are files that a person deleted or renamed in a checkout and did not commit,
// and that going forward would bring back: git takes their absence for nothing.
func restored(ctx context.Context, g gitcmd.Git, list []pathChange) (files []string, err error) {
	if !slices.ContainsFunc(list, func(c pathChange) bool {
		return c.kind != 'A' && c.kind != 'D' && !exists(filepath.Join(g.Dir, filepath.FromSlash(c.path)))
	}) {
		return nil, nil
	}
	out, err := g.Ask(ctx, "ls-files", "-z", "--deleted")
	if err != nil || len(out) == 0 {
		return nil, err
	}
	gone := paths(out)
	for _, c := range list {
		if (c.kind == 'M' || c.kind == 'T') && gone[c.path] {
			files = append(files, c.path)
		}
	}
	return files, nil
}

// refusedAt is why a checkout does not go forward, with the files that git names, and
// the lock that another git holds or has left behind.
func refusedAt(ctx context.Context, g gitcmd.Git, branch string, err error) error {
	var files []string
	for l := range strings.Lines(gitcmd.Stderr(err)) {
		if name, ok := strings.CutPrefix(l, "\t"); ok {
			files = append(files, strings.TrimSpace(name))
		}
	}
	return landRefused(err, g.Dir, branch, files, append(ignoredOf(ctx, g, files), refusal(err, g.Dir)...)...)
}

// refusal are the facts of what git said: a lock, or what cannot be written, is nothing
// that its status shows.
func refusal(err error, at string) []any {
	said := gitcmd.Stderr(err)
	trouble, where := diskTrouble(err, at)
	facts := []any{"cause", saysFirst(err), "output", said}
	if _, lock, ok := strings.Cut(said, "Unable to create '"); ok && gitcmd.Busy(err) {
		lock, _, _ = strings.Cut(lock, "'")
		facts = append(facts, "lock", lock, "unseen", true)
	} else if trouble != "" {
		facts = append(facts, "unwritable", where, "unseen", true)
	}
	return facts
}

// saysFirst is the first line of what git said.
func saysFirst(err error) string {
	first, _, _ := strings.Cut(gitcmd.Stderr(err), "\n")
	return strings.TrimPrefix(strings.TrimPrefix(first, "error: "), "fatal: ")
}

// Unfinished are the facts of what git is in the middle of in the checkout at a folder:
// its name, how it goes on, and how it is given up. None is in the middle of nothing.
func Unfinished(at string) []any {
	for _, u := range []struct{ file, name string }{
		{"rebase-merge", "rebase"},
		{"rebase-apply/applying", "am"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
	} {
		if exists(filepath.Join(gitDirOf(at), filepath.FromSlash(u.file))) {
			return []any{"unfinished", u.name, "goes_on", u.name + " --continue", "gives_up", u.name + " --abort"}
		}
	}
	if exists(filepath.Join(gitDirOf(at), "BISECT_START")) {
		return []any{"unfinished", "bisect", "gives_up", "bisect reset"}
	}
	return nil
}
