package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/shipped"
	"aiflow/cmd/internal/work"
	"aiflow/hooks"
	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner"
)

// leaver takes a project out of a folder again: what init, hook install and runs
// made there.
type leaver struct {
	shell           *cli.Shell
	p               *project.Project
	dryRun          bool
	requests, force bool
	parts           []runner.Parting
	taken           []string // paths that went or changed
}

func deinitCommand(s *cli.Shell) *urfave.Command {
	l := &leaver{shell: s}
	var discard urfave.StringSlice
	return &urfave.Command{
		Name: "deinit", Usage: "work.deinit_usage", Description: "work.deinit_description",
		UsageText: "aiflow deinit --dry-run\naiflow deinit\naiflow deinit --discard RQ-20251214-001",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "dry-run", Usage: "work.deinit_dry_run", Destination: &l.dryRun},
			&urfave.BoolFlag{Name: "requests", Usage: "work.deinit_requests", Destination: &l.requests},
			&urfave.StringSliceFlag{Name: "discard", Usage: "work.deinit_discard", Destination: &discard},
			&urfave.BoolFlag{Name: "force", Usage: "work.deinit_force", Destination: &l.force},
		},
		Action: func(*urfave.Context) error { return l.run(discard.Value()) },
	}
}

func (l *leaver) run(discard []string) error {
	var err error
	if l.p, err = app.Open(l.shell, nil); err != nil {
		return err
	}
	actions, err := l.hooks()
	if err != nil {
		return err
	}
	r := work.Runner(l.shell, l.p)
	ctx := l.shell.Context()
	err = r.Leave(ctx, runner.LeaveOptions{Discard: discard, DryRun: l.dryRun}, func(parts []runner.Parting) error {
		l.parts = parts
		if err := l.unhook(actions); err != nil {
			return err
		}
		return l.files()
	})
	if err != nil {
		return err
	}
	l.folders()
	return l.print()
}

// hooks plans what becomes of the hooks. What cannot be taken out of a file is
// said before anything is done; a folder of other repositories too stays.
func (l *leaver) hooks() ([]hooks.Action, error) {
	if !l.p.Root.Git {
		return nil, nil
	}
	repo, err := hooks.Look(l.shell.Context(), l.p.Git())
	if err != nil {
		return nil, err
	}
	actions := hooks.PlanRemoval(hooks.Read(repo), hooks.Options{Force: l.force})
	var ours []hooks.Action
	for _, a := range actions {
		if a.Kind != hooks.Refuse || a.Reason != hooks.ReasonShared {
			ours = append(ours, a)
		}
	}
	return actions, hooks.Refused(ours)
}

func (l *leaver) unhook(actions []hooks.Action) error {
	if !l.dryRun {
		if err := hooks.Apply(hooks.OS{}, l.p.Suffix(), actions); err != nil {
			return err
		}
	}
	for _, a := range actions {
		switch {
		case a.Kind == hooks.Refuse:
			l.note("hook", app.Here(l.shell, l.p, a.Path), "stays", "shared")
		case a.Kind != hooks.Keep:
			l.gone("hook", app.Here(l.shell, l.p, a.Path), nil)
		}
	}
	return nil
}

func (l *leaver) note(kind, name, did, why string) {
	l.parts = append(l.parts, runner.Parting{Kind: kind, Name: name, Did: did, Why: why})
}

// gone notes what was taken away, or would be; err is why it is still there.
func (l *leaver) gone(kind, name string, err error) {
	switch {
	case err != nil:
		l.note(kind, name, "failed", err.Error())
	case l.dryRun:
		l.note(kind, name, "would_remove", "")
	default:
		l.note(kind, name, "removed", "")
	}
}

// files takes away those that init wrote and nobody changed, and its entries.
func (l *leaver) files() error {
	c := l.p.Config
	for _, f := range append(shipped.Files(c), shipped.Prompts(c)...) {
		l.file(f.Path, f.Is)
	}
	l.file(config.File, shipped.IsConfig)
	if l.requests {
		if err := l.requestFiles(); err != nil {
			return err
		}
	}
	return l.ignore(".gitignore")
}

func (l *leaver) file(rel string, ours func(text []byte) bool) {
	at := l.p.Path(rel)
	fi, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	text, err := os.ReadFile(at)
	if !l.force && (err != nil || !fi.Mode().IsRegular() || !ours(text)) {
		l.note("file", rel, "stays", "changed")
		return
	}
	l.remove("file", rel, os.Remove)
}

func (l *leaver) remove(kind, rel string, how func(string) error) {
	l.taken = append(l.taken, rel)
	var err error
	if !l.dryRun {
		err = how(l.p.Path(rel))
	}
	l.gone(kind, rel, err)
}

func (l *leaver) requestFiles() error {
	s, err := l.p.Look(l.shell.Context())
	if fault.Has(err, fault.RequestsDirNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range s.Folder.Requests {
		l.remove("file", r.Path, os.Remove)
	}
	return nil
}

// ignore takes our entries out, but for those of what stays.
func (l *leaver) ignore(rel string) error {
	old, err := os.ReadFile(l.p.Path(rel))
	if err != nil {
		return nil
	}
	var keep []string
	for _, p := range l.parts {
		if p.Kind == "record" && p.Did == "stays" {
			keep = append(keep, l.p.RunsDir()+"/")
		}
		if p.Kind == "workspace" && p.Did == "failed" {
			keep = append(keep, l.p.RunsDir()+"/", l.p.WorktreesDir()+"/")
		}
	}
	text, entries := shipped.WithoutIgnored(string(old), shipped.Ignored(l.p.Dir, l.p.Config, true), keep)
	if len(entries) == 0 {
		return nil
	}
	l.taken = append(l.taken, rel)
	if !l.dryRun {
		if err = l.rewrite(rel, text); err != nil {
			return fault.Wrap(err, fault.PathNotWritable, "path", rel)
		}
	}
	l.gone("entry", rel+": "+strings.Join(entries, " "), nil)
	return nil
}

// rewrite leaves no file where there is no more text. One that git knows without
// a line end at its end has none again.
func (l *leaver) rewrite(rel, text string) error {
	at := l.p.Path(rel)
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	if text == "" {
		return os.Remove(at)
	}
	if before, err := l.p.Git().Ask(l.shell.Context(), "cat-file", "--filters", "HEAD:./"+rel); err == nil && strings.TrimRight(text, "\r\n") == string(before) {
		text = string(before)
	}
	return atomicfile.Write(atomicfile.OS{}, at, []byte(text), atomicfile.Options{TempSuffix: l.p.Suffix()})
}

// folders takes away those of ours alone, and those that are empty now. The locks
// are the last: nobody may begin before.
func (l *leaver) folders() {
	c := l.p.Config.Paths
	for _, rel := range []string{c.CacheDir, ".aiflow/project", c.LocksDir} {
		if _, err := os.Lstat(l.p.Path(rel)); err != nil {
			continue
		}
		if !strings.HasPrefix(rel, ".aiflow/") && l.p.Bare == "" {
			l.note("folder", rel, "stays", "elsewhere")
			continue
		}
		l.remove("folder", rel+"/", os.RemoveAll)
	}
	for _, rel := range []string{c.RequestsDir, c.PromptsDir, c.RunsDir, l.p.WorktreesDir(), ".aiflow"} {
		if l.dryRun || os.Remove(l.p.Path(rel)) != nil {
			continue
		}
		l.gone("folder", path.Clean(rel)+"/", nil)
	}
}

// taken is what deinit prints as JSON.
type taken struct {
	OK     bool             `json:"ok"`
	DryRun bool             `json:"dry_run"`
	Root   string           `json:"root"`
	Items  []runner.Parting `json:"items"`
	Next   []string         `json:"next"`
}

func (l *leaver) print() error {
	failed := l.failed()
	next := l.next()
	if l.shell.JSON {
		if err := l.shell.PrintJSON(taken{failed == nil, l.dryRun, l.p.Dir, append([]runner.Parting{}, l.parts...), next}); err != nil {
			return err
		}
		return cli.Reported(failed)
	}
	for _, p := range l.parts {
		l.shell.Printf("%s\n", l.line(p))
	}
	if len(l.parts) == 0 {
		l.shell.Printf("%s\n", l.shell.Text("work.deinit_nothing"))
	}
	for _, n := range next {
		l.shell.Printf("\n%s\n", n)
	}
	return failed
}

// next says how to commit that it is gone, where git knew some of it.
func (l *leaver) next() []string {
	if len(l.taken) == 0 || l.dryRun || !l.p.Root.Git {
		return []string{}
	}
	out, err := l.p.Git().Ask(l.shell.Context(), append([]string{"ls-files", "-z", "-d", "-m", "--"}, l.taken...)...)
	if err != nil || len(out) == 0 {
		return []string{}
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(words)
	words = slices.Compact(words)
	for i := range words {
		words[i] = proc.Word(words[i])
	}
	return []string{l.shell.Text("work.deinit_commit", "paths", strings.Join(words, " "))}
}

// failed is why the first that should have gone is still there.
func (l *leaver) failed() error {
	for _, p := range l.parts {
		switch {
		case p.Did != "failed":
			continue
		case p.Kind == "file" || p.Kind == "folder":
			return fault.New(fault.PathNotWritable, "path", p.Name, "cause", p.Why)
		}
		return fault.New(fault.WorkspaceFailed, "path", p.Name, "cause", p.Why)
	}
	return nil
}

func (l *leaver) line(p runner.Parting) string {
	line := term.Pad(l.shell.Text("work.deinit_"+p.Did), 14) + term.Escape(p.Name)
	name := p.RequestID
	if name == "" {
		name = p.RunID
	}
	switch {
	case p.Why == "":
		return line
	case p.Did == "failed":
		return line + ": " + p.Why
	}
	return line + l.shell.Text("work.deinit_why_"+p.Why, "commit", short(p.Commit), "name", name)
}
