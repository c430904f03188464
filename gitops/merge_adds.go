package gitops

import (
	"context"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// HasAllOf reports whether merging tip into commit would change nothing, but
// perhaps below the folder except (relative to the root): so somebody took all
// of it over in another way, by a squash with words of their own or by hand. A
// git that cannot try a merge (before 2.38) counts as no.
func (r *reader) HasAllOf(ctx context.Context, commit, tip, except string) (bool, error) {
	into, from, err := r.commits(ctx, commit, tip)
	if err != nil {
		return false, err
	}
	except = r.prefix + strings.TrimSuffix(except, "/")
	out, err := r.git.Do(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", into, from)
	if code := gitcmd.Exit(err); code != 0 && code != 1 { // 1: conflicts
		return false, ctx.Err()
	}
	answer := fields(out)
	if len(answer) == 0 {
		return false, nil
	}
	for _, conflict := range answer[1:] {
		if !strings.HasPrefix(conflict, except+"/") {
			return false, nil
		}
	}
	args := append([]string{"diff-tree", "--quiet", "-r", into, answer[0], "--", ":/"}, excluding(except)...)
	_, err = r.git.Ask(ctx, args...)
	if code := gitcmd.Exit(err); code > 1 || code < 0 {
		return false, failed(err, fault.GitCommandFailed, "commit", tip)
	}
	return err == nil, nil
}
