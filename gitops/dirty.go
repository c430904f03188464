package gitops

import (
	"context"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Dirty lists what git status lists: everything that is not as in HEAD and
// not ignored. A new folder is one entry ending in a slash.
func (r *reader) Dirty(ctx context.Context) ([]Change, error) { return status(ctx, r.git, r.prefix) }

// Clean reports whether git status lists nothing in the workspace.
func (w *Workspace) Clean(ctx context.Context) (bool, error) {
	changes, err := status(ctx, w.git, "")
	return err == nil && len(changes) == 0, err
}

// Ignored names what git ignores in the workspace; a folder stands for all that
// is in it.
func (w *Workspace) Ignored(ctx context.Context) ([]string, error) {
	out, err := w.git.Ask(ctx, quiet("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")...)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed, "path", w.path)
	}
	names := fields(out)
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], "/")
	}
	return names, nil
}

// IgnoredIn names the files in some of its files and folders that git ignores.
func (w *Workspace) IgnoredIn(ctx context.Context, paths ...string) ([]string, error) {
	out, err := w.git.Ask(ctx, append(quiet("--literal-pathspecs", "ls-files", "-o", "-i", "--exclude-standard", "-z", "--"), paths...)...)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed, "path", w.path)
	}
	return fields(out), nil
}

func status(ctx context.Context, g gitcmd.Git, prefix string) ([]Change, error) {
	out, err := g.Ask(ctx, quiet("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--find-renames")...)
	if err != nil {
		return nil, failed(err, fault.GitCommandFailed)
	}
	return parseStatus(fields(out), prefix), nil
}

// parseStatus reads porcelain v2: "1 XY …8 fields path", "2 XY …9 fields path
// NUL old path", "u XY …10 fields path", "? path".
func parseStatus(records []string, prefix string) []Change {
	var changes []Change
	for i := 0; i < len(records); i++ {
		kind, rest, _ := strings.Cut(records[i], " ")
		c := Change{}
		switch kind {
		case "1":
			c = tracking(rest, 8)
		case "2":
			c = tracking(rest, 9)
			i++
			if i < len(records) {
				c.OldPath = relative(prefix, records[i])
			}
		case "u":
			c = tracking(rest, 10)
			c.Status = Unmerged
		case "?":
			c = Change{Path: rest, Status: Untracked}
		default:
			continue
		}
		if c.Path = relative(prefix, c.Path); c.Path == "" {
			c.Path = "." // all of the project's folder
		}
		changes = append(changes, c)
	}
	return changes
}

func tracking(rest string, n int) Change {
	f := strings.SplitN(rest, " ", n)
	if len(f) != n || len(f[0]) != 2 {
		return Change{}
	}
	return Change{Path: f[n-1], Status: letter(f[0]), Staged: f[0][0] != '.'}
}

// letter turns a status of one or two letters into the word of its first one
// that says something.
func letter(xy string) Status {
	for _, c := range xy {
		switch c {
		case 'A', 'C':
			return Added
		case 'D':
			return Deleted
		case 'R':
			return Renamed
		case 'T':
			return TypeChanged
		case 'U':
			return Unmerged
		case 'M':
			return Modified
		}
	}
	return Modified
}
