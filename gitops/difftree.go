package gitops

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
)

// absent is the mode of a side that does not exist.
const absent = "000000"

// entry is one changed file, with the objects that its sides are.
type entry struct {
	FileChange
	oldHash, newHash string
}

// changed lists the files that differ.
func (r *reader) changed(ctx context.Context, from, to string, only []string) ([]entry, error) {
	out, err := r.git.Ask(ctx, "diff-tree", "-r", "--raw", "--numstat", "--no-abbrev", "-z", "-M", "--no-ext-diff", "--no-textconv", from, to, "--")
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	return slices.DeleteFunc(parseRawNumstat(fields(out), r.prefix), func(e entry) bool {
		return len(only) > 0 && !slices.ContainsFunc(only, func(p string) bool {
			p = path.Clean(p)
			return e.Path == p || e.OldPath == p || strings.HasPrefix(e.Path, p+"/") || p == "." && !strings.HasPrefix(e.Path, "../")
		})
	}), nil
}

// load reads the content of the files that will be shown.
func (b *builder) load(ctx context.Context, changed []entry) error {
	b.blobs, b.large = map[string][]byte{}, map[string]bool{}
	var wanted []string
	for _, e := range changed[:min(len(changed), b.reach())] {
		for _, side := range [][2]string{{e.OldMode, e.oldHash}, {e.NewMode, e.newHash}} {
			if side[0] != absent && side[0] != gitlink && e.oldHash != e.newHash {
				wanted = append(wanted, side[1])
			}
		}
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	if len(wanted) == 0 {
		return nil
	}
	return b.askBlobs(ctx, wanted)
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

// askBlobs learns the sizes first, so that no large file is read.
func (b *builder) askBlobs(ctx context.Context, wanted []string) error {
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
