package runner

import (
	"context"
	"path"
	"path/filepath"

	"aiflow/gitops"
	"aiflow/runs"
)

// maxGone is how many ignored paths that went are recorded one by one.
const maxGone = 20

// keep says what becomes of what is in the workspace and in no commit, when the
// workspace goes or is put back: it is kept with the run, and named.
func (j *job) keep() gitops.Keep {
	m := gitops.CommitMessage{
		Subject:  "aiflow(" + j.stage.RequestID + "): what was left in the workspace",
		Trailers: j.trailers(),
	}
	return gitops.Keep{
		Ref: attemptsOf(j.stage.RunID) + "/left", Message: m,
		Dir: filepath.Join(j.dir.Path, runs.KeptDir), Ignored: j.Project.Config.Workspace.KeepIgnored(), Made: j.stage.Git.Made,
		Before: func(k gitops.Kept) error { return j.noteKept(k, runs.LeftChanges) },
	}
}

// keepOrphan is keep for the workspace of a run that is not on record.
func (j *job) keepOrphan() gitops.Keep {
	k := j.keep()
	k.Ref, k.Made = orphans+"/"+j.stage.RequestID, nil
	k.Before = func(k gitops.Kept) error { return j.noteKept(k, runs.LeftOrphan) }
	return k
}

// orphans is where the content of workspaces is kept whose run is not on record.
const orphans = "refs/aiflow/attempts/orphan"

// attemptsOf is where the attempts of a run are kept.
func attemptsOf(runID string) string { return "refs/aiflow/attempts/" + runID }

// noteKept records and tells what is kept and what goes, before it goes.
func (j *job) noteKept(k gitops.Kept, changes runs.LeftKind) error {
	var left []runs.Left
	if k.Ref != "" {
		left = append(left, runs.Left{Kind: changes, Kept: k.Ref, Files: len(k.Changed)})
	}
	for _, i := range k.Nested {
		left = append(left, runs.Left{Kind: runs.LeftRepository, Path: i.Path, Kept: j.dir.RelPath(path.Join(runs.KeptDir, i.Path)), Files: i.Files, Bytes: i.Bytes})
	}
	if all := summedItems(k.Ignored); all.Files > 0 {
		left = append(left, runs.Left{Kind: runs.LeftIgnored, Kept: j.dir.RelPath(runs.KeptDir), Files: all.Files, Bytes: all.Bytes})
	}
	gone := k.Gone[:min(len(k.Gone), maxGone)]
	if rest := summedItems(k.Gone[len(gone):]); rest.Files > 0 {
		gone = append(gone, rest)
	}
	for _, i := range gone {
		left = append(left, runs.Left{Kind: runs.LeftGone, Path: i.Path, Files: i.Files, Bytes: i.Bytes})
	}
	for _, l := range left {
		j.stage.NoteLeft(l)
		j.tell(Event{Kind: Noted, What: j.Words.Text(l.Key(), l.Facts())})
	}
	if err := j.save(); err != nil {
		return err
	}
	return j.saveReport()
}

func summedItems(items []gitops.Item) gitops.Item {
	var all gitops.Item
	for _, i := range items {
		all.Files += i.Files
		all.Bytes += i.Bytes
	}
	return all
}

// leaveAhead begins to look what is in the workspace that git does not hold.
func (j *job) leaveAhead(ctx context.Context) func() (*gitops.Leaving, error) {
	if j.inPlace() {
		return func() (*gitops.Leaving, error) { return nil, nil }
	}
	repo, path := j.repo, j.workspacePath()
	return ahead(func() (*gitops.Leaving, error) { return repo.Leave(ctx, path) })
}
