package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// jobs times a session of four slots that does eight requests of two seconds each,
// against the two rounds that are needed.
func (b *bench) jobs([]int) error {
	run := b.bin("aiflow-run")
	if run == "" {
		head("aiflow-run is not built")
		return nil
	}
	env := b.gitEnv()
	fresh, dir := filepath.Join(b.work, "jobs"), filepath.Join(b.work, "jobs-at-work")
	if err := (&bench{runs: 7}).repository(fresh, env); err != nil {
		return err
	}
	for i := range 8 {
		text := fmt.Sprintf("---\ntitle: Sleep\npriority: P1\nstatus: ready\nsteps:\n  - title: one\n    run: sleep 2; echo %d > file-%d\n---\n", i, i)
		if err := os.WriteFile(filepath.Join(fresh, "requests", fmt.Sprintf("RQ-20260101-%d.md", i)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	commit := exec.Command("git", "commit", "-qam", "requests")
	commit.Dir, commit.Env = fresh, append(os.Environ(), env...)
	if out, err := commit.CombinedOutput(); err != nil {
		return fmt.Errorf("git commit: %w\n%s", err, out)
	}
	few := *b
	few.runs = min(b.runs, 3) // each takes its seconds
	return few.show("Eight requests of `sleep 2`, four at a time", []job{
		{name: "two rounds: sleep 4", argv: []string{"sleep", "4"}, against: -1},
		{name: "aiflow-run auto --jobs 4", argv: []string{run, "auto", "--jobs", "4"}, dir: dir, env: env, promise: "1.6x of two rounds", before: func(int) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return exec.Command("cp", "-a", fresh, dir).Run()
		}},
	})
}
