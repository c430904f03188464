package stage

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// maxNamed is how many files are named before they are counted.
const maxNamed = 3

// lookForDirty begins to look for changes in the user's checkout that nobody
// committed. Nothing of the run is in it yet.
func lookForDirty(ctx context.Context, run *Run) func() ([]string, error) {
	repo := run.Repo
	changes := Background(func() ([]gitops.Change, error) { return repo.Dirty(ctx) })
	return func() ([]string, error) {
		found, err := changes()
		if err != nil {
			return nil, err
		}
		run.uncommitted = append([]gitops.Change{}, found...)
		names, err := dirty(ctx, run, found)
		if err != nil || !slices.ContainsFunc(names, func(n string) bool { return within(n, run.Project.RequestsDir()) }) {
			return names, err
		}
		// The run of another request may have ended between two looks at its file.
		if found, err = repo.Dirty(ctx); err != nil {
			return names, nil
		}
		still, err := dirty(ctx, run, found)
		return slices.DeleteFunc(names, func(n string) bool { return err == nil && !slices.Contains(still, n) }), nil
	}
}

// refuseDirty is for work in place and for git.require_clean_worktree. What a run that
// stopped in the checkout left there is told as that.
func refuseDirty(ctx context.Context, run *Run, look func() ([]string, error)) error {
	dirty, err := look()
	if err != nil || len(dirty) == 0 {
		return err
	}
	f := fault.New(fault.WorktreeDirty, "path", dirty[0], "count", len(dirty), "request_id", run.Request.ID)
	if h, err := run.Repo.Head(ctx); err == nil && run.InPlace() {
		if st := project.RunOf(run.Project, h.Branch); st != nil && st.State != runs.Done && st.DroppedAt == nil {
			f.Facts["stopped"] = st.RunID
		}
	}
	return f
}

// Named are the facts of a list of files of which the first are named, in the fact key.
func Named(key string, files []string) fault.Facts {
	facts := fault.Facts{key: strings.Join(files[:min(len(files), maxNamed)], ", ")}
	if len(files) > maxNamed {
		facts["count"] = strconv.Itoa(len(files))
	}
	return facts
}

// warnDirty says what the run will not see. A git that cannot say stops nobody.
func warnDirty(run *Run, look func() ([]string, error)) {
	dirty, err := look()
	if err != nil || len(dirty) == 0 {
		return
	}
	run.Tell(Event{Kind: Warned, Count: len(dirty), What: run.Words.Text("work.note_dirty", Named("path", dirty))})
}

// strict: a checkout with changes is refused. Elsewhere the tool's own files,
// which a run reads from the checkout, are not worth a word.
func (run *Run) strict() bool { return run.InPlace() || run.Project.Config.Git.RequireCleanWorktree }

// dirty lists what git status lists, without what is the toolkit's own:
// records and locks, new requests, and values in requests that tools own.
func dirty(ctx context.Context, run *Run, changes []gitops.Change) ([]string, error) {
	paths := run.Project.Config.Paths
	own := []string{paths.RunsDir, paths.LocksDir, paths.CacheDir, run.Project.WorktreesDir(), ".aiflow/project"}
	var found, requests []string
	for _, c := range changes {
		switch {
		case slices.ContainsFunc(own, func(dir string) bool { return within(c.Path, dir) }), !run.strict() && (within(c.Path, ".aiflow") || c.Path == run.Request.Path):
		case !within(c.Path, run.Project.RequestsDir()):
			found = append(found, c.Path)
		case c.Status != gitops.Untracked:
			requests = append(requests, c.Path)
		}
	}
	owned, err := run.Project.OwnedOnly(ctx, requests)
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

// within reports whether a path is a folder or in it. git names a new folder
// with a slash at the end.
func within(path, dir string) bool {
	path = strings.TrimSuffix(path, "/")
	return path == dir || strings.HasPrefix(path, dir+"/")
}
