package app

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/atomicfile"
	"aiflow/internal/proc"
	"aiflow/project"
)

// calledFrom is where the person types who started us in dir. The Makefile of this
// repository says so in AIFLOW_CALLED_FROM, since it works on another one.
func calledFrom(s *cli.Shell, dir string) string {
	return atomicfile.RealPath(cmp.Or(s.Getenv("AIFLOW_CALLED_FROM"), dir))
}

// Here is a path of the project as that shell takes it.
func Here(s *cli.Shell, p *project.Project, path string) string {
	if path == "" {
		return ""
	}
	return From(s, p.Env.Dir, p.Path(path))
}

// From is an absolute path as a shell takes it that stands in dir, or where
// AIFLOW_CALLED_FROM says.
func From(s *cli.Shell, dir, path string) string {
	rel, err := filepath.Rel(calledFrom(s, dir), path)
	if err != nil {
		return path
	}
	return rel
}

// Beside finds the program that was installed with this one, else the one in PATH; ""
// is none.
func Beside(name string) string {
	if self, err := os.Executable(); err == nil {
		at := filepath.Join(filepath.Dir(atomicfile.RealPath(self)), name)
		if fi, err := os.Stat(at); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return at
		}
	}
	at, _ := exec.LookPath(name)
	return at
}

// Lasting is the name of aiflow-hook in PATH where that leads to own, because it
// survives an upgrade, and own where it does not. Hooks are installed with that name.
func Lasting(own string) string {
	found, err := exec.LookPath("aiflow-hook")
	if err != nil || !filepath.IsAbs(found) || atomicfile.RealPath(found) != atomicfile.RealPath(own) {
		return own
	}
	return found
}

// Merge is the command that takes over a branch: mostly, that merges it into what the main checkout has
// checked out, as that shell takes it: in a linked worktree git alone would
// merge into another branch.
func Merge(s *cli.Shell, p *project.Project, branch string) string {
	return FromHere(s, p, project.MergeCommand(s.Context(), p, branch))
}

// FromHere is the command that takes over a branch as that shell takes it.
func FromHere(s *cli.Shell, p *project.Project, command string) string {
	rest, git := strings.CutPrefix(command, "git ")
	if !git || project.Checkout(calledFrom(s, p.Env.Dir)) == p.Top {
		return command
	}
	return "git -C " + proc.Word(Here(s, p, ".")) + " " + rest
}
