package gate

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
	"aiflow/reqmeta"
)

// merging reports whether the commit ends a merge.
func (o Options) merging() bool {
	if o.Place.GitDir == "" || o.From != "" {
		return false
	}
	_, err := os.Stat(filepath.Join(o.Place.GitDir, "MERGE_HEAD"))
	return err == nil
}

// reopened warns of requests that what is merged has done and that the commit
// leaves open, as when a conflict in the status lines is settled with "ours":
// the work would be offered again. One that was reopened on purpose, when it
// had been done on both sides, is nobody's surprise.
func (j *judgement) reopened(ctx context.Context) error {
	if !j.o.merging() {
		return nil
	}
	changes, err := j.o.changes(ctx, []string{j.o.RequestsDir}, "--cached", "MERGE_HEAD")
	if err != nil {
		return err
	}
	files, err := j.o.pairs(ctx, changes, j.o.isRequest)
	if err != nil {
		return err
	}
	base := ""
	for _, f := range files {
		if f.old == nil || f.new == nil || f.old.Meta.Status != reqmeta.Done || f.new.SaysOver() {
			continue
		}
		if base == "" {
			out, _ := j.o.Git.AskStaged(ctx, "merge-base", "HEAD", "MERGE_HEAD")
			base = strings.TrimSpace(string(out)) + ":"
		}
		before, err := j.o.Git.AskStaged(ctx, "cat-file", "blob", base+f.path)
		if err == nil && j.o.Mapping.Parse(f.path, before).Meta.Status == reqmeta.Done {
			continue
		}
		j.add(reqmeta.LevelWarning, fault.InvalidRequest, "hook.check_reopened", f.path, j.o.Mapping.LineOf(f.data, "status", ""),
			"id", f.new.ID, "status", f.new.Meta.Status)
	}
	return nil
}
