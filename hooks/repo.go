package hooks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Repo is what git says about where hooks live, as seen from one worktree.
type Repo struct {
	Top       string          // root of the worktree
	CommonDir string          // the repository's .git, shared by its worktrees
	Dir       string          // where git looks for hooks; "" when they are switched off
	Setting   *Setting        // core.hooksPath; nil: not set
	Shared    bool            // Dir may serve other repositories too
	InTree    bool            // Dir is a folder of the worktree, so perhaps tracked
	Husky     bool            // Dir is husky's generated folder
	Configs   []ConfigHook    // hooks defined in git's configuration
	Switched  map[string]bool // by name: switched off by hook.<name>.enabled
	Worktrees []string        // roots of all worktrees, when core.hooksPath is set
}

// Setting is a value of git's configuration and where it comes from.
type Setting struct {
	Value  string `json:"value"`
	Scope  string `json:"scope"`
	Origin string `json:"origin"`
}

// ConfigHook is a hook that newer git takes from its configuration
// (hook.<name>.command); it runs before the one in the hooks folder.
type ConfigHook struct {
	Name    string `json:"name"`
	Event   string `json:"event"`
	Command string `json:"command"`
	Scope   string `json:"scope"`
}

// Look asks git about the repository that g's directory is in.
func Look(ctx context.Context, g gitcmd.Git) (Repo, error) {
	var r Repo
	if err := r.places(ctx, g); err != nil {
		return Repo{}, err
	}
	return r.look(ctx, g)
}

// LookIn is Look for who knows where the repository is.
func LookIn(ctx context.Context, g gitcmd.Git, commonDir, top string) (Repo, error) {
	r := Repo{CommonDir: filepath.Clean(commonDir), Top: filepath.Clean(top)}
	return r.look(ctx, g)
}

func (r Repo) look(ctx context.Context, g gitcmd.Git) (Repo, error) {
	g = g.In(r.Top)
	if err := r.settings(ctx, g); err != nil {
		return Repo{}, err
	}
	if err := r.folder(ctx, g); err != nil {
		return Repo{}, err
	}
	if r.Setting != nil { // without core.hooksPath hooks are in the common folder, and nobody needs to know
		out, err := g.Ask(ctx, "worktree", "list", "--porcelain")
		if err != nil {
			return Repo{}, failed(err)
		}
		r.Worktrees = worktrees(out)
	}
	r.Shared = r.shared()
	r.InTree = !r.Shared && r.Dir != "" && !inside(r.CommonDir, r.Dir)
	r.Husky = filepath.Base(r.Dir) == "_" && filepath.Base(filepath.Dir(r.Dir)) == ".husky"
	return r, nil
}

func (r *Repo) places(ctx context.Context, g gitcmd.Git) error {
	out, err := g.Ask(ctx, "rev-parse", "--is-bare-repository", "--git-common-dir", "--show-toplevel")
	bare, rest, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	common, top, whole := strings.Cut(rest, "\n")
	switch {
	case bare == "true":
		return fault.New(fault.GitBareRepo, "path", absolute(g.Dir, common))
	case err != nil && bare == "false" && common != "": // in the folder that git keeps for itself
		f := fault.New(fault.InsideGitDir, "path", g.Dir)
		if common = absolute(g.Dir, common); filepath.Base(common) == ".git" {
			f.Facts["top"] = filepath.Dir(common)
		}
		return f
	case err != nil:
		return gitcmd.NoRepository(err, g.Dir)
	case !whole || strings.Contains(top, "\n"):
		return r.placesApart(ctx, g)
	}
	r.CommonDir, r.Top = absolute(g.Dir, common), filepath.Clean(top)
	return nil
}

// placesApart is for paths that hold line breaks.
func (r *Repo) placesApart(ctx context.Context, g gitcmd.Git) error {
	for question, answer := range map[string]*string{"--git-common-dir": &r.CommonDir, "--show-toplevel": &r.Top} {
		out, err := g.Ask(ctx, "rev-parse", question)
		if err != nil {
			return gitcmd.NoRepository(err, g.Dir)
		}
		*answer = absolute(g.Dir, strings.TrimSuffix(string(out), "\n"))
	}
	return nil
}

func failed(err error) error {
	if gitcmd.Exit(err) > 0 {
		return fault.Wrap(err, fault.GitCommandFailed, "cause", gitcmd.Stderr(err))
	}
	return err
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// settings reads what git's configuration says about hooks. Exit status 1
// means that nothing matches.
func (r *Repo) settings(ctx context.Context, g gitcmd.Git) error {
	out, err := g.Ask(ctx, "config", "--show-scope", "--show-origin", "-z", "--get-regexp", `^(core\.hookspath|hook\..*)$`)
	if err != nil && gitcmd.Exit(err) != 1 {
		return failed(err)
	}
	// "scope NUL origin NUL key LF value NUL …"; a key alone has no LF and means true.
	fields := strings.Split(string(out), "\x00")
	var entries []configEntry
	for i := 0; i+2 < len(fields); i += 3 {
		key, value, ok := strings.Cut(fields[i+2], "\n")
		if !ok {
			value = "true"
		}
		if key == "core.hookspath" {
			r.Setting = &Setting{Value: value, Scope: fields[i], Origin: fields[i+1]}
		}
		entries = append(entries, configEntry{fields[i], key, value})
	}
	r.Configs, r.Switched = configHooks(entries)
	return nil
}

type configEntry struct{ scope, key, value string }

func configHooks(entries []configEntry) ([]ConfigHook, map[string]bool) {
	command, events, off := map[string]configEntry{}, map[string][]string{}, map[string]bool{}
	var order []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.key, "hook.")
		dot := strings.LastIndexByte(rest, '.')
		if !ok || dot < 0 {
			continue
		}
		name := rest[:dot]
		switch rest[dot+1:] {
		case "command":
			command[name] = e
		case "event":
			if e.value == "" {
				events[name] = nil
				continue
			}
			events[name] = append(events[name], e.value)
			order = append(order, name)
		case "enabled":
			off[name] = slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(e.value))
		}
	}
	var all []ConfigHook
	seen := map[string]bool{}
	for _, name := range order {
		c, ok := command[name]
		if !ok || seen[name] || off[name] {
			continue
		}
		seen[name] = true
		for _, event := range events[name] {
			if slices.Contains(Names(), event) && !off[event] {
				all = append(all, ConfigHook{Name: name, Event: event, Command: c.value, Scope: c.scope})
			}
		}
	}
	return all, off
}

// folder asks git itself where core.hooksPath points, because only git knows
// every rule: "~", includes, relative to which root. An empty value makes it
// look in "/".
func (r *Repo) folder(ctx context.Context, g gitcmd.Git) error {
	switch {
	case r.Setting == nil:
		r.Dir = filepath.Join(r.CommonDir, "hooks")
		return nil
	case r.Setting.Value == "":
		return nil
	}
	out, err := g.Ask(ctx, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return failed(err)
	}
	dir := absolute(r.Top, strings.TrimSuffix(string(out), "\n"))
	if dir != os.DevNull {
		r.Dir = dir
	}
	return nil
}

func worktrees(out []byte) []string {
	var roots []string
	for entry := range bytes.SplitSeq(out, []byte("\n\n")) {
		root, rest, _ := strings.Cut(string(entry), "\n")
		root, ok := strings.CutPrefix(root, "worktree ")
		if ok && !strings.Contains("\n"+rest+"\n", "\nbare\n") && !strings.Contains("\n"+rest, "\nprunable") {
			roots = append(roots, root)
		}
	}
	return roots
}

// shared decides by place: a folder outside the repository and its worktrees
// serves whoever points at it. A setting for all repositories with a fixed
// path is shared even when this repository happens to contain it.
func (r *Repo) shared() bool {
	if r.Dir == "" {
		return false
	}
	if s := r.Setting; s != nil && (s.Scope == "global" || s.Scope == "system") && (filepath.IsAbs(s.Value) || strings.HasPrefix(s.Value, "~")) {
		return true
	}
	for _, root := range append([]string{r.CommonDir, r.Top}, r.Worktrees...) {
		if inside(root, r.Dir) {
			return false
		}
	}
	return true
}

// inside reports whether path is root or below it, both as they really are on
// the disk.
func inside(root, path string) bool {
	rel, err := filepath.Rel(real(root), real(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// real resolves the links of the part of path that exists.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(real(dir), filepath.Base(path))
}

func (r Repo) defaultDir() string { return filepath.Join(r.CommonDir, "hooks") }
