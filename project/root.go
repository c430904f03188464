package project

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/reqmeta"
)

// Root says where a project lives.
type Root struct {
	// Dir is the project's folder in the main checkout, its top or a folder below:
	// state lives here, whichever linked worktree a command was started in. Without
	// git it is the folder that holds requests/ or .aiflow/.
	Dir string
	// Git reports whether Dir is in a git checkout, and Top is the top of that.
	Git bool
	Top string
	// Bare is the repository of a checkout that is only one of several worktrees
	// of a bare repository; "" of any other.
	Bare string
}

// FindRoot looks from dir upwards, within the git work tree: the nearest folder
// with .aiflow/ is the project, else the nearest with requests/, else the top. It
// reads a few files and starts no process. Faults: GIT_BARE_REPO, INSIDE_GIT_DIR,
// GIT_NOT_REPO (neither git nor requests/ above).
func FindRoot(dir string) (Root, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Root{}, err
	}
	dir = atomicfile.RealPath(dir)
	top, err := topOf(dir)
	if err != nil {
		return Root{}, err
	}
	if top == "" {
		for at := range upward(dir) {
			if HoldsProject(at) {
				return Root{Dir: at}, nil
			}
		}
		return Root{}, naming(notRepo(nil, dir), dir)
	}
	r, err := mainCheckout(top)
	if err != nil {
		return Root{}, err
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return Root{}, err
	}
	r.Dir = nearest(filepath.Join(r.Top, rel), r.Top)
	if inside, err := filepath.Rel(r.Top, top); r.Dir == "" && err == nil && filepath.IsLocal(inside) {
		r.Dir = nearest(top, r.Top) // a workspace of the project that it lies in
	}
	r.Dir = cmp.Or(r.Dir, r.Top)
	return r, nil
}

// upward is a folder and those around it, the nearest first.
func upward(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
	}
}

// Inside is the project's folder below the top of its checkout; "." is the top.
func (r Root) Inside() string {
	if rel, err := filepath.Rel(r.Top, r.Dir); err == nil && r.Git {
		return rel
	}
	return "."
}

// topOf is the top of the git checkout that dir lies in; "" is none. What git
// takes for no repository, an empty .git, is looked past.
func topOf(dir string) (string, error) {
	for at := range upward(dir) {
		if isCheckout(at) {
			return at, nil
		}
		if isBare(at) {
			return "", notCheckout(at)
		}
	}
	return "", nil
}

func isCheckout(dir string) bool {
	dotGit := filepath.Join(dir, ".git")
	fi, err := os.Stat(dotGit)
	return err == nil && (fi.Mode().IsRegular() || fi.IsDir() && isBare(dotGit))
}

// Checkout is the top of the checkout that dir lies in, a linked worktree or
// another repository as well as the main one; "" is none.
func Checkout(dir string) string {
	for at := range upward(dir) {
		if isCheckout(at) {
			return at
		}
	}
	return ""
}

// IsNearest reports whether a folder of the checkout at top is a project by itself,
// and no part of one around it.
func IsNearest(dir, top string) bool { return nearest(dir, top) == dir }

// nearest is the project that dir, a folder of a checkout, lies in.
func nearest(dir, top string) string {
	found := ""
	for at := range upward(dir) {
		if isDir(filepath.Join(at, ".aiflow")) {
			return at
		}
		if found == "" && holdsRequests(filepath.Join(at, "requests")) {
			found = at
		}
		if at == top {
			break
		}
	}
	return found
}

// HoldsProject reports whether commands that are started in a folder may work on
// a project there.
func HoldsProject(dir string) bool {
	return isDir(filepath.Join(dir, ".aiflow")) || holdsRequests(filepath.Join(dir, "requests"))
}

// mostLooked is how many folders are looked into for a project.
const mostLooked = 256

// naming adds to a fault a project that lies in a folder of one of these.
func naming(f *fault.Error, dirs ...string) *fault.Error {
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), mostLooked)] {
			if at := filepath.Join(dir, e.Name()); e.IsDir() && e.Name()[0] != '.' && HoldsProject(at) {
				f.Facts["below"] = proc.Word(at)
				return f
			}
		}
	}
	return f
}

// holdsRequests tells a folder of requests from one that only has that name: it
// holds a request, or nothing.
func holdsRequests(dir string) bool {
	found, foreign := requestsIn(dir)
	return isDir(dir) && (found || !foreign)
}

// requestsIn looks for the first request, without reading a large folder whole.
func requestsIn(dir string) (found, foreign bool) {
	f, err := os.Open(dir)
	if err != nil {
		return false, false
	}
	defer f.Close()
	for !found {
		entries, err := f.ReadDir(64)
		for _, e := range entries {
			name := e.Name()
			switch {
			case strings.HasPrefix(name, "."), strings.HasPrefix(name, "_"), strings.HasPrefix(strings.ToLower(name), "readme"):
			case reqmeta.IsRequest(name):
				return true, foreign
			case e.IsDir():
				inside, others := requestsIn(filepath.Join(dir, name))
				found, foreign = found || inside, foreign || others
			default:
				foreign = true
			}
		}
		if err != nil {
			break
		}
	}
	return found, foreign
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// notCheckout tells the .git of a checkout from a repository without one.
func notCheckout(dir string) error {
	for at := range upward(dir) {
		if filepath.Base(at) == ".git" && isBare(at) {
			return fault.New(fault.InsideGitDir, "path", dir, "top", filepath.Dir(at))
		}
	}
	f := fault.New(fault.GitBareRepo, "path", dir)
	if of := worktreesOf(dir); len(of) > 0 {
		f.Facts["worktree"] = proc.Word(of[0])
	}
	return f
}

// worktreesOf are the linked worktrees that a repository knows and that are there.
func worktreesOf(common string) []string {
	var found []string
	records, _ := filepath.Glob(filepath.Join(common, "worktrees", "*", "gitdir"))
	for _, record := range records {
		link, err := os.ReadFile(record)
		if at := filepath.Dir(absFrom(filepath.Dir(record), strings.TrimRight(string(link), "\r\n"))); err == nil && isCheckout(at) {
			found = append(found, at)
		}
	}
	return found
}

func isBare(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && head.Mode().IsRegular() &&
		isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

// saysBare reports whether a repository's configuration says that it has no
// checkout of its own: a submodule's, or one in a place of its own, has one.
func saysBare(dir string) bool {
	data, _ := os.ReadFile(filepath.Join(dir, "config"))
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, "=")
		if strings.EqualFold(strings.TrimSpace(name), "bare") && strings.EqualFold(strings.TrimSpace(value), "true") {
			return true
		}
	}
	return false
}

// mainCheckout follows the .git file of a linked worktree to the checkout that
// owns the repository. A submodule, a separate git directory and the worktree
// of a bare repository are checkouts in their own right.
func mainCheckout(top string) (Root, error) {
	if isDir(filepath.Join(top, ".git")) {
		return Root{Top: top, Git: true}, nil
	}
	gitDir, err := gitDirOf(top)
	if err != nil {
		return Root{}, err
	}
	common, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return Root{Top: top, Git: true}, nil
	}
	if err != nil {
		return Root{}, notRepo(err, top)
	}
	dir := absFrom(gitDir, strings.TrimRight(string(common), "\r\n"))
	switch {
	case filepath.Base(dir) == ".git" && isDir(dir):
		return Root{Top: filepath.Dir(dir), Git: true}, nil
	case saysBare(dir):
		return Root{Top: top, Git: true, Bare: dir}, nil
	}
	return Root{Top: top, Git: true}, nil
}

// CommonDir is where the refs of the repository are, which all its checkouts
// share; "" when that cannot be told from files.
func (r Root) CommonDir() string {
	dir := r.gitDir()
	if common, err := os.ReadFile(filepath.Join(dir, "commondir")); dir != "" && err == nil {
		return absFrom(dir, strings.TrimRight(string(common), "\r\n"))
	}
	return dir
}

// gitDir is what git keeps for the checkout; "" when that cannot be told from files.
func (r Root) gitDir() string {
	if dir := filepath.Join(r.Top, ".git"); isDir(dir) {
		return dir
	}
	dir, _ := gitDirOf(r.Top)
	return dir
}

// unfinished: a merge, a squash that nobody committed, or a rebase is under way: what
// lies in the checkout is no decision yet.
func (r Root) unfinished() bool {
	return r.has("MERGE_HEAD", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
}

// has reports whether one of these is in what git keeps for the checkout.
func (r Root) has(names ...string) bool {
	dir := r.gitDir()
	return dir != "" && slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// branch is what HEAD names, when its file says so; git knows more ways (no
// branch, a link for a file, no files at all).
func (r Root) branch() (name string, plain bool) {
	dir := r.gitDir()
	text, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	if dir == "" || err != nil {
		return "", false
	}
	name, plain = strings.CutPrefix(string(text), "ref: refs/heads/")
	name = strings.TrimRight(name, "\r\n")
	return name, plain && name != "" && name != ".invalid"
}

// tip is the commit of HEAD or a ref, where a file of its own says so; "" of any other. A
// commit is its own.
func (r Root) tip(name string) string {
	if name == "HEAD" {
		branch, _ := r.branch()
		name = "refs/heads/" + branch
	}
	if !strings.HasPrefix(name, "refs/") {
		return name
	}
	dir := r.CommonDir()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if dir == "" || err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func gitDirOf(top string) (string, error) {
	path := filepath.Join(top, ".git")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", notRepo(err, top)
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return "", notRepo(nil, path)
	}
	return absFrom(top, dir), nil
}

func notRepo(err error, at string) *fault.Error { return fault.Wrap(err, fault.GitNotRepo, "path", at) }

func absFrom(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
