package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bare makes by hand what a run of three steps leaves in git: a worktree on a
// branch of its own, three commits and the record, and cleans up.
const bare = `set -e
w=.bench-worktree-{i}
git worktree add -q -b bench/{i} "$w" HEAD
for s in 1 2 3; do
  sh -c "cd $w && echo $s > step-$s"
  git -C "$w" add -A
  git -C "$w" commit -q -m "step $s"
done
git -C "$w" commit -q --allow-empty -m record
git worktree remove --force "$w"
`

// runs3 times a run whose steps do nothing against the bare git commands.
func (b *bench) runs3([]int) error {
	run := b.bin("aiflow-run")
	if run == "" {
		head("aiflow-run is not built")
		return nil
	}
	env := b.gitEnv()
	hand, ours := filepath.Join(b.work, "bare"), filepath.Join(b.work, "ours")
	for _, dir := range []string{hand, ours} {
		if err := b.repository(dir, env); err != nil {
			return err
		}
	}
	return b.show("A run of three steps that do nothing", []job{
		{name: "the bare git commands", argv: []string{"sh", "-c", bare}, dir: hand, env: env, against: -1},
		{name: "aiflow-run", argv: []string{run, "RQ-20260101-{i}"}, dir: ours, env: env, promise: "2x of the bare commands"},
	})
}

// gitEnv is what git needs, and nothing of whoever measures.
func (b *bench) gitEnv() []string {
	return []string{
		"GIT_AUTHOR_NAME=b", "GIT_AUTHOR_EMAIL=b@example.invalid", "GIT_COMMITTER_NAME=b", "GIT_COMMITTER_EMAIL=b@example.invalid",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + b.work,
	}
}

// repository has one request for each run that will be measured.
func (b *bench) repository(dir string, env []string) error {
	if err := os.MkdirAll(filepath.Join(dir, "requests"), 0o777); err != nil {
		return err
	}
	for i := range b.runs + 1 {
		id := fmt.Sprintf("RQ-20260101-%d", i)
		text := "---\nid: " + id + "\ntitle: Do nothing\npriority: P1\nstatus: ready\nsteps:\n" +
			"  - title: one\n    run: echo 1 > step-1\n  - title: two\n    run: echo 2 > step-2\n  - title: three\n    run: echo 3 > step-3\n---\n"
		if err := os.WriteFile(filepath.Join(dir, "requests", id+".md"), []byte(text), 0o666); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("runs/\n.aiflow/\n.bench-*\n"), 0o666); err != nil {
		return err
	}
	for _, line := range []string{"init -q", "config user.name b", "config user.email b@example.invalid", "add -A", "commit -q -m begin"} {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", line, err, out)
		}
	}
	return nil
}
