package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/shipped"
	"aiflow/hooks"
	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/project"
)

type initOptions struct{ force, prompts, yes, stealth, agents bool }

// What happened to a file.
const (
	made    = "made"
	kept    = "kept"
	renewed = "renewed"
	added   = "added"
)

type initFile struct {
	Path   string   `json:"path"`
	Action string   `json:"action"`
	Lines  []string `json:"lines,omitempty"` // what was added
}

type initResult struct {
	OK    bool       `json:"ok"`
	Root  string     `json:"root"`
	Git   bool       `json:"git"`
	Files []initFile `json:"files"`
	Seen  []proposal `json:"proposals,omitempty"`
	Notes []string   `json:"notes,omitempty"` // folders that are in use already
	Next  []string   `json:"next"`
}

// initializer makes a project; each step adds to files.
type initializer struct {
	shell *cli.Shell
	root  project.Root
	cfg   config.Config
	force bool
	files []initFile
	notes []string // sentences about folders that are in use already
	said  shipped.Config

	stealth   bool // git sees nothing of it
	proposals []proposal
	asked     bool   // a person at a terminal
	router    []byte // as a proposal has it that was taken
}

func initProject(s *cli.Shell, o initOptions) error {
	if _, err := app.WorkingDir(s); err != nil {
		return err
	}
	root, err := project.FindRoot(".")
	if fault.Has(err, fault.GitNotRepo) { // the folder itself is made one
		root = project.Root{}
		root.Dir, err = filepath.Abs(".")
	}
	if err != nil {
		return err
	}
	cfg, warnings, err := config.Load(root.Dir, s.Sources())
	if err != nil {
		return err
	}
	s.Adopt(cfg, warnings)
	in := &initializer{shell: s, root: root, cfg: cfg, force: o.force}
	in.lookFirst()
	if o.stealth && !root.Git {
		return fault.New(fault.GitNotRepo, "path", root.Dir)
	}
	// Where it was said once that git sees nothing, that holds.
	in.stealth = o.stealth || root.Git && shipped.Marked(in.read(in.excludeFile()))
	files := shipped.Files(in.cfg)
	if o.prompts {
		files = append(files, shipped.Prompts(in.cfg)...)
	}
	if err := in.plain(files, o.agents); err != nil {
		return err
	}
	in.propose(o.yes)
	if in.cfg.Beside() { // the other tool would take a template for a task
		files = files[1:]
	}
	dir := in.cfg.Paths.RequestsDir
	if fi, err := os.Stat(in.path(dir)); err == nil && fi.IsDir() {
		in.note(dir+"/", kept)
	} else {
		in.note(dir+"/", made)
		if err := in.mkdir(dir); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := in.shipped(f.Path, f.Text(s.Lang())); err != nil {
			return err
		}
	}
	steps := []func() error{in.config, in.route, in.ignore, in.bin}
	if o.agents {
		steps = append([]func() error{in.agents}, steps...)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return in.print()
}

func (in *initializer) path(rel string) string {
	if filepath.IsAbs(rel) { // git's own folder may be anywhere
		return rel
	}
	return filepath.Join(in.root.Dir, filepath.FromSlash(rel))
}

func (in *initializer) note(path, action string, lines ...string) {
	in.files = append(in.files, initFile{path, action, lines})
}

// plain refuses what stands where init would write, before it writes anything: a
// folder, a pipe, or a link that leads nowhere, whose owner it cannot ask, and what
// git has there but a sparse checkout leaves out.
func (in *initializer) plain(files []shipped.File, agents bool) error {
	names := []string{".gitignore", config.File, config.RouterFile, in.cfg.Paths.CacheDir + "/bin.mk"}
	for _, f := range files {
		names = append(names, f.Path)
	}
	if in.stealth {
		names[0] = in.excludeFile()
	}
	if agents {
		names = append(names, shipped.AgentsFile)
	}
	if err := project.LeftOut(in.root, gitcmd.Git{Dir: in.root.Dir, Env: in.shell.Environ()}, names...); err != nil {
		return err
	}
	for _, rel := range names {
		if why := odd(in.path(rel), fs.FileMode.IsRegular); why != "" {
			return inTheWay(rel, why)
		}
	}
	if why := odd(in.path(in.cfg.Paths.RequestsDir), fs.FileMode.IsDir); why != "" {
		return inTheWay(in.cfg.Paths.RequestsDir, why)
	}
	return nil
}

func inTheWay(rel, why string) error {
	return fault.NotWritable(nil, rel, "odd", rel, "cause_key", "cli.init_odd_"+why)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// odd is what else stands where something is to be; "" also when nothing does.
func odd(path string, right func(fs.FileMode) bool) string {
	if !exists(path) {
		return ""
	}
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "link"
	case err != nil || right(fi.Mode()):
		return ""
	case fi.IsDir():
		return "folder"
	case fi.Mode().IsRegular():
		return "file"
	}
	return "pipe"
}

func (in *initializer) mkdir(rel string) error {
	if err := os.MkdirAll(in.path(rel), 0o777); err != nil {
		return fault.NotWritable(err, rel)
	}
	return nil
}

// shipped writes a file that is ours: once, and again with --force.
func (in *initializer) shipped(rel string, text []byte) error {
	old, err := atomicfile.ReadPlain(in.path(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.note(rel, made)
	case err != nil:
		return fault.NotWritable(err, rel)
	case string(old) == string(text) || !in.force:
		in.note(rel, kept)
		return nil
	default:
		// The old text may be somebody's own: it stays beside, unless git has it.
		if !in.git("ls-files", "--error-unmatch", "--", rel) || !in.git("diff", "--quiet", "HEAD", "--", rel) {
			aside := rel + ".orig"
			for exists(in.path(aside)) {
				aside += "~"
			}
			in.note(aside, made)
			if err := in.write(aside, old); err != nil {
				return err
			}
		}
		in.note(rel, renewed)
	}
	return in.write(rel, text)
}

func (in *initializer) write(rel string, text []byte) error {
	if err := in.mkdir(filepath.ToSlash(filepath.Dir(filepath.FromSlash(rel)))); err != nil {
		return err
	}
	suffix := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(in.shell.Now().UnixNano(), 36)
	if err := atomicfile.Write(atomicfile.OS{}, atomicfile.RealPath(in.path(rel)), text, atomicfile.Options{TempSuffix: suffix}); err != nil {
		return fault.NotWritable(err, rel)
	}
	return nil
}

// config writes a file with the few values that people set first. It belongs
// to them from then on, so --force leaves it alone.
func (in *initializer) config() error {
	if exists(in.path(config.File)) {
		if !slices.ContainsFunc(in.proposals, func(p proposal) bool { return p.Taken && p.File == config.File }) {
			in.note(config.File, kept)
			return nil
		}
		in.note(config.File, renewed)
	} else {
		in.said.Lang = in.shell.LangSaid()
		in.note(config.File, made)
	}
	return in.write(config.File, in.said.Text())
}

// ignore adds what is missing to .gitignore, or to git's own list, and leaves what is
// there as it is.
func (in *initializer) ignore() error {
	runs := !in.othersIn(in.cfg.Paths.RunsDir)
	name, entries := ".gitignore", shipped.Ignored(in.root.Dir, in.cfg, runs)
	if in.stealth {
		inside := strings.TrimPrefix(filepath.ToSlash(in.root.Inside())+"/", "./")
		name, entries = in.excludeFile(), shipped.Stealthy(in.root.Dir, inside, in.cfg, runs)
		if slices.ContainsFunc(in.files, func(f initFile) bool { return f.Path == shipped.AgentsFile && f.Action == made }) {
			entries = append(entries, "/"+inside+shipped.AgentsFile)
		}
	}
	old, err := atomicfile.ReadPlain(in.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.NotWritable(err, name)
	}
	text, lines := shipped.WithIgnored(string(old), err == nil, entries)
	if len(lines) == 0 {
		in.note(name, kept)
		return nil
	}
	in.note(name, added, lines...)
	return in.write(name, []byte(text))
}

// bin records where the binaries are, for aiflow.mk; the record is not tracked.
func (in *initializer) bin() error {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	dir := filepath.Dir(atomicfile.RealPath(self))
	if strings.Contains(dir, "go-build") {
		return nil
	}
	text := "AIFLOW_BIN ?= " + strings.NewReplacer("$", "$$", "#", `\#`).Replace(dir) + "\n"
	rel := in.cfg.Paths.CacheDir + "/bin.mk"
	if old, err := atomicfile.ReadPlain(in.path(rel)); err == nil && string(old) == text {
		return nil
	}
	return in.write(rel, []byte(text))
}

// next is what a person types now, in this order.
func (in *initializer) next() []string {
	keys := []string{"write", "make"}
	if !in.hooked() {
		keys = append([]string{"hooks"}, keys...)
	}
	if !in.stealth && slices.ContainsFunc(in.files, func(f initFile) bool { return f.Action != kept }) {
		keys = append([]string{"commit"}, keys...)
	}
	if !in.root.Git {
		keys = append([]string{"git"}, keys...)
	}
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = in.shell.Text("cli.init_next_"+key, "dir", in.toAdd(), "root", in.elsewhere())
	}
	return list
}

// toAdd is the folder of requests, the link that leads to it, and AGENTS.md where
// that was written and git takes it.
func (in *initializer) toAdd() string {
	add := proc.Word(in.cfg.Paths.RequestsDir)
	if link := in.cfg.RequestsLink(); link != "" {
		add = proc.Word(link) + " " + add
	}
	if slices.ContainsFunc(in.files, func(f initFile) bool { return f.Path == shipped.AgentsFile && f.Action != kept }) &&
		!in.git("check-ignore", "-q", "--", shipped.AgentsFile) {
		add += " " + shipped.AgentsFile
	}
	return add
}

// elsewhere is the project's root as the shell takes it; "" when it is there.
func (in *initializer) elsewhere() string {
	dir, err := app.WorkingDir(in.shell)
	if err != nil {
		return proc.Word(in.root.Dir)
	}
	if there := app.From(in.shell, dir, in.root.Dir); there != "." {
		return proc.Word(there)
	}
	return ""
}

// hooked reports whether all hooks are installed.
func (in *initializer) hooked() bool {
	if !in.root.Git {
		return false
	}
	repo, err := hooks.Look(in.shell.Context(), gitcmd.Git{Dir: in.root.Dir, Env: in.shell.Environ()})
	if err != nil {
		return false
	}
	st := hooks.Inspect(hooks.Read(repo), hooks.Options{})
	return st.OK()
}

func (in *initializer) print() error {
	// Whoever types it in a folder may have meant that folder.
	if dir, err := app.WorkingDir(in.shell); err == nil && in.root.Git && strings.HasPrefix(dir, in.root.Dir+string(filepath.Separator)) {
		in.notes = append(in.notes, in.shell.Text("cli.init_whole", "dir", dir[len(in.root.Dir)+1:]))
	}
	r := initResult{OK: true, Root: in.root.Dir, Git: in.root.Git, Files: in.files, Seen: in.proposals, Notes: in.notes, Next: in.next()}
	if in.shell.JSON {
		return in.shell.PrintJSON(r)
	}
	if in.elsewhere() != "" {
		in.shell.Printf("%s\n", in.shell.Text("cli.init_in", "path", in.root.Dir))
	}
	for _, f := range r.Files {
		line := term.Pad(in.shell.Text("cli.init_"+f.Action), 8) + term.Escape(f.Path)
		if len(f.Lines) > 0 {
			line += ": " + term.Escape(strings.Join(f.Lines, " "))
		}
		in.shell.Printf("%s\n", line)
	}
	for _, note := range in.notes {
		in.shell.Printf("%s\n", note)
	}
	in.tellProposals()
	in.shell.Printf("\n%s\n", in.shell.Text("cli.init_next"))
	for _, n := range r.Next {
		in.shell.Printf("  %s\n", n)
	}
	return nil
}
