package gitops

import (
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
	storage *filesystem.Storage
}

// openObjects opens the repository of a checkout whose own part is gitDir. One
// with a format that go-git does not know is errAskGit.
func openObjects(gitDir, commonDir string) (*objects, error) {
	var files billy.Filesystem = osfs.New(gitDir)
	if gitDir != commonDir {
		files = dotgit.NewRepositoryFilesystem(files, osfs.New(commonDir))
	}
	o := &objects{filesystem.NewStorage(files, cache.NewObjectLRUDefault())}
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
	if resolved {
		return storer.ResolveReference(o.storage, name)
	}
	return o.storage.Reference(name)
}

// CommitObject reads a commit.
func (o *objects) CommitObject(h plumbing.Hash) (*object.Commit, error) {
	return object.GetCommit(o.storage, h)
}
