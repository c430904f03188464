package runner

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
)

// checkOutInPlace takes the user's own checkout as the workspace (D40): it must
// be clean, and its branch is switched. The request's own file must not be in
// git's way, so it goes back for that moment.
func (j *job) checkOutInPlace(ctx context.Context) error {
	ws, err := j.repo.InPlace(ctx)
	if err != nil {
		return err
	}
	ws.LeaveOut(j.Project.RequestsDir(), j.Project.RunsDir())
	if ws.Branch() == j.stage.Git.WorkBranch {
		j.ws = ws
		return nil
	}
	if err := j.refuseDirty(j.dirtyAhead(ctx)()); err != nil {
		return err
	}
	if err := j.restore(); err != nil {
		return err
	}
	j.stage.Git.ReturnTo = j.returnTo(ws.Branch())
	if err := j.save(); err != nil {
		return err
	}
	if err := ws.Switch(ctx, j.stage.Git.WorkBranch); err != nil {
		return err
	}
	j.ws = ws
	return j.markAgain()
}

// returnTo is the branch that the checkout goes back to: where the user was,
// but never a work branch. Without a branch it is the base, maybe a commit.
func (j *job) returnTo(now string) string {
	if now == "" || strings.HasPrefix(now, j.Project.Config.Git.WorkBranchPrefix) {
		return j.stage.Git.BaseBranch
	}
	return now
}

// markAgain marks the request as running in the checkout as it is now; the
// work branch may have another version of the file, or none.
func (j *job) markAgain() error {
	text, err := os.ReadFile(j.Project.Path(j.req.Path))
	if err != nil {
		return nil
	}
	if !bytes.Equal(text, j.text) {
		j.text = text
	}
	return j.markRunning()
}

// leaveBranch puts the checkout back to where the user was. Everything of the
// run is committed.
func (j *job) leaveBranch(ctx context.Context) error {
	to := j.stage.Git.ReturnTo
	if _, ok, err := j.repo.BranchTip(ctx, to); err != nil || !ok && to != j.stage.Git.BaseCommit || to == "" {
		return err
	}
	ws, err := j.repo.InPlace(ctx)
	if err != nil || ws.Branch() != j.stage.Git.WorkBranch {
		return err // the user is elsewhere already
	}
	if err := j.held(); err != nil {
		return err
	}
	return ws.Switch(ctx, to)
}

// clearWorkspace returns the workspace to the step's start. In the user's checkout only the work itself is taken back.
func (j *job) clearWorkspace(ctx context.Context) error {
	if err := j.held(); err != nil {
		return err
	}
	if j.inPlace() {
		return j.ws.TakeBack(ctx, "HEAD")
	}
	return j.ws.ResetTo(ctx, "HEAD", j.keep())
}

// namedDirty is how many uncommitted files are named before they are counted.
const namedDirty = 3

// dirtyAhead begins to look for changes in the user's checkout that nobody
// committed. Nothing of the run is in it yet.
func (j *job) dirtyAhead(ctx context.Context) func() ([]string, error) {
	repo := j.repo
	changes := ahead(func() ([]gitops.Change, error) { return repo.Dirty(ctx) })
	return func() ([]string, error) {
		found, err := changes()
		if err != nil {
			return nil, err
		}
		return j.dirty(ctx, found)
	}
}

// refuseDirty is for work in place and for git.require_clean_worktree.
func (j *job) refuseDirty(dirty []string, err error) error {
	if err != nil || len(dirty) == 0 {
		return err
	}
	return fault.New(fault.WorktreeDirty, "path", dirty[0], "count", len(dirty), "request_id", j.req.ID)
}

// warnDirty says what the run will not see. A git that cannot say stops nobody.
func (j *job) warnDirty(dirty []string, err error) {
	if err != nil || len(dirty) == 0 {
		return
	}
	facts := fault.Facts{"path": strings.Join(dirty[:min(len(dirty), namedDirty)], ", ")}
	if len(dirty) > namedDirty {
		facts["count"] = strconv.Itoa(len(dirty))
	}
	j.tell(Event{Kind: Warned, Count: len(dirty), What: j.Words.Text("work.note_dirty", facts)})
}

// strict: a checkout with changes is refused. Elsewhere the tool's own files,
// which a run reads from the checkout, are not worth a word.
func (j *job) strict() bool { return j.inPlace() || j.Project.Config.Git.RequireCleanWorktree }

// dirty lists what git status lists, without what is the toolkit's own:
// records and locks, new requests, and values in requests that tools own.
func (j *job) dirty(ctx context.Context, changes []gitops.Change) ([]string, error) {
	j.outside = append([]gitops.Change{}, changes...)
	var found, requests []string
	for _, c := range changes {
		switch {
		case j.ownFile(c.Path), !j.strict() && (within(c.Path, ".aiflow") || c.Path == j.req.Path):
		case !within(c.Path, j.Project.RequestsDir()):
			found = append(found, c.Path)
		case c.Status != gitops.Untracked:
			requests = append(requests, c.Path)
		}
	}
	owned, err := j.Project.OwnedOnly(ctx, requests)
	if err != nil {
		return nil, err
	}
	for _, p := range requests {
		if !owned[p] {
			found = append(found, p)
		}
	}
	return found, nil
}

func (j *job) ownFile(path string) bool {
	p := j.Project.Config.Paths
	for _, dir := range []string{p.RunsDir, p.LocksDir, p.CacheDir, j.Project.WorktreesDir(), ".aiflow/project"} {
		if within(path, dir) {
			return true
		}
	}
	return false
}

// within reports whether a path is a folder or in it. git names a new folder
// with a slash at the end.
func within(path, dir string) bool {
	path = strings.TrimSuffix(path, "/")
	return path == dir || strings.HasPrefix(path, dir+"/")
}
