package gate

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/reqmeta"
)

const (
	typeMask = 0o170000
	typeFile = 0o100000
)

// change is one path that the commit changes.
type change struct {
	path             string
	oldMode, newMode int // 0: not there
	oldID, newID     string
}

// staged asks for the difference between HEAD and the tree that would be
// committed, below the folders that matter. Files that are only intended to be
// added are not in that tree.
func staged(ctx context.Context, o Options) ([]change, error) {
	sides := []string{"--cached"}
	if o.From != "" {
		sides = []string{o.From, o.To}
	}
	return o.changes(ctx, append([]string{o.RequestsDir, o.PromptsDir, o.Root + config.File, o.Root + config.RouterFile}, slices.Concat(o.StateDirs, o.DoneDirs)...), sides...)
}

func (o Options) changes(ctx context.Context, paths []string, sides ...string) ([]change, error) {
	args := []string{"diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", "--no-color"}
	args = append(append(args, sides...), "--")
	for _, p := range paths {
		args = append(args, ":(top,literal)"+p)
	}
	out, err := o.Git.AskStaged(ctx, args...)
	if err != nil {
		return nil, failed(err)
	}
	return changes(out)
}

func failed(err error) error {
	if gitcmd.Exit(err) > 0 {
		return gitFailed(err, gitcmd.Stderr(err))
	}
	return err
}

func gitFailed(err error, cause string) error {
	return fault.Wrap(err, fault.GitCommandFailed, "cause", cause)
}

// changes reads ":oldmode newmode old new status NUL path NUL …".
func changes(out []byte) ([]change, error) {
	fields := strings.Split(string(out), "\x00")
	var all []change
	for i := 0; i+1 < len(fields); i += 2 {
		words := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(words) != 5 {
			return nil, gitFailed(nil, "unexpected line: "+fields[i])
		}
		c := change{path: fields[i+1], oldID: words[2], newID: words[3]}
		_, err1 := fmt.Sscanf(words[0], "%o", &c.oldMode)
		_, err2 := fmt.Sscanf(words[1], "%o", &c.newMode)
		if err1 != nil || err2 != nil {
			return nil, gitFailed(nil, "unexpected line: "+fields[i])
		}
		all = append(all, c)
	}
	return all, nil
}

// isRequest reports whether it is a change of a request file.
func (o Options) isRequest(c change) bool {
	inside, ok := strings.CutPrefix(c.path, o.RequestsDir+"/")
	return ok && reqmeta.IsRequest(inside, o.Ignore...)
}

// pair is a request file before and after the commit; nil: not there.
type pair struct {
	path     string
	old, new *reqmeta.Request
	before   []byte // of old
	data     []byte // of new
}

// pairs reads those of the changed files that are wanted, both sides.
func (o Options) pairs(ctx context.Context, changes []change, wanted func(change) bool) ([]pair, error) {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return !wanted(c) })
	var ids []string
	for _, c := range changes {
		if c.oldMode&typeMask == typeFile {
			ids = append(ids, c.oldID)
		}
		if c.newMode&typeMask == typeFile {
			ids = append(ids, c.newID)
		}
	}
	blobs, err := o.blobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make([]pair, len(changes))
	for i, c := range changes {
		f := pair{path: c.path, before: blobs[c.oldID], data: blobs[c.newID]}
		f.old, f.new = o.request(c.path, c.oldMode, f.before), o.request(c.path, c.newMode, f.data)
		all[i] = f
	}
	return all, nil
}

// wasDone: it is a file that goes from the folders of what is done.
func (o Options) wasDone(c change) bool {
	return c.newMode == 0 && c.oldMode&typeMask == typeFile && reqmeta.IsMarkdown(c.path) &&
		slices.ContainsFunc(o.DoneDirs, func(dir string) bool { return strings.HasPrefix(c.path, dir+"/") })
}

// request parses one side. A link is no request of its own.
func (o Options) request(p string, mode int, data []byte) *reqmeta.Request {
	if mode&typeMask != typeFile {
		return nil
	}
	r := o.Mapping.Parse(p, data)
	if r.IsNote() {
		return nil
	}
	return r
}

// related reports whether the commit changes what requests are to each other.
func related(f pair) bool {
	if f.old == nil || f.new == nil {
		return true
	}
	return f.old.ID != f.new.ID || !slices.Equal(f.old.Meta.DependsOn, f.new.Meta.DependsOn)
}

// blobs reads many objects in one start of git.
func (o Options) blobs(ctx context.Context, ids []string) (map[string][]byte, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := o.Git.Run(ctx, gitcmd.Call{
		Args: []string{"cat-file", "--batch", "--buffer"}, Mode: gitcmd.Staged,
		Input: []byte(strings.Join(ids, "\n") + "\n"),
	})
	if err != nil {
		return nil, failed(err)
	}
	return batch(out, len(ids))
}

// batch reads "id type size LF content LF …".
func batch(out []byte, n int) (map[string][]byte, error) {
	blobs := make(map[string][]byte, n)
	for len(out) > 0 {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		words := strings.Fields(string(line))
		if len(words) != 3 {
			return nil, gitFailed(nil, string(line))
		}
		size, err := strconv.Atoi(words[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, gitFailed(nil, string(line))
		}
		blobs[words[0]], out = rest[:size], rest[size+1:]
	}
	return blobs, nil
}
