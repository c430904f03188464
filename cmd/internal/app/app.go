// Package app opens the project for a program: where the command was started,
// what the environment and the flags say, and what a survey put right, told.
//
// It does not decide anything; package project does.
package app

import (
	"os"
	"slices"

	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/project"
)

// Open finds the project that the command was started in and takes over its
// language. flags are configuration keys from the command line.
func Open(s *cli.Shell, flags map[string]string) (*project.Project, error) {
	env, err := Env(s, flags)
	if err != nil {
		return nil, err
	}
	p, err := project.Open(env)
	if err != nil {
		return nil, err
	}
	s.Adopt(p.Config, p.Warnings)
	return p, nil
}

// Env is what the process gives to a project.
func Env(s *cli.Shell, flags map[string]string) (project.Env, error) {
	dir, err := WorkingDir(s)
	if err != nil {
		return project.Env{}, err
	}
	env := project.SystemEnv(dir, s.Environ(), proc.ClockOf(s.Now, proc.BootClock), os.Getpid())
	env.Flags, env.Config = flags, s.ConfigPath
	if s.Commit != "" {
		env.Build = s.Version + " " + s.Commit
	}
	Watch(&env)
	return env, nil
}

// WorkingDir is the folder that the command was started in. One that was removed, as the
// workspace of a run that ended is, lies in no repository; the project above it is named.
func WorkingDir(s *cli.Shell) (string, error) {
	dir, err := os.Getwd()
	if err == nil {
		return dir, nil
	}
	gone := s.Getenv("PWD")
	f := fault.Wrap(err, fault.GitNotRepo, "path", gone, "gone", gone)
	if root, err := project.FindRoot(gone); err == nil {
		f.Facts["below"] = proc.Word(root.Dir)
	}
	return "", f
}

// AdoptLanguage takes over the project's language and says nothing about its
// configuration, for those who report on that themselves.
func AdoptLanguage(s *cli.Shell, env project.Env) {
	if p, err := project.OpenAnyway(env); p != nil && err == nil {
		s.Adopt(p.Config, nil)
	}
}

// Note is the sentence for what a survey found and put right.
func Note(s *cli.Shell, n project.Note) string {
	key := "next.note_" + string(n.Kind)
	if !n.Written {
		key += "_unwritten"
	}
	cause := ""
	if n.Cause != nil {
		cause = s.Body(n.Cause).Message
	}
	return s.Text(key, "id", n.RequestID, "run_id", n.RunID, "status", n.Status, "branch", n.Branch, "cause", cause)
}

// mostNotes is how many of one kind are told one by one.
const mostNotes = 5

// Notes tells on standard error what a survey found and put right, and what it
// could not find out.
func Notes(s *cli.Shell, survey *project.Survey) {
	told := map[project.NoteKind]int{}
	for i, n := range survey.Notes {
		if told[n.Kind]++; told[n.Kind] <= mostNotes {
			s.Tell(term.Escape(Note(s, n)))
			continue
		}
		more := survey.Notes[i:]
		if slices.ContainsFunc(more[1:], func(m project.Note) bool { return m.Kind == n.Kind }) {
			continue // the last one of the kind tells how many there were
		}
		s.Tell(s.Text("next.notes_more", "count", told[n.Kind]-mostNotes))
	}
	Unsure(s, survey.Unsure)
}

// Unsure warns that what is said of merges may be wrong.
func Unsure(s *cli.Shell, why error) {
	if why != nil {
		s.Warn("next.unsure", fault.Facts{"cause": s.Body(why).Message})
	}
}
