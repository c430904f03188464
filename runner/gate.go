package runner

import (
	"path"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// checkLimits holds a step to its size and to where it may write.
func (j *job) checkLimits(i int, changes gitops.ChangeSet) error {
	s, p := &j.stage.Steps[i], &j.plan.Steps[i]
	lines, files := changes.Added+changes.Deleted, len(changes.Files)
	s.DiffStat = runs.DiffStat{FilesChanged: files, LinesAdded: changes.Added, LinesDeleted: changes.Deleted}
	paths := changedPaths(changes)
	if name, glob := forbidden(j.forbiddenPaths(p), paths); name != "" {
		return fault.New(fault.ForbiddenPathTouched, "path", name, "allowed", glob, "reason", "forbidden")
	}
	if name := outside(p.Scope.TargetPaths, paths); name != "" {
		return fault.New(fault.ForbiddenPathTouched, "path", name, "allowed", strings.Join(p.Scope.TargetPaths, ", "), "reason", "not_a_target")
	}
	maxLines, maxFiles := j.linesAllowed(p), j.filesAllowed(p)
	if lines > maxLines || files > maxFiles {
		s.DiffStat.TooLarge = true
		e := fault.New(fault.StepTooLarge, "lines", lines, "max_lines", maxLines, "files", files, "max_files", maxFiles)
		if limits := j.Project.Config.Limits; lines <= limits.MaxDiffLines && files <= limits.MaxFiles {
			e.Facts["planned"] = "true" // only another plan has another limit
		}
		return e
	}
	return nil
}

// linesAllowed is the configured limit, or the planner's where that is lower.
func (j *job) linesAllowed(p *runs.PlanStep) int {
	return j.lower(p, j.Project.Config.Limits.MaxDiffLines, p.Scope.MaxDiffLines)
}

func (j *job) filesAllowed(p *runs.PlanStep) int {
	return j.lower(p, j.Project.Config.Limits.MaxFiles, p.Scope.MaxFilesChanged)
}

// lower takes the figures of a plan seriously only when somebody chose them.
func (j *job) lower(p *runs.PlanStep, configured, planned int) int {
	if j.plan == nil || j.plan.Source != runs.SourcePlanner || planned <= 0 {
		return configured
	}
	return min(configured, planned)
}

// forbiddenPaths are those of the configuration and, if any, of the step.
func (j *job) forbiddenPaths(p *runs.PlanStep) []string {
	all := append([]string{}, j.Project.Config.Limits.ForbiddenPaths...)
	if p == nil {
		return all
	}
	for _, glob := range p.Scope.ForbiddenPaths {
		all = appendOnce(all, glob)
	}
	return all
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

// gates are the report's lines about limits and rules; those about tests and
// the review are in the record itself.
func (j *job) gates() []runs.Gate {
	var rows []runs.Gate
	for i := range j.stage.Steps {
		if s := &j.stage.Steps[i]; j.plan != nil && i < len(j.plan.Steps) {
			rows = append(rows, j.stepGates(s, &j.plan.Steps[i])...)
		}
	}
	return rows
}

func (j *job) stepGates(s *runs.Step, p *runs.PlanStep) []runs.Gate {
	var rows []runs.Gate
	for _, g := range []struct {
		name string
		code fault.Code
		note string
	}{
		{j.Words.Text("work.gate_size", nil), fault.StepTooLarge, j.sizeNote(s, p)},
		{j.Words.Text("work.gate_paths", nil), fault.ForbiddenPathTouched, ""},
		{j.Words.Text("work.gate_commands", nil), fault.GHDependencyDetected, ""},
	} {
		row := runs.Gate{Name: s.StepID + " " + g.name, Status: runs.TestPass, Note: g.note}
		switch {
		case s.Error != nil && s.Error.ReasonCode == g.code:
			row.Status, row.Note = runs.TestFail, s.Error.Message
		case !s.Status.Settled():
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

func (j *job) sizeNote(s *runs.Step, p *runs.PlanStep) string {
	d := s.DiffStat
	return j.Words.Text("work.gate_size_note", fault.New("", "lines", d.LinesAdded+d.LinesDeleted, "max_lines", j.linesAllowed(p),
		"files", d.FilesChanged, "max_files", j.filesAllowed(p)).Facts)
}
