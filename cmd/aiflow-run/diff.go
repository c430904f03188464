package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/desk"
	"aiflow/cmd/internal/door"
	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runs"
)

func diffCommand(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "work.diff_usage", ArgsUsage: "[RUN]",
		Action: func(c *cli.Context) error { return diff(s, c.Args().First()) },
	}
}

// diff shows what a run changed against its base.
func diff(s *door.Shell, arg string) error {
	p, err := desk.Open(s, nil)
	if err != nil {
		return err
	}
	st, _, err := pick(p, arg)
	if err != nil {
		return err
	}
	d, err := diffOf(s.Context(), p, st)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(d)
	}
	printDiff(s, d)
	return nil
}

func diffOf(ctx context.Context, p *project.Project, st *runs.Stage) (gitops.Diff, error) {
	repo, err := gitops.Open(ctx, p.Git(), p.Dir)
	if err != nil {
		return gitops.Diff{}, err
	}
	head := st.Git.BaseCommit
	if n := len(st.Git.Commits); n > 0 {
		head = st.Git.Commits[n-1].Hash
	}
	if head == "" {
		return gitops.Diff{}, fault.New(fault.RunNotFound, "run_id", st.RunID)
	}
	return repo.Diff(ctx, st.Git.BaseCommit, head, gitops.DiffOptions{})
}

func printDiff(s *door.Shell, d gitops.Diff) {
	s.Printf("%s\n", s.Text("work.diff_stat", "base", short(d.Base), "head", short(d.Head),
		"files", d.Stat.Files, "added", d.Stat.Additions, "deleted", d.Stat.Deletions))
	for _, f := range d.Files {
		s.Printf("%s\n", s.Paint(term.Bold, fileTitle(f)))
		for _, h := range f.Hunks {
			printHunk(s, h)
		}
	}
	if d.Truncated {
		s.Printf("%s\n", s.Text("work.diff_truncated"))
	}
}

func fileTitle(f gitops.FileDiff) string {
	name := term.Escape(f.Path)
	if f.OldPath != "" {
		name = term.Escape(f.OldPath) + " -> " + name
	}
	return fmt.Sprintf("%s %s +%d -%d", f.Status, name, f.Additions, f.Deletions)
}

func printHunk(s *door.Shell, h gitops.Hunk) {
	s.Printf("%s\n", s.Paint(term.Cyan, fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)))
	for _, l := range h.Lines {
		text := l.Op + term.Escape(trimEOL(l.Text))
		switch l.Op {
		case "+":
			text = s.Paint(term.Green, text)
		case "-":
			text = s.Paint(term.Red, text)
		}
		s.Printf("%s\n", text)
	}
}
