package stage

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// setConfigAside takes out of the workspace what configures agents and git ignores, before
// an AI command is started: it is in no change that a gate sees, and the command
// would start what it names. What the set-up made or the configuration links stays,
// and in the checkout itself everything: that is the person's own.
func setConfigAside(ctx context.Context, run *Run) error {
	if run.InPlace() || run.Workspace == nil {
		return nil
	}
	globs := slices.DeleteFunc(run.forbiddenPaths(nil), func(g string) bool { return !config.IsCommandFile(g) })
	top := run.Workspace.Path()
	var there []string
	for _, dir := range slices.Compact([]string{top, run.workDir()}) { // a project may be a folder of its repository
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // the command itself will say so
		}
		below, err := filepath.Rel(top, dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if slices.ContainsFunc(globs, func(g string) bool {
				first, _, _ := strings.Cut(strings.TrimPrefix(g, "**/"), "/")
				return strings.EqualFold(first, e.Name())
			}) {
				there = append(there, filepath.ToSlash(filepath.Join(below, e.Name())))
			}
		}
	}
	if len(there) == 0 {
		return nil
	}
	ignored, err := run.Workspace.IgnoredIn(ctx, there...)
	if err != nil {
		return err
	}
	wanted := slices.Clone(run.Stage.Git.Made)
	for _, link := range run.Project.Config.Workspace.Link {
		wanted = append(wanted, path.Join(filepath.ToSlash(run.Project.Inside()), link))
	}
	if err := run.MayWrite(); err != nil {
		return err
	}
	for _, name := range ignored {
		made := slices.ContainsFunc(wanted, func(m string) bool { return name == m || strings.HasPrefix(name, m+"/") })
		if bad, _ := forbidden(globs, []string{name}); bad == "" || made {
			continue
		}
		kept := path.Join(runs.KeptDir, name)
		to := filepath.Join(run.Dir.Path, filepath.FromSlash(kept))
		for _, err := os.Lstat(to); err == nil; _, err = os.Lstat(to) { // of an earlier step
			kept, to = kept+"~", to+"~"
		}
		if err := gitops.MoveAside(filepath.Join(top, filepath.FromSlash(name)), to); err != nil {
			return notWritable(err, name)
		}
		run.Tell(Event{Kind: Noted, What: run.Words.Text("work.put_aside", fault.Facts{"path": name, "kept": run.Dir.RelPath(kept)})})
	}
	return nil
}
