package stage

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"aiflow/gitops"
	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// Setup is what every run of a project is given.
type Setup struct {
	Project *project.Project
	Words   Words
	// Hurry, once closed, ends the grace of commands that are asked to end.
	Hurry <-chan struct{}
	// Doctor is asked before a run goes on or a session begins; its fault
	// (DOCTOR_FAILED, WORKTREE_DIRTY, …) refuses. nil refuses nothing.
	Doctor func(ctx context.Context) error
	// Invoked is the command line, for the record.
	Invoked []string
	// Guard is asked, beside the lock, before every write that others see; its
	// error stops the run where it stands. INTERRUPTED lets the run record that
	// and put the request back; after any other nothing is written. nil allows
	// all.
	Guard func() error
	// Observe is told what happens, as it happens; nil is nobody.
	Observe func(Event)
	// Point is told of the places between two writes where a crash matters; nil
	// but in builds for tests.
	Point func(name string)
}

// Words are the sentences that end up in what a run records. The program lends
// them in the user's language.
type Words struct {
	Text  func(key string, f fault.Facts) string
	Fault runs.Words
	Lang  string // of what roles are told: "ja", or English
}

// Tell lets the observer know.
func (s *Setup) Tell(e Event) {
	if s.Observe != nil {
		s.Observe(e)
	}
}

// Warn tells a sentence, about a run or about none.
func (s *Setup) Warn(key string, about *runs.Stage, facts fault.Facts) {
	e := Event{Kind: Warned, What: s.Words.Text(key, facts)}
	if about != nil {
		e.RequestID = about.RequestID
	}
	s.Tell(e)
}

// InWords is an error as records and warnings name it: its code and its sentence.
func (s *Setup) InWords(err error) string {
	code, facts := fault.CodeOf(err), fault.Facts{}
	if f, ok := fault.As(err); ok {
		facts = f.Facts
	}
	if s.Words.Fault == nil {
		return string(code)
	}
	_, message, _ := s.Words.Fault(code, facts)
	return string(code) + ": " + message
}

// At passes a place where a test may stop the program.
func (s *Setup) At(name string) {
	if s.Point != nil {
		s.Point(name)
	}
}

// OpenRepo opens the project's repository with the project's names for
// branches and worktrees.
func (s *Setup) OpenRepo(ctx context.Context) (*gitops.Repo, error) {
	repo, err := gitops.Open(ctx, s.Project.Git(), s.Project.Dir)
	if err != nil {
		return nil, err
	}
	repo.WorktreesDir, repo.WorkPrefix = s.Project.WorktreesDir(), s.Project.Config.Git.WorkBranchPrefix
	return repo, nil
}

// SaveCache replaces a file of the cache. Nobody stops where that cannot be
// written: it is for those who look.
func (s *Setup) SaveCache(name string, v any) {
	path := CacheFile(s.Project, name)
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		o := atomicfile.Options{TempSuffix: s.Project.Suffix(), Volatile: true}
		err = atomicfile.Write(s.Project.Env.Disk, path, append(data, '\n'), o)
	}
	if err != nil {
		s.Tell(Event{Kind: Warned, What: s.InWords(notWritable(err, path))})
	}
}

// CacheFile is a file of the project's cache.
func CacheFile(p *project.Project, name string) string {
	return filepath.Join(p.Path(p.Config.Paths.CacheDir), name)
}

// keepTime is how long what a stopped run leaves may take to be kept.
const keepTime = time.Minute

// Afterwards is the context of what is still done when ctx has ended. It ends
// keepTime later, and at once when somebody is in a hurry.
func (s *Setup) Afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-after.Done():
		case <-s.Hurry:
		case <-time.After(keepTime):
		}
		cancel()
	})
	return after, cancel
}

// Background begins f beside what follows; f must not touch a run, which goes on. What
// it gives waits for f, and gives the same each time.
func Background[T any](f func() (T, error)) (wait func() (T, error)) {
	wait = sync.OnceValues(f)
	go func() { _, _ = wait() }()
	return wait
}

// shownTime is how sentences name a time of the near future.
const shownTime = "2006-01-02 15:04"
