package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"aiflow/cmd/aiflow-hook/gate"
	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/hooks"
	"aiflow/internal/config"
	"aiflow/internal/gitcmd"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
	"aiflow/runs"
)

// enter is what a hook starts. Only those that gate may end with a failure.
func enter(s *cli.Shell, hook string, args []string) error {
	if answer := s.Getenv(hooks.EnvProbe); answer != "" {
		// The self-test's file must exist: nothing is made at a place that the environment names.
		f, err := os.OpenFile(answer, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "%s %s\n", hook, s.Version)
		return cmp.Or(err, f.Close())
	}
	if s.Getenv(hooks.EnvGuard) != "" {
		return nil
	}
	w, ok := where(s)
	if !ok || w.replaying(hook, args) {
		return nil
	}
	args = told(s, hook, args)
	if !hooks.Gates(hook) {
		after(s, w, hook, args)
		return nil
	}
	if w.ofRun(s) {
		return nil
	}
	found, err := w.findings(s, gate.Options{Merge: hook == hooks.PreMergeCommit})
	if err != nil {
		fmt.Fprintln(s.Stderr, s.Text("hook.cannot_judge"))
		return err
	}
	showFindings(s, found)
	if bad := failures(found); len(bad) > 0 {
		fmt.Fprintf(s.Stderr, "%s: %s: %s\n", s.Name, bad[0].Code, s.Text("hook.refused", "count", len(bad)))
		return cli.Exit(bad[0].Code.Info().Exit)
	}
	return nil
}

// here is where a hook was started.
type here struct {
	top    string // of this worktree
	gitDir string // of this worktree
	main   string // the project in the main checkout
	config config.Config

	checkout string // the top of the main checkout
}

// where finds out without starting anything. ok is false where there is no
// project of ours.
func where(s *cli.Shell) (here, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return here{}, false
	}
	w := here{top: dir, gitDir: s.Getenv("GIT_DIR")}
	if w.gitDir == "" {
		w.top, w.gitDir = above(dir)
	} else if !filepath.IsAbs(w.gitDir) {
		w.gitDir = filepath.Join(dir, w.gitDir)
	}
	if w.gitDir == "" {
		return here{}, false
	}
	w.checkout = w.mainTop()
	w.main = w.checkout
	w.config = configOf(s, w.main)
	s.Adopt(w.config, nil)
	return w, true
}

// mainTop is the top of the checkout that a linked worktree belongs to; all
// others stand for themselves.
func (w here) mainTop() string {
	common, err := os.ReadFile(filepath.Join(w.gitDir, "commondir"))
	if err != nil {
		return w.top
	}
	dir := strings.TrimRight(string(common), "\r\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(w.gitDir, dir)
	}
	if filepath.Base(dir) != ".git" {
		return w.top // of a bare repository
	}
	return filepath.Dir(dir)
}

// told are a hook's arguments. The program pre-commit keeps them to itself and
// sets variables instead.
func told(s *cli.Shell, hook string, args []string) []string {
	if len(args) > 0 || s.Getenv("PRE_COMMIT") == "" {
		return args
	}
	var names []string
	switch hook {
	case hooks.PostMerge:
		names = []string{"PRE_COMMIT_IS_SQUASH_MERGE"}
	case hooks.PostCheckout:
		names = []string{"PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF", "PRE_COMMIT_CHECKOUT_TYPE"}
	case hooks.PostRewrite:
		names = []string{"PRE_COMMIT_REWRITE_COMMAND"}
	}
	for _, name := range names {
		args = append(args, s.Getenv(name))
	}
	return args
}

func sameAs(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func (w here) isProject() bool { return project.HoldsProject(w.top) || project.HoldsProject(w.main) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// above looks for .git from dir upwards.
func above(dir string) (top, gitDir string) {
	for {
		path := filepath.Join(dir, ".git")
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			return dir, path
		case err == nil:
			return dir, linked(dir, path)
		case filepath.Dir(dir) == dir:
			return "", ""
		}
		dir = filepath.Dir(dir)
	}
}

// linked follows the .git file of a linked worktree or a submodule.
func linked(top, path string) string {
	data, err := os.ReadFile(path)
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(top, target)
}

// replaying reports whether git is in the middle of repeating commits that
// exist already. While picking or bisecting pre-commit still judges: there a
// person makes the commit. The post-rewrite at the end of a rebase is the
// moment after, unless changes that git put aside are still to come back.
func (w here) replaying(hook string, args []string) bool {
	var marks []string
	switch {
	case hooks.Gates(hook):
		marks = []string{"rebase-merge", "rebase-apply"}
	case hook == hooks.PostRewrite && len(args) > 0 && args[0] == "rebase":
		marks = []string{"rebase-merge/autostash", "rebase-apply/autostash", "BISECT_LOG"}
	default:
		marks = []string{"rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"}
	}
	return slices.ContainsFunc(marks, func(mark string) bool { return exists(filepath.Join(w.gitDir, mark)) })
}

// ofRun reports whether a run of ours makes this commit in its own worktree: it
// lies where workspaces do, or has a work branch checked out.
func (w here) ofRun(s *cli.Shell) bool {
	if s.Getenv("AIFLOW_RUN") == "" || !exists(filepath.Join(w.gitDir, "commondir")) {
		return false
	}
	head, _ := os.ReadFile(filepath.Join(w.gitDir, "HEAD"))
	if strings.HasPrefix(string(head), "ref: refs/heads/"+w.config.Git.WorkBranchPrefix) {
		return true
	}
	p, err := w.at(s, w.top)
	return err == nil && sameAs(p.Path(p.WorktreesDir()), filepath.Dir(w.top))
}

// findings are those of all projects; o says what is judged.
func (w here) findings(s *cli.Shell, o gate.Options) ([]gate.Finding, error) {
	o.Git, o.Place = w.git(s), w.place(s)
	inner, err := gate.Projects(s.Context(), o.Git, o.Place)
	if err != nil {
		return nil, err
	}
	var all []gate.Finding
	for _, prefix := range append([]string{""}, inner...) {
		p, ok := w.in(s, prefix)
		if !ok {
			continue
		}
		found, err := gate.Judge(s.Context(), p.options(s, o, prefix))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (w here) git(s *cli.Shell) gitcmd.Git {
	return gitcmd.Git{Env: append(s.Environ(), hooks.EnvGuard+"="+hooks.PreCommit)}
}

// place names the file that git commits from, which may be relative to where the hook
// was started. Where git was told to look for objects elsewhere, only git itself can be
// asked.
func (w here) place(s *cli.Shell) gate.Place {
	if s.Getenv("GIT_OBJECT_DIRECTORY") != "" || s.Getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES") != "" {
		return gate.Place{GitDir: w.gitDir}
	}
	return gate.Place{GitDir: w.gitDir, Index: cmp.Or(s.Getenv("GIT_INDEX_FILE"), filepath.Join(w.gitDir, "index"))}
}

// in is the project in a folder of this repository, if commands that are
// started there work on it.
func (w here) in(s *cli.Shell, prefix string) (here, bool) {
	if prefix == "" {
		return w, w.isProject()
	}
	sub := w
	sub.top = filepath.Join(w.top, filepath.FromSlash(prefix))
	sub.main = filepath.Join(w.checkout, filepath.FromSlash(prefix))
	root, err := project.FindRoot(sub.top)
	switch {
	case err != nil:
		return here{}, false
	case !exists(sub.main) && project.IsNearest(sub.top, w.top): // a new one, in this worktree only
		sub.main = sub.top
	case !sameAs(root.Dir, sub.main):
		return here{}, false
	}
	sub.config = configOf(s, sub.main)
	return sub, true
}

// configOf is the configuration of a project; what is wrong with one, other commands say.
func configOf(s *cli.Shell, dir string) config.Config {
	if c, _, err := config.Load(dir, s.Sources()); err == nil {
		return c
	}
	return config.Default()
}

func (w here) options(s *cli.Shell, o gate.Options, prefix string) gate.Options {
	p := w.config.Paths
	o.Root, o.RequestsDir, o.PromptsDir, o.Ignore = prefix, prefix+p.RequestsDir, prefix+p.PromptsDir, p.Ignore
	for _, dir := range []string{p.RunsDir, p.LocksDir, p.CacheDir, p.AiflowDir + "/worktrees", p.AiflowDir + "/project"} {
		o.StateDirs = append(o.StateDirs, prefix+dir)
	}
	for _, dir := range p.DoneDirs {
		o.DoneDirs = append(o.DoneDirs, prefix+path.Clean(dir))
	}
	o.Mapping = project.MappingOf(w.config)
	if len(p.DoneDirs) > 0 {
		o.Done = sync.OnceValue(func() []string {
			f, err := w.folder()
			if err != nil {
				return nil
			}
			return f.BesideIDs()
		})
	}
	o.There = func(id string) bool {
		f, err := w.folder()
		return err == nil && f.Unique(id) != nil
	}
	o.Live = func(id string) bool { return live(s, w, id) }
	o.Stopped = func(id string) gate.Stop { return stopped(s, w, id) }
	return o
}

func (w here) folder() (*folder.Folder, error) {
	f, err := folder.Cache{Mapping: project.MappingOf(w.config)}.Load(w.top, w.config.Paths.RequestsDir, w.config.Paths.Ignore...)
	if err == nil {
		f.Beside(w.config.Paths.DoneDirs)
	}
	return f, err
}

// live asks whether a run holds the request; what cannot be asked is no.
func live(s *cli.Shell, w here, id string) bool {
	p, err := w.at(s, w.main)
	if err != nil {
		return false
	}
	e, ok, err := p.Locks().Look(locks.Request(id))
	return err == nil && ok && e.Live
}

// at is the project that commands work on which are started in a folder.
func (w here) at(s *cli.Shell, dir string) (*project.Project, error) {
	return project.Open(project.SystemEnv(dir, s.Environ(), proc.ClockOf(s.Now, proc.BootClock), os.Getpid()))
}

// stopped asks for the request's latest run; what cannot be read did not stop.
func stopped(s *cli.Shell, w here, id string) gate.Stop {
	p, err := w.at(s, w.main)
	if err != nil {
		return gate.Stop{}
	}
	st, err := runs.Latest(p.Dir, p.RunsDir(), id)
	if err != nil || st == nil || st.State != runs.NeedsInput && st.State != runs.Failed {
		return gate.Stop{}
	}
	return gate.Stop{RunID: st.RunID, State: string(st.State)}
}

func failures(found []gate.Finding) []gate.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f gate.Finding) bool { return f.Level != reqmeta.LevelError })
}

// showFindings prints a line for each.
func showFindings(s *cli.Shell, found []gate.Finding) {
	for _, f := range found {
		word := s.PaintErr(term.Yellow, s.Text("cli.warning"))
		if f.Level == reqmeta.LevelError {
			word = s.PaintErr(term.Red, s.Text("hook.error"))
		}
		text := s.Catalog().Text(f.Key, f.Facts)
		if f.Err != nil {
			text = s.Body(f.Err).Message
		}
		fmt.Fprintf(s.Stderr, "%s: %s: %s\n", app.Place(f.Path, f.Line), word, text)
	}
}
