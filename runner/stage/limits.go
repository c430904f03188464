package stage

import (
	"path"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// checkLimits holds a step to its size and to where it may write.
func checkLimits(run *Run, i int, changes gitops.ChangeSet) error {
	s, p := &run.Stage.Steps[i], &run.Plan.Steps[i]
	lines, files := changes.Added+changes.Deleted, len(changes.Files)
	s.DiffStat = runs.DiffStat{FilesChanged: files, LinesAdded: changes.Added, LinesDeleted: changes.Deleted}
	paths := changedPaths(changes)
	if name, glob := forbidden(run.forbiddenPaths(p), paths); name != "" {
		return offLimits(name, "forbidden", "forbidden", glob)
	}
	if name := outside(p.Scope.TargetPaths, paths); name != "" {
		return offLimits(name, "not_a_target", "targets", p.Scope.TargetPaths...)
	}
	if name := untouched(run.Request.Meta.Touches, paths); name != "" {
		return offLimits(name, "not_touched", "touches", run.Request.Meta.Touches...)
	}
	maxLines, maxFiles := run.sizeLimits(p)
	if lines > maxLines || files > maxFiles {
		s.DiffStat.TooLarge = true
		e := fault.New(fault.StepTooLarge, "lines", lines, "max_lines", maxLines, "files", files, "max_files", maxFiles)
		if limits := run.Project.Config.Limits; lines <= limits.MaxDiffLines && files <= limits.MaxFiles {
			e.Facts["planned"] = "true" // only another plan has another limit
		}
		return e
	}
	return nil
}

func offLimits(path, reason, which string, globs ...string) error {
	allowed := strings.Join(globs, ", ")
	return fault.New(fault.ForbiddenPathTouched, "path", path, "allowed", allowed, "reason", reason, which, allowed)
}

// sizeLimits are the configured limits, or a planner's where those are lower. The figures
// of any other plan are nobody's choice.
func (run *Run) sizeLimits(p *runs.PlanStep) (lines, files int) {
	limits := run.Project.Config.Limits
	lines, files = limits.MaxDiffLines, limits.MaxFiles
	if run.Plan != nil && run.Plan.Source == runs.SourcePlanner {
		if n := p.Scope.MaxDiffLines; n > 0 {
			lines = min(lines, n)
		}
		if n := p.Scope.MaxFilesChanged; n > 0 {
			files = min(files, n)
		}
	}
	return lines, files
}

// forbiddenPaths are those of the configuration and, if any, of the step.
func (run *Run) forbiddenPaths(p *runs.PlanStep) []string {
	all := append([]string{}, run.Project.Config.Limits.ForbiddenPaths...)
	if p == nil {
		return all
	}
	for _, glob := range p.Scope.ForbiddenPaths {
		all = appendOnce(all, glob)
	}
	return all
}

// forbidden gives the first of paths that a glob forbids, and that glob. A glob of
// what git, we or agents read forbids every case of its letters: where a file
// system makes no difference, here or in a clone, they read it all the same.
func forbidden(globs, paths []string) (name, glob string) {
	for _, p := range paths {
		for _, g := range globs {
			if reqmeta.MatchPath(g, p) || config.IsCommandFile(g) && reqmeta.MatchPath(strings.ToLower(g), strings.ToLower(p)) {
				return p, g
			}
		}
	}
	return "", ""
}

// outside gives the first path that is none of the targets, in none of them as
// a folder, and matches none as a glob. No targets allow everything.
func outside(targets, paths []string) string {
	if len(targets) == 0 {
		return ""
	}
	for _, p := range paths {
		if !isTarget(targets, p) {
			return p
		}
	}
	return ""
}

// untouched gives the first path that the request does not say it touches.
func untouched(touches, paths []string) string {
	for _, p := range paths {
		if len(touches) > 0 && !reqmeta.Covers(touches, p) {
			return p
		}
	}
	return ""
}

func isTarget(targets []string, name string) bool {
	for _, t := range targets {
		t = path.Clean(t)
		if t == "." || t == name || strings.HasPrefix(name, t+"/") || reqmeta.MatchPath(t, name) {
			return true
		}
	}
	return false
}

func changedPaths(changes gitops.ChangeSet) []string {
	var paths []string
	for _, f := range changes.Files {
		paths = append(paths, f.Path)
		if f.OldPath != "" {
			paths = append(paths, f.OldPath)
		}
	}
	return paths
}
