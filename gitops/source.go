package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// errAskGit says that go-git could answer wrongly or only slowly.
var errAskGit = errors.New("a question for the git binary")

// source reads one checkout's repository with go-git.
type source struct {
	gitDir, commonDir string

	mu     sync.Mutex
	opened bool
	repo   *objects
	err    error
}

// newSource: gitDir is the checkout's own part of the repository, "" when it is
// not known.
func newSource(gitDir, commonDir string) *source {
	return &source{gitDir: gitDir, commonDir: commonDir}
}

// read lets f read with go-git. Any error, and any doubt, means that the
// caller has to put the same question to git.
func read[T any](s *source, f func(*objects) (T, error)) (out T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("go-git: %v", p)
		}
	}()
	if err := s.open(); err != nil {
		return out, err
	}
	if s.altered() {
		return out, errAskGit
	}
	out, err = f(s.repo)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		s.opened = false // perhaps in a pack that came later: look anew the next time
	}
	return out, err
}

func (s *source) open() error {
	if s.opened {
		return s.err
	}
	s.opened = true
	packed, _ := os.ReadFile(filepath.Join(s.commonDir, "packed-refs"))
	if s.gitDir == "" || bytes.Contains(packed, []byte(" refs/replace/")) {
		s.err = errAskGit
		return s.err
	}
	s.repo, s.err = openObjects(s.gitDir, s.commonDir)
	return s.err
}

// altered reports whether git shows another history than the one in the
// objects: replaced, grafted or cut off. go-git knows none of them.
func (s *source) altered() bool {
	for _, name := range []string{"shallow", "info/grafts", "refs/replace"} {
		if exists(filepath.Join(s.commonDir, name)) {
			return true
		}
	}
	return false
}
