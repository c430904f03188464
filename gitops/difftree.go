package gitops

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/utils/merkletrie"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// absent is the mode of a side that does not exist.
const absent = "000000"

// entry is one changed path between two trees; paths are from the top.
type entry struct {
	path, oldPath    string
	status           Status
	oldMode, newMode string
	oldHash, newHash string
}

// changed lists the paths that differ. A rename is only possible where files
// both came and went; those comparisons are git's.
func (r *reader) changed(ctx context.Context, from, to string, only []string) ([]entry, error) {
	found, err := read(r.src, func(repo *objects) ([]entry, error) { return readChanged(ctx, repo, from, to) })
	if err != nil {
		found, err = r.askChanged(ctx, from, to)
	}
	if err != nil {
		return nil, err
	}
	return r.choose(found, only), nil
}

func (r *reader) choose(found []entry, only []string) []entry {
	if len(only) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(e entry) bool {
		return !slices.ContainsFunc(only, func(p string) bool {
			full := path.Join(r.prefix, p)
			return full == "." || e.path == full || e.oldPath == full || strings.HasPrefix(e.path, full+"/")
		})
	})
}

func readChanged(ctx context.Context, repo *objects, from, to string) ([]entry, error) {
	var trees [2]*object.Tree
	for i, h := range []string{from, to} {
		c, err := repo.CommitObject(plumbing.NewHash(h))
		if err != nil {
			return nil, err
		}
		if trees[i], err = c.Tree(); err != nil {
			return nil, err
		}
	}
	changes, err := object.DiffTreeContext(ctx, trees[0], trees[1])
	if err != nil {
		return nil, err
	}
	found := make([]entry, 0, len(changes))
	var came, went bool
	for _, c := range changes {
		e, err := fromChange(c)
		if err != nil {
			return nil, err
		}
		came, went = came || e.status == Added, went || e.status == Deleted
		found = append(found, e)
	}
	if came && went {
		return nil, errAskGit
	}
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return found, nil
}

func fromChange(c *object.Change) (entry, error) {
	action, err := c.Action()
	if err != nil {
		return entry{}, err
	}
	none := plumbing.ZeroHash.String()
	e := entry{oldMode: absent, newMode: absent, oldHash: none, newHash: none}
	if action != merkletrie.Insert {
		e.path, e.oldMode, e.oldHash = c.From.Name, octal(c.From.TreeEntry.Mode), c.From.TreeEntry.Hash.String()
	}
	if action != merkletrie.Delete {
		e.path, e.newMode, e.newHash = c.To.Name, octal(c.To.TreeEntry.Mode), c.To.TreeEntry.Hash.String()
	}
	switch {
	case action == merkletrie.Insert:
		e.status = Added
	case action == merkletrie.Delete:
		e.status = Deleted
	case kind(e.oldMode) != kind(e.newMode):
		e.status = TypeChanged
	default:
		e.status = Modified
	}
	return e, nil
}

func octal(m filemode.FileMode) string { return fmt.Sprintf("%06o", uint32(m)) }

// kind is a mode without its permissions: file, link, submodule.
func kind(mode string) string { return mode[:2] }

func (r *reader) askChanged(ctx context.Context, from, to string) ([]entry, error) {
	out, err := r.git.Ask(ctx, "diff-tree", "-r", "--raw", "--no-abbrev", "-z", "-M", from, to, "--")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	var found []entry
	records := fields(out)
	for i := 0; i+1 < len(records); i += 2 {
		f := strings.Fields(strings.TrimPrefix(records[i], ":"))
		if len(f) != 5 {
			return nil, unexpected("git diff-tree", records[i])
		}
		e := entry{path: records[i+1], status: letter(f[4]), oldMode: f[0], newMode: f[1], oldHash: f[2], newHash: f[3]}
		if e.status == Renamed && i+2 < len(records) {
			e.oldPath, e.path = e.path, records[i+2]
			i++
		}
		found = append(found, e)
	}
	return found, nil
}

// load reads the content of the files that will be shown.
func (b *builder) load(ctx context.Context, changed []entry) error {
	b.blobs, b.large = map[string][]byte{}, map[string]bool{}
	var wanted []string
	for _, e := range changed[:min(len(changed), b.reach())] {
		for _, side := range [][2]string{{e.oldMode, e.oldHash}, {e.newMode, e.newHash}} {
			if side[0] != absent && side[0] != gitlink && e.oldHash != e.newHash {
				wanted = append(wanted, side[1])
			}
		}
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	_, err := read(b.r.src, func(repo *objects) (bool, error) { return true, b.readBlobs(repo, wanted) })
	if err != nil && len(wanted) > 0 {
		return b.askBlobs(ctx, wanted)
	}
	return nil
}

// reach is how many changed paths are looked into at all.
func (b *builder) reach() int { return 2 * b.o.MaxFiles }

// fits takes a file of this size into account; false when it is too large, or
// when there is too much of it all.
func (b *builder) fits(size int64) bool {
	if size > b.o.MaxFileBytes || b.bytes+size > 32*b.o.MaxFileBytes {
		return false
	}
	b.bytes += size
	return true
}

func (b *builder) readBlobs(repo *objects, wanted []string) error {
	for _, h := range wanted {
		size, err := repo.storage.EncodedObjectSize(plumbing.NewHash(h))
		if err != nil {
			return err
		}
		if !b.fits(size) {
			b.large[h] = true
			continue
		}
		if b.blobs[h], err = readBlob(repo, plumbing.NewHash(h)); err != nil {
			return err
		}
	}
	return nil
}

// askBlobs learns the sizes first, so that no large file is read.
func (b *builder) askBlobs(ctx context.Context, wanted []string) error {
	b.bytes = 0
	list := []byte(strings.Join(wanted, "\n") + "\n")
	out, err := b.r.git.AskInput(ctx, list, "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return failed(err, fault.GitCommandFailed)
	}
	var small bytes.Buffer
	for l := range strings.SplitSeq(string(out), "\n") {
		name, size, _ := strings.Cut(l, " ")
		n, err := strconv.ParseInt(size, 10, 64)
		switch {
		case err != nil:
		case b.fits(n):
			small.WriteString(name + "\n")
		default:
			b.large[name] = true
		}
	}
	out, err = b.r.git.AskInput(ctx, small.Bytes(), "cat-file", "--batch=%(objectname) %(objectsize)")
	if err != nil {
		return failed(err, fault.GitCommandFailed)
	}
	return b.takeBatch(out)
}

// takeBatch reads "name size LF content LF" again and again.
func (b *builder) takeBatch(out []byte) error {
	for len(out) > 0 {
		about, rest, ok := bytes.Cut(out, []byte("\n"))
		name, size, _ := strings.Cut(string(about), " ")
		n, err := strconv.Atoi(size)
		if !ok || err != nil || n >= len(rest) {
			return unexpected("git cat-file --batch", string(about))
		}
		b.blobs[name], out = rest[:n], rest[n+1:]
	}
	return nil
}

// countRest asks git for the lines of the files that were not compared.
func (b *builder) countRest(ctx context.Context) error {
	if !b.uncounted {
		return nil
	}
	out, err := b.r.git.Run(ctx, gitcmd.Call{Args: []string{
		"diff-tree", "-r", "--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv", b.d.Base, b.d.Head, "--",
	}})
	if err != nil {
		return failed(err, fault.GitCommandFailed)
	}
	at := map[string]int{}
	for i, f := range b.d.Files {
		if f.Truncated && len(f.Hunks) == 0 {
			at[f.Path] = i
		}
	}
	records := fields(out)
	for i := 0; i < len(records); i++ {
		var p, added, deleted string
		p, added, deleted, i = numstatEntry(records, i, b.r.prefix)
		if n, ok := at[p]; ok && p != "" {
			c := FileChange{}
			count(&c, added, deleted)
			b.d.Files[n].Additions, b.d.Files[n].Deletions, b.d.Files[n].Binary = c.Added, c.Deleted, c.Binary
		}
	}
	return nil
}
