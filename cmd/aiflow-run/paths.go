package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"aiflow/cmd/internal/door"
	"aiflow/project"
)

// calledFrom is where the person types. The Makefile of this repository says so
// in AIFLOW_CALLED_FROM, since it works on another one.
func calledFrom(s *door.Shell, p *project.Project) string {
	dir := cmp.Or(s.Getenv("AIFLOW_CALLED_FROM"), p.Env.Dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// here is a path of the project as that shell takes it.
func here(s *door.Shell, p *project.Project, path string) string {
	if path == "" {
		return ""
	}
	rel, err := filepath.Rel(calledFrom(s, p), p.Path(path))
	if err != nil {
		return p.Path(path)
	}
	return rel
}

// gitAt is how git is called on the project from there.
func gitAt(s *door.Shell, p *project.Project) string {
	if s.Getenv("AIFLOW_CALLED_FROM") == "" {
		return "git"
	}
	rel := here(s, p, ".")
	if filepath.IsAbs(rel) || rel == "." || strings.ContainsAny(rel, " '\"\\$`") {
		return "git"
	}
	return "git -C " + rel
}
