package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
)

// Root says where a project lives.
type Root struct {
	// Dir is the main checkout: state lives here, whichever linked worktree a
	// command was started in. Without git it is the folder that holds requests/
	// or .aiflow/.
	Dir string
	// Git reports whether Dir is a git checkout.
	Git bool
}

// FindRoot looks from dir upwards. It reads a few files and starts no process.
// Faults: GIT_BARE_REPO, INSIDE_GIT_DIR, GIT_NOT_REPO (neither git nor requests/ above).
func FindRoot(dir string) (Root, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Root{}, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	plain := ""
	for at := dir; ; at = filepath.Dir(at) {
		switch fi, err := os.Lstat(filepath.Join(at, ".git")); {
		case err == nil && fi.IsDir():
			return Root{Dir: at, Git: true}, nil
		case err == nil && fi.Mode().IsRegular():
			return mainCheckout(at)
		}
		if isBare(at) {
			return Root{}, notCheckout(at)
		}
		if plain == "" && hasProject(at) {
			plain = at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if plain == "" {
		return Root{}, fault.New(fault.GitNotRepo, "path", dir)
	}
	return Root{Dir: plain}, nil
}

// Checkout is the top of the checkout that dir lies in, a linked worktree or
// another repository as well as the main one; "" is none.
func Checkout(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

func hasProject(dir string) bool {
	return isDir(filepath.Join(dir, "requests")) || isDir(filepath.Join(dir, ".aiflow"))
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// notCheckout tells the .git of a checkout from a repository without one.
func notCheckout(dir string) error {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if filepath.Base(at) == ".git" && isBare(at) {
			return fault.New(fault.InsideGitDir, "path", dir, "top", filepath.Dir(at))
		}
	}
	return fault.New(fault.GitBareRepo, "path", dir)
}

func isBare(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && head.Mode().IsRegular() &&
		isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

// mainCheckout follows the .git file of a linked worktree to the checkout that
// owns the repository. A submodule, a separate git directory and the worktree
// of a bare repository are checkouts in their own right.
func mainCheckout(top string) (Root, error) {
	gitDir, err := gitDirOf(top)
	if err != nil {
		return Root{}, err
	}
	common, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return Root{Dir: top, Git: true}, nil
	}
	if err != nil {
		return Root{}, fault.Wrap(err, fault.GitNotRepo, "path", top)
	}
	dir := absFrom(gitDir, strings.TrimRight(string(common), "\r\n"))
	if filepath.Base(dir) == ".git" && isDir(dir) {
		return Root{Dir: filepath.Dir(dir), Git: true}, nil
	}
	return Root{Dir: top, Git: true}, nil
}

// commonDir is where the refs of the repository are, which all its checkouts
// share; "" when that cannot be told from files.
func (r Root) commonDir() string {
	dir := filepath.Join(r.Dir, ".git")
	if isDir(dir) {
		return dir
	}
	dir, err := gitDirOf(r.Dir)
	if err != nil {
		return ""
	}
	if common, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		return absFrom(dir, strings.TrimRight(string(common), "\r\n"))
	}
	return dir
}

// branch is what HEAD names, when its file says so; git knows more ways (no
// branch, a link for a file, no files at all).
func (r Root) branch() (name string, plain bool) {
	dir := filepath.Join(r.Dir, ".git")
	if !isDir(dir) {
		var err error
		if dir, err = gitDirOf(r.Dir); err != nil {
			return "", false
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	if err != nil {
		return "", false
	}
	name, plain = strings.CutPrefix(string(text), "ref: refs/heads/")
	name = strings.TrimRight(name, "\r\n")
	return name, plain && name != "" && name != ".invalid"
}

func gitDirOf(top string) (string, error) {
	path := filepath.Join(top, ".git")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fault.Wrap(err, fault.GitNotRepo, "path", top)
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return "", fault.New(fault.GitNotRepo, "path", path)
	}
	return absFrom(top, dir), nil
}

func absFrom(base, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}
