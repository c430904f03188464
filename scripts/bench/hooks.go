package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// gate is a way to have something looked at before each commit.
type gate struct {
	name    string
	install func(dir string) error
	tool    string // must be on PATH; "" always there
	promise string
}

func (b *bench) gates() []gate {
	hook := b.bin("aiflow-hook")
	lefthook := "pre-commit:\n  commands:\n    nothing:\n      run: \"true\"\n"
	precommit := "repos:\n- repo: local\n  hooks:\n  - id: nothing\n    name: nothing\n    entry: \"true\"\n    language: system\n    pass_filenames: false\n"
	return []gate{
		{name: "no hook", install: func(string) error { return nil }},
		{name: "a hook that ends at once", install: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git/hooks/pre-commit"), []byte("#!/bin/sh\n"), 0o777)
		}},
		{name: "aiflow-hook, pre-commit only", promise: "no hook + 6 ms", install: func(dir string) error {
			if err := command(dir, nil, hook, "install"); err != nil {
				return err
			}
			return removeAll(dir, "post-merge", "post-commit", "post-checkout", "post-rewrite")
		}},
		{name: "aiflow-hook, all five", install: func(dir string) error { return command(dir, nil, hook, "install") }},
		{name: "lefthook", tool: "lefthook", install: func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "lefthook.yml"), []byte(lefthook), 0o666); err != nil {
				return err
			}
			return command(dir, nil, "lefthook", "install")
		}},
		{name: "pre-commit", tool: "pre-commit", install: func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, ".pre-commit-config.yaml"), []byte(precommit), 0o666); err != nil {
				return err
			}
			return command(dir, nil, "pre-commit", "install")
		}},
		{name: "husky", tool: "npx", install: installHusky},
	}
}

func installHusky(dir string) error {
	husky, err := exec.LookPath("husky")
	if err != nil {
		return err
	}
	if err := command(dir, nil, husky); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".husky/pre-commit"), []byte("true\n"), 0o777)
}

func removeAll(dir string, hooks ...string) error {
	for _, name := range hooks {
		if err := os.Remove(filepath.Join(dir, ".git/hooks", name)); err != nil {
			return err
		}
	}
	return nil
}

// hooks times a commit of one file that is no request, and a merge that brings
// nothing of a run, in a repository that tracks all requests.
func (b *bench) hooks(ns []int) error {
	if b.bin("aiflow-hook") == "" {
		head("aiflow-hook is not built")
		return nil
	}
	for _, n := range ns {
		var jobs []job
		for _, g := range b.gates() {
			if _, err := exec.LookPath(g.tool); g.tool != "" && err != nil {
				continue
			}
			dir, err := b.tracked(n, g.name)
			if err != nil {
				return err
			}
			if err := g.install(dir); err != nil {
				fmt.Fprintf(os.Stderr, "bench: %s left out: %v\n", g.name, err)
				continue
			}
			jobs = append(jobs, job{
				name: g.name, argv: gitLine("commit", "-q", "-m", "{i}"), dir: dir, promise: g.promise,
				before: func(i int) error { return stage(dir, i) },
			})
		}
		if err := b.show(fmt.Sprintf("git commit beside %d tracked requests", n), jobs); err != nil {
			return err
		}
		if err := b.afterHooks(n); err != nil {
			return err
		}
	}
	return nil
}

// afterHooks times what runs when git is done, and doctor.
func (b *bench) afterHooks(n int) error {
	dir, err := b.tracked(n, "after")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "runs/RQ-1/RUN-20260101-000000-000001"), 0o777); err != nil {
		return err
	}
	// A project in use has a cache: next makes it once the files were left alone.
	if err := os.MkdirAll(filepath.Join(dir, ".aiflow"), 0o777); err != nil {
		return err
	}
	time.Sleep(1500 * time.Millisecond)
	next := exec.Command(b.bin("aiflow-next"))
	next.Dir = dir
	if err := next.Run(); err != nil {
		return fmt.Errorf("aiflow-next: %w", err)
	}
	jobs := []job{{name: "aiflow-hook post-merge, nothing merged", argv: []string{b.bin("aiflow-hook"), "post-merge", "0"}, dir: dir, promise: "15 ms", against: -1}}
	if doctor := b.bin("aiflow-doctor"); doctor != "" {
		promise := "120 ms"
		if n <= 1000 {
			promise = "30 ms"
		}
		jobs = append(jobs, job{name: "aiflow-doctor quick", argv: []string{doctor}, dir: dir, promise: promise, against: -1})
	}
	return b.show(fmt.Sprintf("After a merge, and doctor, with %d tracked requests", n), jobs)
}

func gitLine(args ...string) []string {
	return append([]string{"git", "-c", "user.name=b", "-c", "user.email=b@b", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)
}

// tracked makes a repository with n requests and a first commit.
func (b *bench) tracked(n int, name string) (string, error) {
	project, err := b.project(n, "")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.work, fmt.Sprintf("tracked-%d-%s", n, name))
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("/runs/\n/.aiflow/\n"), 0o666); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}, {"commit", "-q", "--allow-empty", "-m", "second"}} {
		line := gitLine(args...)
		if err := command(dir, nil, line[0], line[1:]...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func stage(dir string, i int) error {
	if err := os.WriteFile(filepath.Join(dir, "file.txt"), fmt.Appendf(nil, "%d\n", i), 0o666); err != nil {
		return err
	}
	return command(dir, nil, "git", "add", "file.txt")
}
