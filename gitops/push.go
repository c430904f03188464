package gitops

import (
	"context"
	"os"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// Push publishes a branch at origin under the same name and makes it the
// branch's upstream. It never forces. A refusal is GIT_PUSH_FAILED with git's
// words.
func (r *Repo) Push(ctx context.Context, branch string, hooks bool) error {
	if !ValidBranch(branch) {
		return refuse(fault.GitPushFailed, "bad_name", "branch", branch)
	}
	if err := r.git.May(); err != nil {
		return err
	}
	args := quiet()
	if !hooks {
		args = append(args, "-c", "core.hooksPath="+os.DevNull)
	}
	ref := "refs/heads/" + branch
	_, err := r.git.Do(ctx, append(args, "push", "-q", "-u", "origin", ref+":"+ref)...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	said := withoutSecrets(gitcmd.Stderr(err))
	return fault.Wrap(err, fault.GitPushFailed, "branch", branch, "cause", said, "output", said,
		"exit_status", gitcmd.Exit(err), "command", "git push -u origin "+branch)
}

var credentials = lazily(`://[^/@\s]+@`)

// withoutSecrets leaves the user part of addresses out.
func withoutSecrets(s string) string { return credentials().ReplaceAllString(s, "://") }
