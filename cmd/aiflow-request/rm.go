package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// loss is what would be missed if a request went.
type loss struct {
	Kind  string `json:"kind"`  // needed, unmerged, uncommitted
	Value string `json:"value"` // ids, the run and its branch, the file
}

type removed struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Lost []loss `json:"lost"`
}

// remove deletes the files of requests, of all that are named or of none: what
// runs is left alone, and what would be missed goes only when that is asked for.
func remove(s *cli.Shell, names []string, force bool) error {
	v, err := open(s)
	if err != nil {
		return err
	}
	var gone []*reqmeta.Request
	for _, name := range names {
		r, err := app.Find(v.p, v.survey.Folder, name)
		if err != nil {
			return err
		}
		if err := v.refuseRunning(r.ID); err != nil {
			return err
		}
		if !slices.Contains(gone, r) {
			gone = append(gone, r)
		}
	}
	list := make([]removed, len(gone))
	for i, r := range gone {
		lost, err := v.losses(r, gone)
		if err != nil {
			return err
		}
		list[i] = removed{r.ID, r.Path, lost}
		if len(lost) > 0 && !force {
			var words []string
			for _, l := range lost {
				words = append(words, v.Text("request.rm_"+l.Kind, "value", l.Value))
			}
			return fault.New(fault.RequestNeeded, "id", proc.Word(r.ID), "path", r.Path, "cause", strings.Join(words, "; "))
		}
	}
	for i, r := range gone {
		if err := v.remove(r); err != nil {
			return err
		}
		if v.JSON {
			continue
		}
		v.line(v.Text("request.rm_done", "id", r.ID, "path", r.Path))
		for _, l := range list[i].Lost {
			v.line("  " + v.Text("request.rm_"+l.Kind, "value", l.Value))
		}
	}
	if v.JSON {
		return v.PrintJSON(cli.Items(list))
	}
	return nil
}

// losses are who waits for r, what a run of it made that is merged nowhere, and a
// text that git does not have.
func (v *view) losses(r *reqmeta.Request, gone []*reqmeta.Request) ([]loss, error) {
	list := []loss{}
	var needing []string
	for _, other := range v.survey.Folder.Requests {
		if !other.SaysOver() && !slices.Contains(gone, other) && slices.Contains(other.Meta.DependsOn, r.ID) {
			needing = append(needing, other.ID)
		}
	}
	if len(needing) > 0 {
		list = append(list, loss{"needed", reqmeta.Join(needing)})
	}
	if st := v.survey.Latest(r.ID); st != nil && st.DroppedAt == nil {
		standing, err := v.p.Standing(v.Context(), []*runs.Stage{st})
		if err != nil {
			return nil, err
		}
		if st.State != runs.Done || standing.AwaitsMerge(st) {
			list = append(list, loss{"unmerged", st.RunID + " (" + st.Git.WorkBranch + ")"})
		}
	}
	stored, err := project.Stored(v.Context(), v.p, r.Path)
	if err != nil {
		return nil, err
	}
	if !stored[r.Path] {
		list = append(list, loss{"uncommitted", r.Path})
	}
	return list, nil
}

// remove deletes one file while no run can begin.
func (v *view) remove(r *reqmeta.Request) error {
	release, err := v.claim(r.ID)
	if err != nil {
		return err
	}
	defer release()
	path := v.p.Path(r.Path)
	if err := os.Remove(path); err != nil {
		return fault.NotWritable(err, r.Path)
	}
	return v.p.Env.Disk.SyncDir(filepath.Dir(path))
}
