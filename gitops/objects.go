package gitops

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// objects are the references and objects of a repository. go-git's Repository
// has them too, but with every way to reach another machine, which every start
// of a program would pay for.
type objects struct {
	storage           *filesystem.Storage
	gitDir, commonDir string
}

// openObjects opens the repository of a checkout whose own part is gitDir. One
// with a format that go-git does not know is errAskGit.
func openObjects(gitDir, commonDir string) (*objects, error) {
	var files billy.Filesystem = osfs.New(gitDir)
	if gitDir != commonDir {
		files = dotgit.NewRepositoryFilesystem(files, osfs.New(commonDir))
	}
	o := &objects{filesystem.NewStorage(files, cache.NewObjectLRUDefault()), gitDir, commonDir}
	known, err := o.known()
	if err == nil && !known {
		err = errAskGit
	}
	return o, err
}

// known: format 0 or 1, and no extension but the ones that change nothing.
func (o *objects) known() (bool, error) {
	c, err := o.storage.Config()
	if err != nil {
		return false, err
	}
	if v := c.Core.RepositoryFormatVersion; v != "" && v != "0" && v != "1" {
		return false, nil
	}
	for _, e := range c.Raw.Section("extensions").Options {
		if k := strings.ToLower(e.Key); k != "noop" && k != "noop-v1" {
			return false, nil
		}
	}
	return true, nil
}

// Reference reads a reference; resolved follows it to one that names an object.
func (o *objects) Reference(name plumbing.ReferenceName, resolved bool) (*plumbing.Reference, error) {
	for range 2 { // HEAD and its branch: what is asked most by far
		ref := o.loose(name)
		if ref == nil {
			break
		}
		if !resolved || ref.Type() == plumbing.HashReference {
			return ref, nil
		}
		name = ref.Target()
	}
	if resolved {
		return storer.ResolveReference(o.storage, name)
	}
	return o.storage.Reference(name)
}

// loose reads HEAD or a branch from a file of its own; nil when it is not as
// plain as that.
func (o *objects) loose(name plumbing.ReferenceName) *plumbing.Reference {
	dir := o.commonDir
	switch branch, ok := branchOf(name); {
	case name == plumbing.HEAD:
		dir = o.gitDir
	case !ok || !ValidBranch(branch):
		return nil
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name.String())))
	text, ended := strings.CutSuffix(string(data), "\n")
	if err != nil || !ended {
		return nil
	}
	if target, symbolic := strings.CutPrefix(text, "ref: "); symbolic {
		return plumbing.NewSymbolicReference(name, plumbing.ReferenceName(target))
	}
	if !plumbing.IsHash(text) {
		return nil
	}
	return plumbing.NewHashReference(name, plumbing.NewHash(text))
}

// CommitObject reads a commit.
func (o *objects) CommitObject(h plumbing.Hash) (*object.Commit, error) {
	return object.GetCommit(o.storage, h)
}

// BlobObject reads a blob.
func (o *objects) BlobObject(h plumbing.Hash) (*object.Blob, error) {
	return object.GetBlob(o.storage, h)
}

func branchOf(name plumbing.ReferenceName) (branch string, ok bool) {
	return strings.CutPrefix(name.String(), "refs/heads/")
}
