package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// errAskGit says that go-git could answer wrongly or only slowly.
var errAskGit = errors.New("a question for the git binary")

// source reads one checkout's repository with go-git.
type source struct {
	dir, commonDir string

	mu     sync.Mutex
	opened bool
	repo   *gogit.Repository
	err    error
}

func newSource(dir, commonDir string) *source {
	return &source{dir: dir, commonDir: commonDir}
}

// read lets f read with go-git. Any error, and any doubt, means that the
// caller has to put the same question to git.
func read[T any](s *source, f func(*gogit.Repository) (T, error)) (out T, err error) {
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
	if strings.Contains(s.dir+s.commonDir, "\n") || s.packedReplacements() {
		s.err = errAskGit // go-git reads one line of a .git file
		return s.err
	}
	s.repo, s.err = gogit.PlainOpenWithOptions(s.dir, &gogit.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
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

func (s *source) packedReplacements() bool {
	packed, err := os.ReadFile(filepath.Join(s.commonDir, "packed-refs"))
	return err == nil && bytes.Contains(packed, []byte(" refs/replace/"))
}
