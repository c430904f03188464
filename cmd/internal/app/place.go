package app

import (
	"cmp"
	"path/filepath"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/proc"
	"aiflow/project"
)

// CalledFrom is where the person types. The Makefile of this repository says so
// in AIFLOW_CALLED_FROM, since it works on another one.
func CalledFrom(s *cli.Shell, p *project.Project) string { return calledFrom(s, p.Env.Dir) }

func calledFrom(s *cli.Shell, dir string) string {
	dir = cmp.Or(s.Getenv("AIFLOW_CALLED_FROM"), dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// Here is a path of the project as that shell takes it.
func Here(s *cli.Shell, p *project.Project, path string) string {
	if path == "" {
		return ""
	}
	return From(s, p.Env.Dir, p.Path(path))
}

// From is an absolute path as a shell takes it that stands in dir, or where
// CalledFrom says.
func From(s *cli.Shell, dir, path string) string {
	rel, err := filepath.Rel(calledFrom(s, dir), path)
	if err != nil {
		return path
	}
	return rel
}

// Merge is the command that takes over a branch: mostly, that merges it into what the main checkout has
// checked out, as that shell takes it: in a linked worktree git alone would
// merge into another branch.
func Merge(s *cli.Shell, p *project.Project, branch string) string {
	return FromHere(s, p, project.TakeOver(s.Context(), p, branch), branch)
}

// FromHere is the command that takes over a branch as that shell takes it.
func FromHere(s *cli.Shell, p *project.Project, command, branch string) string {
	if !strings.HasPrefix(command, "git ") || project.Checkout(CalledFrom(s, p)) == p.Top {
		return command
	}
	return "git -C " + proc.Word(Here(s, p, ".")) + " merge " + proc.Word(branch)
}
