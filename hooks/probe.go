package hooks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/internal/gitcmd"
)

// Probe proves which hooks git reaches: it lets git run them with EnvProbe
// set, upon which our block answers and ends before anything of anybody
// else's runs. Hooks that only a manager's file calls are not tried, because
// the manager would run everything else too.
//
// scratch is an empty folder that Probe may fill and does not remove.
func Probe(ctx context.Context, g gitcmd.Git, f Folder, s *Status, scratch string) error {
	// "git hook" came with 2.36.
	_, err := g.Ask(ctx, "hook", "run", "--ignore-missing", "aiflow-no-such-hook")
	modern := err == nil
	for i := range s.Hooks {
		h := &s.Hooks[i]
		if h.How == "called" || h.How == "legacy" || h.State == Other || h.State == Missing {
			continue
		}
		dir := filepath.Join(scratch, h.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		answer := filepath.Join(dir, "answer")
		if err := os.WriteFile(answer, nil, 0o600); err != nil {
			return err
		}
		probe := f.probeInPlace
		if !modern || slices.ContainsFunc(f.Configs, func(c ConfigHook) bool { return c.Event == h.Name }) {
			probe = f.probeInScratch
		}
		if err := probe(ctx, g, h.Name, dir, answer); err != nil {
			return err
		}
		data, err := os.ReadFile(answer)
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(string(bytes.TrimSpace(data)), "\n")
		reached := strings.HasPrefix(line+" ", h.Name+" ")
		h.Reached = &reached
	}
	return nil
}

// probeInPlace asks the repository's own git.
func (f Folder) probeInPlace(ctx context.Context, g gitcmd.Git, hook, _, answer string) error {
	_, err := g.In(f.Top).Run(ctx, gitcmd.Call{
		Args: []string{"hook", "run", "--ignore-missing", hook, "--", "0", "0", "0"},
		Env:  []string{EnvProbe + "=" + answer, EnvGuard + "="},
	})
	if err != nil && gitcmd.Exit(err) <= 0 {
		return err
	}
	return nil
}

// probeInScratch makes a real commit in a repository of its own that has only
// this hook, for a git that cannot run a hook by itself and for repositories
// where that would also run hooks of others.
func (f Folder) probeInScratch(ctx context.Context, g gitcmd.Git, hook, dir, answer string) error {
	own := filepath.Join(dir, "hooks")
	if err := os.Mkdir(own, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(f.Dir, hook), filepath.Join(own, hook)); err != nil {
		return err
	}
	repo := filepath.Join(dir, "repo")
	for _, args := range scratchSteps(hook, repo, own) {
		_, err := g.In(dir).Run(ctx, gitcmd.Call{Args: args, Mode: gitcmd.Write, Env: []string{
			EnvProbe + "=" + answer, EnvGuard + "=", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		}})
		if err != nil && gitcmd.Exit(err) <= 0 {
			return err
		}
	}
	return nil
}

func scratchSteps(hook, repo, hooks string) [][]string {
	in := func(args ...string) []string {
		return append([]string{"-C", repo, "-c", "user.name=aiflow", "-c", "user.email=aiflow@localhost"}, args...)
	}
	with := func(args ...string) []string {
		return in(append([]string{"-c", "core.hooksPath=" + hooks}, args...)...)
	}
	commit := []string{"commit", "--quiet", "--allow-empty", "-m", "probe"}
	steps := [][]string{{"init", "--quiet", "--template=", repo}}
	merge := with("merge", "--quiet", "new")
	switch hook {
	case PreCommit, PostCommit:
		return append(steps, with(commit...))
	case PreMergeCommit:
		merge = with("merge", "--quiet", "--no-ff", "--no-edit", "new")
	case PostRewrite:
		return append(steps, in(commit...), with("commit", "--quiet", "--allow-empty", "--amend", "-m", "again"))
	case PostCheckout:
		return append(steps, in(commit...), with("checkout", "--quiet", "-b", "other"))
	}
	return append(steps, in(commit...), in("branch", "old"), in(commit...), in("checkout", "--quiet", "-b", "new", "old"),
		in(commit...), in("checkout", "--quiet", "old"), merge)
}
