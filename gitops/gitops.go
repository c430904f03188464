// Package gitops is the project's git repository as runs need it: base and
// work branches, worktrees, step commits, attempts that are kept, diffs and
// compare URLs. go-git reads what it reads faithfully (HEAD, refs, commits,
// trees); the git binary answers the rest and does every write.
//
// It does not touch the user's checkout unless asked for InPlace, and it does
// not rebase, force, push or commit on a base branch.
package gitops

import (
	"errors"
)

// ErrBranchExists is in the chain of CreateBranch's fault when a branch of
// that name is there already.
var ErrBranchExists = errors.New("the branch exists already")

// ErrNothingToCommit is in the chain of Commit's fault when the workspace
// equals its HEAD.
var ErrNothingToCommit = errors.New("nothing to commit")

// ErrMoved is in the chain of a fault when a ref is not where the caller
// thought it was.
var ErrMoved = errors.New("the ref has moved")

// Head is where a checkout stands.
type Head struct {
	Branch   string // short name; "" when detached
	Commit   string // "" when unborn
	Unborn   bool   // the branch has no commit yet
	Detached bool   // no branch is checked out
}

// Commit is one commit as a run records it.
type Commit struct {
	Hash     string
	Subject  string
	Trailers map[string][]string
}

// Status says what happened to a file.
type Status string

// The kinds of changes.
const (
	Added       Status = "added"
	Modified    Status = "modified"
	Deleted     Status = "deleted"
	Renamed     Status = "renamed"
	TypeChanged Status = "type_changed" // file, symlink, submodule
	Untracked   Status = "untracked"    // only in Dirty
	Unmerged    Status = "unmerged"     // only in Dirty
)

// Change is one line of git status in the checkout.
type Change struct {
	Path    string
	OldPath string // renames
	Status  Status
	Staged  bool // the index differs from HEAD
}

// FileChange is one changed file of a workspace.
type FileChange struct {
	Path       string
	OldPath    string // renames
	Status     Status
	Added      int // lines
	Deleted    int // lines
	Binary     bool
	Submodule  bool // a repository inside the workspace: its content is not in the commit
	OldMode    string
	NewMode    string
	ModeChange bool
}

// ChangeSet is everything in a workspace that differs from its HEAD.
type ChangeSet struct {
	Files   []FileChange
	Added   int
	Deleted int
	Tree    string // of the workspace as it stands; equal trees are equal content
}

// Empty reports whether nothing differs.
func (c ChangeSet) Empty() bool { return len(c.Files) == 0 }

// CommitMessage is made into subject, body and trailers, each a paragraph.
type CommitMessage struct {
	Subject, Body string
	Trailers      [][2]string
}

// CommitOptions say how a commit is made.
type CommitOptions struct {
	RunHooks   bool
	AllowEmpty bool
	Env        []string // further variables for git and its hooks
}
