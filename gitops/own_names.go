package gitops

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
)

// Name is a branch, a tag, an entry of the stash list or a replacement (git replace),
// and what it stands for.
type Name struct {
	Ref, Commit string
	Message     string // of a stash
}

const (
	stashRef    = "refs/stash"
	replaceRefs = "refs/replace/"
)

// OwnNames are the branches, tags, stashes and replacements of the person: those of work
// branches are not among them. Of what is deleted there, git keeps no log.
func (r *Repo) OwnNames(ctx context.Context) ([]Name, error) {
	found, err := read(r.src, readNames)
	if err != nil {
		if found, err = r.askNames(ctx); err != nil {
			return nil, err
		}
	}
	var all []Name
	for _, n := range found {
		switch {
		case strings.HasPrefix(n.Ref, "refs/heads/"+r.WorkPrefix):
		case n.Ref != stashRef:
			all = append(all, n)
		default:
			list, err := r.git.Ask(ctx, "stash", "list", "--format=%H %gs")
			if err != nil {
				return nil, failed(err, fault.GitCommandFailed, "name", n.Ref)
			}
			for l := range bytes.Lines(list) {
				hash, message, _ := strings.Cut(line(l), " ")
				all = append(all, Name{Ref: n.Ref, Commit: hash, Message: message})
			}
		}
	}
	return all, nil
}

func readNames(repo *objects) ([]Name, error) {
	refs, err := repo.storage.IterReferences()
	if err != nil {
		return nil, err
	}
	var found []Name
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		switch name := ref.Name(); {
		case !name.IsBranch() && !name.IsTag() && name != stashRef && !strings.HasPrefix(string(name), replaceRefs):
			return nil
		case ref.Type() != plumbing.HashReference:
			return errAskGit
		default:
			found = append(found, Name{Ref: string(name), Commit: ref.Hash().String()})
			return nil
		}
	})
	return found, err
}

func (r *reader) askNames(ctx context.Context) ([]Name, error) {
	refs, err := r.git.Refs(ctx, "refs/heads", "refs/tags", replaceRefs, stashRef)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	var found []Name
	for _, ref := range refs {
		found = append(found, Name{Ref: ref.Name, Commit: ref.Commit})
	}
	return found, nil
}

// Lost are those of before that are no longer there. A branch or a tag that was
// moved is, and its log says from where; a stash is itself.
func Lost(before, after []Name) []Name {
	return slices.DeleteFunc(slices.Clone(before), func(b Name) bool {
		return slices.ContainsFunc(after, func(a Name) bool {
			return a.Ref == b.Ref && (b.Ref != stashRef || a.Commit == b.Commit)
		})
	})
}

// IsStash: it is an entry of the stash list.
func (n Name) IsStash() bool { return n.Ref == stashRef }

// IsReplacement: git shows another object in the place of the one that it names.
func (n Name) IsReplacement() bool { return strings.HasPrefix(n.Ref, replaceRefs) }

// RenamedTo is the branch of made that stands where the lost branch n stood; "" for none.
func (n Name) RenamedTo(made []Name) string {
	const branches = "refs/heads/"
	for _, m := range made {
		if strings.HasPrefix(n.Ref, branches) && strings.HasPrefix(m.Ref, branches) && m.Commit == n.Commit {
			return m.Short()
		}
	}
	return ""
}

// Short is the name as a person knows it.
func (n Name) Short() string {
	_, short, _ := strings.Cut(strings.TrimPrefix(n.Ref, "refs/"), "/")
	return cmp.Or(n.Message, short, n.Ref)
}

// Back is the command that makes it again.
func (n Name) Back() string {
	switch name := proc.Word(n.Short()); {
	case n.IsStash():
		return "git stash store -m " + name + " " + n.Commit
	case strings.HasPrefix(n.Ref, "refs/tags/"):
		return "git tag " + name + " " + n.Commit
	case n.IsReplacement():
		return "git replace " + name + " " + n.Commit
	default:
		return "git branch " + name + " " + n.Commit
	}
}
