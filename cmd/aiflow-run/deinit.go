package main

import (
	"cmp"
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
	"aiflow/project/serving"
	"aiflow/runner"
)

// leaver takes a project out of a folder again: what init, hook install and runs
// made there.
type leaver struct {
	shell           *cli.Shell
	p               *project.Project
	dryRun          bool
	requests, force bool
	parts           []runner.RemovedItem
	taken           []string // paths that went or changed
	others          []string // worktrees of the same bare repository that are projects, too
	made            bool     // there was no .aiflow before this command took its lock
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
	if l.requests && l.p.Config.Beside() {
		return cli.Usage("deinit_beside", "path", l.p.RequestsDir())
	}
	if id, ok := serving.Running(l.p); ok {
		return fault.New(fault.ServerRunning, "pid", id.PID, "host", id.Host, "value", id.Port)
	}
	if l.others, err = otherWorktrees(l); err != nil {
		return err
	}
	var actions []hooks.Action
	if len(l.others) == 0 {
		if actions, err = l.hooks(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(l.p.Path(".aiflow")); errors.Is(err, fs.ErrNotExist) {
		l.made = true
	}
	r := work.Runner(l.shell, l.p)
	r.Point = l.at
	err = r.Leave(l.shell.Context(), runner.LeaveOptions{Discard: discard, DryRun: l.dryRun, Shared: len(l.others) > 0}, func(parts []runner.RemovedItem) error {
		l.parts = parts
		if err := l.unhook(actions); err != nil {
			return err
		}
		l.temps(actions)
		return l.files()
	})
	if err != nil {
		return err
	}
	if len(l.others) > 0 {
		l.parts = append(l.parts, runner.RemovedItem{
			Kind: "folder", Name: app.Here(l.shell, l.p, filepath.Dir(l.p.Path(l.p.Config.Paths.LocksDir))) + "/", Did: "stays", Why: "worktrees",
		})
	}
	if err := l.folders(); err != nil {
		return err
	}
	return l.print()
}

// otherWorktrees are those of the same bare repository that are projects, too: they
// share hooks, records, workspaces, branches and refs, which stay for them.
func otherWorktrees(l *leaver) ([]string, error) {
	if l.p.Bare == "" {
		return nil, nil
	}
	out, err := l.p.Git().Ask(l.shell.Context(), "worktree", "list", "--porcelain")
	if err != nil {
		return nil, fault.Wrap(err, fault.GitCommandFailed)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		top, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "worktree ")
		if !is || top == l.p.Top || strings.HasPrefix(top, l.p.Bare+string(filepath.Separator)) {
			continue
		}
		if _, err := os.Stat(filepath.Join(top, l.p.Inside(), filepath.FromSlash(config.File))); err == nil {
			found = append(found, top)
		}
	}
	return found, nil
}

// at passes a place where a test may stop the program.
func (l *leaver) at(name string) {
	if point := app.Point(l.p); point != nil {
		point(name)
	}
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
	l.at("unhooked")
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

// temps takes away what a command that was killed had not finished to write.
func (l *leaver) temps(actions []hooks.Action) {
	dirs := []string{".", ".aiflow", l.p.Config.Paths.PromptsDir}
	for _, a := range actions {
		dirs = append(dirs, filepath.Dir(a.Path))
	}
	_ = filepath.WalkDir(l.p.Path(l.p.RequestsDir()), func(at string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			dirs = append(dirs, at)
		}
		return nil
	})
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		entries, _ := os.ReadDir(l.p.Path(dir))
		for _, e := range entries {
			pid, ok := atomicfile.Writer(e.Name())
			if ok && atomicfile.IsTemp(e.Name()) && e.Type().IsRegular() && proc.Alive(pid, 0) == proc.Dead {
				at := filepath.Join(l.p.Path(dir), e.Name())
				if rel, err := filepath.Rel(l.p.Dir, at); err == nil {
					at = filepath.ToSlash(rel)
				}
				l.remove("file", at, os.Remove)
			}
		}
	}
}

func (l *leaver) note(kind, name, did, why string) {
	l.parts = append(l.parts, runner.RemovedItem{Kind: kind, Name: name, Did: did, Why: why})
}

// gone notes what was taken away, or would be; err is why it is still there.
func (l *leaver) gone(kind, name string, err error) {
	switch {
	case err == nil && l.made && strings.HasPrefix(name, ".aiflow/"): // nobody asked for what it made for its own lock
	case err != nil:
		l.note(kind, name, "failed", err.Error())
	case l.dryRun:
		l.note(kind, name, "would_remove", "")
	default:
		l.note(kind, name, "removed", "")
	}
}

// files takes away those that init wrote and nobody changed, and its entries. The
// configuration says where all else is, so it goes last.
func (l *leaver) files() error {
	c := l.p.Config
	for _, f := range append(shipped.Files(c), shipped.Prompts(c)...) {
		l.file(f.Path, f.Is)
	}
	if l.requests {
		if err := l.requestFiles(); err != nil {
			return err
		}
	}
	for _, rel := range l.own() {
		fi, err := os.Lstat(l.p.Path(rel))
		switch {
		case err != nil:
		case !strings.HasPrefix(rel, ".aiflow/") && l.p.Bare == "":
			l.note("folder", rel, "stays", "elsewhere")
		case !fi.IsDir():
			l.note("folder", rel, "stays", "foreign")
		}
	}
	if err := l.agents(); err != nil {
		return err
	}
	// Our entries, but for those of what stays. They are those that init wrote: it does
	// not know what the worktrees of a bare repository share.
	cfg, err := l.unshared()
	if err != nil {
		return err
	}
	return l.entries(".gitignore", shipped.Ignored(l.p.Dir, cfg, true), func(e string) bool { return l.stays(strings.TrimSuffix(e, "/")) })
}

// own are the folders of nobody else. The locks are the last: nobody may begin
// before.
func (l *leaver) own() []string {
	if len(l.others) > 0 {
		return []string{".aiflow/project"}
	}
	return []string{l.p.Config.Paths.CacheDir, ".aiflow/project", l.p.Config.Paths.LocksDir}
}

func (l *leaver) file(rel string, ours func(text []byte) bool) {
	at := l.p.Path(rel)
	fi, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	text, err := atomicfile.ReadPlain(at)
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
		l.at("gone")
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
	stored, err := project.Stored(l.shell.Context(), l.p, l.p.RequestsDir())
	if err != nil {
		return err
	}
	for _, r := range s.Folder.Requests {
		if !stored[r.Path] && !l.force {
			l.note("file", r.Path, "stays", "not_stored")
			continue
		}
		l.remove("file", r.Path, os.Remove)
	}
	return nil
}

// unshared is the configuration as init sees it.
func (l *leaver) unshared() (config.Config, error) {
	cfg, _, err := config.Load(l.p.Dir, config.Sources{Env: l.p.Env.Getenv, Path: l.p.Env.Config, Dir: l.p.Env.Dir})
	return cfg, err
}

func (l *leaver) entries(rel string, all []string, keep func(entry string) bool) error {
	old, err := atomicfile.ReadPlain(l.p.Path(rel))
	if err != nil {
		return nil
	}
	text, gone, kept := shipped.WithoutIgnored(string(old), all, keep)
	for _, e := range kept {
		l.note("entry", rel+": "+e, "stays", "in_use")
	}
	if len(gone) == 0 {
		return nil
	}
	if rel == ".gitignore" {
		l.taken = append(l.taken, rel)
	}
	if !l.dryRun {
		if err = l.rewrite(rel, text, shipped.Began(string(old))); err != nil {
			return fault.NotWritable(err, rel)
		}
		l.at("ignored")
	}
	l.gone("entry", rel+": "+strings.Join(gone, " "), nil)
	return nil
}

// stays reports whether something in a folder, or the folder, is still there.
func (l *leaver) stays(rel string) bool {
	return slices.ContainsFunc(l.parts, func(p runner.RemovedItem) bool {
		return (p.Did == "stays" || p.Did == "failed") && (p.Name == rel || strings.HasPrefix(p.Name, rel+"/"))
	})
}

// rewrite leaves no file where init made one and nobody else wrote into it.
func (l *leaver) rewrite(rel, text string, made bool) error {
	at := atomicfile.RealPath(l.p.Path(rel))
	if text == "" && made {
		return os.Remove(at)
	}
	return atomicfile.Write(atomicfile.OS{}, at, []byte(text), atomicfile.Options{TempSuffix: l.p.Suffix()})
}

// folders takes away those of ours alone, what is empty now, and at last the
// configuration: until then it says where all else is.
func (l *leaver) folders() error {
	for _, rel := range l.own() {
		if _, err := os.Lstat(l.p.Path(rel)); err == nil && !l.stays(rel) {
			l.remove("folder", rel+"/", os.RemoveAll)
		}
	}
	l.file(config.RouterFile, shipped.IsRouter)
	c := l.p.Config.Paths
	empty := []string{c.RequestsDir, c.PromptsDir, c.RunsDir, l.p.WorktreesDir()}
	if len(l.others) > 0 {
		empty = empty[:2]
	}
	for _, rel := range empty {
		if rel != c.RequestsDir || !l.p.Config.Beside() {
			l.folder(rel)
		}
	}
	if link := l.p.Config.RequestsLink(); link != "" && !l.dryRun {
		if _, err := os.Stat(l.p.Path(link)); errors.Is(err, fs.ErrNotExist) { // it led to the folder that went
			l.remove("file", link, os.Remove)
		}
	}
	if err := l.exclude(); err != nil {
		return err
	}
	l.file(config.File, shipped.IsConfig)
	l.folder(".aiflow")
	if l.p.Bare != "" && len(l.others) == 0 {
		l.folder(path.Dir(c.LocksDir)) // of all worktrees
	}
	return nil
}

// folder takes one away that is empty.
func (l *leaver) folder(rel string) {
	fi, err := os.Lstat(l.p.Path(rel))
	if l.dryRun || err != nil || !fi.IsDir() || os.Remove(l.p.Path(rel)) != nil {
		return
	}
	l.at("emptied")
	l.gone("folder", path.Clean(rel)+"/", nil)
}

// agents takes our part out of AGENTS.md.
func (l *leaver) agents() error {
	old, err := atomicfile.ReadPlain(l.p.Path(shipped.AgentsFile))
	text, had := shipped.WithoutAgents(string(old))
	if err != nil || !had {
		return nil
	}
	l.taken = append(l.taken, shipped.AgentsFile)
	if !l.dryRun {
		if err = l.rewrite(shipped.AgentsFile, text, shipped.Began(string(old))); err != nil {
			return fault.NotWritable(err, shipped.AgentsFile)
		}
		l.at("agents")
	}
	l.gone("entry", shipped.AgentsFile, nil)
	return nil
}

// exclude takes our entries out of git's own list: what stays stays hidden.
func (l *leaver) exclude() error {
	if !l.p.Root.Git || len(l.others) > 0 {
		return nil
	}
	out, err := l.p.Git().Ask(l.shell.Context(), "rev-parse", "--git-path", "info/exclude")
	if err != nil {
		return nil
	}
	inside := strings.TrimPrefix(l.p.Inside()+"/", "./")
	cfg, err := l.unshared()
	if err != nil {
		return err
	}
	entries := append(shipped.Stealthy(l.p.Dir, inside, cfg, true), "/"+inside+shipped.AgentsFile)
	return l.entries(strings.TrimRight(string(out), "\r\n"), entries, func(e string) bool {
		at := strings.TrimSuffix(strings.TrimPrefix(e, "/"+inside), "/")
		switch {
		case at == ".aiflow":
			return l.inside()
		case !l.dryRun:
			_, err := os.Lstat(l.p.Path(at))
			return err == nil
		case at == cfg.Paths.RequestsDir && !l.requests:
			f, err := l.p.Requests()
			return err == nil && len(f.Requests) > 0
		}
		return l.stays(at)
	})
}

// inside reports whether .aiflow holds more than the configuration that goes.
func (l *leaver) inside() bool {
	text, err := atomicfile.ReadPlain(l.p.Path(config.File))
	if err == nil && !l.force && !shipped.IsConfig(text) {
		return true
	}
	if l.dryRun {
		return l.stays(".aiflow")
	}
	entries, _ := os.ReadDir(l.p.Path(".aiflow"))
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != path.Base(config.File) })
}

// taken is what deinit prints as JSON.
type taken struct {
	OK     bool                 `json:"ok"`
	DryRun bool                 `json:"dry_run"`
	Root   string               `json:"root"`
	Items  []runner.RemovedItem `json:"items"`
	Next   []string             `json:"next"`
}

func (l *leaver) print() error {
	failed := l.failed()
	next := l.next()
	if l.shell.JSON {
		return l.shell.Answer(taken{failed == nil, l.dryRun, l.p.Dir, append([]runner.RemovedItem{}, l.parts...), next}, failed)
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
		case p.Err != nil:
			return p.Err
		case p.Kind == "file" || p.Kind == "folder" || p.Kind == "record":
			return fault.NotWritable(nil, p.Name, "cause", p.Why)
		}
		return fault.New(fault.WorkspaceFailed, "path", p.Name, "cause", p.Why)
	}
	return nil
}

func (l *leaver) line(p runner.RemovedItem) string {
	line := term.Pad(l.shell.Text("work.deinit_"+p.Did), 14) + term.Escape(p.Name)
	switch {
	case p.Why == "":
		return line
	case p.Did == "failed":
		return line + ": " + p.Why
	}
	return line + l.shell.Text("work.deinit_why_"+p.Why, "commit", term.ShortHash(p.Commit), "name", cmp.Or(p.RequestID, p.RunID), "paths", strings.Join(l.others, ", "))
}
