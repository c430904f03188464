package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// byHand merges every finished branch as a person does in the checkout.
const byHand = `set -e
for b in $(git for-each-ref --format="%(refname:short)" refs/heads/aiflow); do
  git merge -q --no-ff --no-edit "$b"
done
`

// land times landing 20 finished branches without tests against merging them by hand,
// and the forecast of 50.
func (b *bench) land([]int) error {
	run, land := b.bin("aiflow-run"), b.bin("aiflow-land")
	if run == "" || land == "" {
		head("aiflow-run or aiflow-land is not built")
		return nil
	}
	env := b.gitEnv()
	few, many := filepath.Join(b.work, "land-20"), filepath.Join(b.work, "land-50")
	for dir, n := range map[string]int{few: 20, many: 50} {
		if err := finished(run, dir, env, n); err != nil {
			return err
		}
	}
	again := func(name string) (dir string, before func(int) error) {
		dir = filepath.Join(b.work, name)
		return dir, func(int) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return exec.Command("cp", "-a", few, dir).Run()
		}
	}
	hand, beforeHand := again("land-hand")
	ours, beforeOurs := again("land-ours")
	if err := b.show("Landing 20 branches without tests", []job{
		{name: "the bare git commands", argv: []string{"sh", "-c", byHand}, dir: hand, env: env, against: -1, before: beforeHand},
		{name: "aiflow-land --all", argv: []string{land, "--all"}, dir: ours, env: env, before: beforeOurs, promise: "2x of the bare commands"},
	}); err != nil {
		return err
	}
	return b.show("A forecast of 50 branches", []job{
		{name: "aiflow-land --dry-run", argv: []string{land, "--dry-run"}, dir: many, env: env, against: -1, promise: "3 s"},
	})
}

// finished is a repository with n finished runs.
func finished(run, dir string, env []string, n int) error {
	requests := &bench{runs: n - 1}
	if err := requests.repository(dir, env); err != nil {
		return err
	}
	for i := range n { // each changes a file of its own
		file := filepath.Join(dir, "requests", fmt.Sprintf("RQ-20260101-%d.md", i))
		text := fmt.Sprintf("---\ntitle: Land\npriority: P1\nstatus: ready\nsteps:\n  - title: one\n    run: echo %d > file-%d\n---\n", i, i)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{{"git", "commit", "-qam", "requests"}, {run, "auto", "--max-runs", strconv.Itoa(n)}} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", argv, err, out)
		}
	}
	return nil
}
