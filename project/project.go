package project

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
	"aiflow/runs"
)

// Env is what a command passes in from its process.
type Env struct {
	Dir     string   // where the command was started
	Environ []string // the process's environment
	Clock   proc.Clock
	Disk    atomicfile.Disk
	Rand    io.Reader
	PID     int
	Self    func() proc.Identity
	Flags   map[string]string // configuration keys from the command line
	Config  string            // --config
	Build   string            // names the program's version and commit; "" keeps no cache
}

// SystemEnv is the real process's Env. The program passes what only a program may
// read.
func SystemEnv(dir string, environ []string, clock proc.Clock, pid int) Env {
	return Env{
		Dir: dir, Environ: environ, Clock: clock, PID: pid,
		Disk: atomicfile.OS{}, Rand: rand.Reader, Self: proc.Self,
	}
}

// Getenv looks a variable up in Environ; the last entry wins.
func (e Env) Getenv(name string) string {
	value := ""
	for _, kv := range e.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// Project is an opened project.
type Project struct {
	Root
	Env      Env
	Config   config.Config
	Warnings []config.Warning
	// Read, when set, gives the request files instead of reading them: a server keeps them until one of them changes.
	Read func() (*folder.Folder, error)

	locks func() *locks.Manager
	git   func() string
	may   func() error // see Guarded
}

// Open finds the project above env.Dir and reads its configuration. Faults:
// those of FindRoot and CONFIG_INVALID.
func Open(env Env) (*Project, error) {
	p, err := OpenAnyway(env)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// OpenAnyway is Open for those who say what is wrong: beside CONFIG_INVALID it
// gives the project with the default configuration. No root is no project.
func OpenAnyway(env Env) (*Project, error) {
	root, err := FindRoot(env.Dir)
	if err != nil {
		return nil, err
	}
	cfg, warnings, err := config.Load(root.Dir, config.Sources{
		Flags: env.Flags, Env: env.Getenv, Path: env.Config, Dir: env.Dir,
	})
	if err != nil {
		cfg, warnings = config.Default(), nil
	}
	p := &Project{Root: root, Env: env, Config: cfg, Warnings: warnings}
	share(p)
	p.locks = sync.OnceValue(func() *locks.Manager {
		return locks.Open(locks.Options{
			Dir:   p.Path(p.Config.Paths.LocksDir),
			TTL:   time.Duration(p.Config.Limits.LockTTLSec) * time.Second,
			Clock: p.Env.Clock, Self: p.Env.Self(), Disk: p.Env.Disk, Rand: p.Env.Rand,
		})
	})
	p.git = sync.OnceValue(func() string { found, _ := gitcmd.Find(env.Environ); return found.Bin })
	if err == nil && env.Config == "" && env.Getenv("AIFLOW_CONFIG") == "" {
		err = LeftOut(root, p.Git(), config.File, config.RouterFile)
	}
	return p, err
}

// LeftOut refuses a sparse checkout that lacks one of the files, which are relative to the
// project: without the settings its tests and limits would not hold, and a new file would
// stand for the one in git. Fault: CONFIG_INVALID with the command that takes it in.
func LeftOut(root Root, git gitcmd.Git, files ...string) error {
	if !root.Git || !root.has("info/sparse-checkout") {
		return nil
	}
	out, _ := git.Ask(context.Background(), append([]string{"ls-files", "-v", "-z", "--"}, files...)...)
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, hidden := strings.CutPrefix(entry, "S ")
		if _, err := os.Lstat(filepath.Join(root.Dir, filepath.FromSlash(name))); !hidden || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		folder := path.Join(filepath.ToSlash(root.Inside()), path.Dir(name))
		return badConfig(nil, name, "sparse", name, "command", "git -C "+proc.Word(root.Top)+" sparse-checkout add "+proc.Word(folder))
	}
	return nil
}

// share puts what all worktrees of a bare repository must see into that
// repository: locks, runs and workspaces, as long as they are where they are by
// default.
func share(p *Project) {
	if p.Bare == "" {
		return
	}
	home, err := filepath.Rel(p.Dir, filepath.Join(p.Bare, "aiflow"))
	if err != nil {
		return
	}
	home = filepath.Join(home, p.Inside()) // each project of the repository has its own
	usual := config.Default()
	for _, at := range []struct {
		path        *string
		usual, name string
	}{
		{&p.Config.Paths.LocksDir, usual.Paths.LocksDir, "locks"},
		{&p.Config.Paths.RunsDir, usual.Paths.RunsDir, "runs"},
		{&p.Config.Workspace.Root, usual.Workspace.Root, "worktrees"},
	} {
		if *at.path == at.usual {
			*at.path = filepath.ToSlash(filepath.Join(home, at.name))
		}
	}
}

// Locks is the project's lock manager. It is made at the first call.
func (p *Project) Locks() *locks.Manager { return p.locks() }

// HoldRequest holds the lock of a request while its file changes, so that no run
// begins meanwhile. Where nothing ever ran, or no lock can be written, none can.
func HoldRequest(ctx context.Context, p *Project, id string) (release func(), err error) {
	if _, err := os.Stat(p.Path(p.Config.Paths.LocksDir)); err != nil {
		return func() {}, nil
	}
	lease, err := p.Locks().Acquire(ctx, locks.Request(id), locks.Ask{Wait: 2 * time.Second})
	switch {
	case err == nil:
		return func() { _ = lease.Release() }, nil
	case fault.Has(err, fault.PathNotWritable):
		return func() {}, nil
	}
	return nil, err
}

// TakeSlot takes one of the places for runs at a time, for at most wait. Fault:
// SLOTS_TAKEN.
func (p *Project) TakeSlot(ctx context.Context, wait time.Duration) (*locks.Lease, error) {
	return p.Locks().AcquireSlot(ctx, p.Config.Jobs(), locks.Ask{Wait: wait})
}

// TakeSlots takes n slots, all or none. The context of the last ends when any of them
// is lost. n beyond limits.jobs is that many runs at a time for as long.
func TakeSlots(ctx context.Context, p *Project, n int) (slots []*locks.Lease, err error) {
	for range n {
		l, err := p.Locks().AcquireSlot(ctx, max(n, p.Config.Jobs()), locks.Ask{})
		if err != nil {
			for _, l := range slots {
				_ = l.Release()
			}
			return nil, err
		}
		slots, ctx = append(slots, l), l.Context()
	}
	return slots, nil
}

// Now is the wall clock.
func (p *Project) Now() time.Time { return p.Env.Clock.Now() }

// Path makes a project path (relative, slashes) absolute.
func (p *Project) Path(rel string) string {
	if filepath.IsAbs(rel) {
		return rel
	}
	return filepath.Join(p.Dir, filepath.FromSlash(rel))
}

// Git is the git binary in the main checkout. Where none is found it is looked
// for at each call, and each says so.
func (p *Project) Git() gitcmd.Git {
	g := gitcmd.Git{Bin: p.git(), Dir: p.Dir, Env: p.Env.Environ, Allowed: p.may}
	g.Timeout, g.QuestionTimeout = p.Config.GitTimeouts()
	return g
}

// RequestsDir, RunsDir and WorktreesDir are relative to Dir, with slashes.
func (p *Project) RequestsDir() string { return p.Config.Paths.RequestsDir }

// RunsDir is where runs are recorded, relative to Dir.
func (p *Project) RunsDir() string { return p.Config.Paths.RunsDir }

// WorktreesDir holds one linked worktree per request: relative to Dir, also where
// it lies outside of it, or absolute.
func (p *Project) WorktreesDir() string {
	root := strings.TrimSuffix(p.Config.Workspace.Root, "/{id}")
	return path.Clean(strings.ReplaceAll(root, "{repo}", filepath.Base(p.Dir)))
}

// Workspace is where a run works, as WorktreesDir tells it. Worktrees of a bare
// repository see the recorded place from different folders.
func (p *Project) Workspace(st *runs.Stage) string {
	if p.Bare != "" && st.Git.Workspace != "." {
		return path.Join(p.WorktreesDir(), st.RequestID)
	}
	return st.Git.Workspace
}

// Mapping is how the files of another tool are read; nil: they are ours.
func (p *Project) Mapping() *reqmeta.Mapping { return MappingOf(p.Config) }

// MappingOf is the mapping of a configuration.
func MappingOf(c config.Config) *reqmeta.Mapping {
	words := map[string][]reqmeta.Word{}
	for key, list := range c.Words {
		for _, w := range list {
			words[key] = append(words[key], reqmeta.Word(w))
		}
	}
	return reqmeta.NewMapping(c.Fields, words, c.IDsFrom == config.IDsFromHead)
}

// cache is where the heads of the request files are kept between calls.
func cache(p *Project) folder.Cache {
	if p.Env.Build == "" {
		return folder.Cache{Mapping: p.Mapping()}
	}
	return folder.Cache{Mapping: p.Mapping(), Dir: p.Config.Paths.CacheDir, Build: p.Env.Build, Now: p.Env.Clock.Now, Suffix: p.Suffix}
}

// Run opens the record of one run; it touches no file.
func (p *Project) Run(requestID, runID string) *runs.Dir {
	return runs.OpenDir(p.Env.Disk, p.Dir, p.RunsDir(), requestID, runID, p.Suffix)
}

// RunsOf are the runs of a request whose records can be read, the newest first.
func (p *Project) RunsOf(requestID string) iter.Seq[*runs.Stage] {
	return func(yield func(*runs.Stage) bool) {
		ids, _ := runs.ListRuns(p.Dir, p.RunsDir(), requestID)
		for _, id := range ids {
			if st, err := p.Run(requestID, id).LoadStage(); err == nil && !yield(st) {
				return
			}
		}
	}
}

// AllRuns are the runs of all requests whose records can be read.
func (p *Project) AllRuns() iter.Seq[*runs.Stage] {
	return func(yield func(*runs.Stage) bool) {
		requests, _ := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
		for id := range requests {
			for st := range p.RunsOf(id) {
				if !yield(st) {
					return
				}
			}
		}
	}
}

// Suffix names temporary files apart: process id and random.
func (p *Project) Suffix() string {
	return strconv.Itoa(p.Env.PID) + "-" + p.RandomHex(4)
}

// RandomHex gives 2n random hexadecimal digits.
func (p *Project) RandomHex(n int) string {
	b := make([]byte, n)
	_, _ = io.ReadFull(p.Env.Rand, b)
	return hex.EncodeToString(b)
}
