package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aiflow/reqmeta/reqgen"
)

// start times the binaries doing next to nothing.
func (b *bench) start([]int) error {
	jobs := []job{{name: "hello", argv: []string{filepath.Join(b.work, "hello")}, against: -1}}
	entries, err := os.ReadDir(filepath.Join(b.repo, "bin"))
	if err != nil {
		return fmt.Errorf("%w (make build)", err)
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && fi.Mode()&0o111 != 0 && !fi.IsDir() {
			jobs = append(jobs, job{name: e.Name() + " --version", argv: []string{b.bin(e.Name()), "--version"}})
		}
	}
	jobs = append(jobs, job{name: "git --version", argv: []string{"git", "--version"}})
	return b.show("Start", jobs)
}

// project makes a folder with n generated requests, and a configuration, once.
func (b *bench) project(n int, config string) (string, error) {
	dir := filepath.Join(b.work, fmt.Sprintf("project-%d-%d", n, len(config)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, ".aiflow"), 0o777); err != nil {
		return "", err
	}
	if config != "" {
		if err := os.WriteFile(filepath.Join(dir, ".aiflow", "config.v1.json"), []byte(config), 0o666); err != nil {
			return "", err
		}
	}
	return dir, reqgen.Write(filepath.Join(dir, "requests"), b.seed, n)
}

// mapped is such a folder in keys and words of another tool.
func (b *bench) mapped(n int) (string, error) {
	dir, err := b.project(n, `{"version": "1.0", "preset": "backlog.md", "paths": {"requests_dir": "requests"}}`)
	if err != nil {
		return "", err
	}
	theirs := strings.NewReplacer("\ndepends_on:", "\ndependencies:", "\nstatus: ready\n", "\nstatus: To Do\n", "\nstatus: done\n", "\nstatus: Done\n",
		"\npriority: P1\n", "\npriority: high\n", "\npriority: P2\n", "\npriority: medium\n", "\ncreated_at:", "\ncreated_date:")
	defer time.Sleep(1500 * time.Millisecond) // see first
	return dir, filepath.WalkDir(filepath.Join(dir, "requests"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(theirs.Replace(string(data))), 0o666)
	})
}

// first times the call that has no cache yet. Files that were just written are
// not kept in one, so it waits until they have been left alone.
func (b *bench) first(next, dir string, n int) error {
	time.Sleep(1500 * time.Millisecond)
	cache := filepath.Join(dir, ".aiflow", "cache")
	return b.show(fmt.Sprintf("First call ever, %d requests", n), []job{
		{name: "floor: list and stat the folder", argv: []string{filepath.Join(b.work, "floor"), filepath.Join(dir, "requests")}, against: -1},
		{name: "aiflow-next without a cache", argv: []string{next}, dir: dir, promise: "600 ms at 10,000", before: func(int) error { return os.RemoveAll(cache) }},
	})
}

// next times aiflow-next against the floor.
func (b *bench) next(ns []int) error {
	next := b.bin("aiflow-next")
	if next == "" {
		head("aiflow-next is not built")
		return nil
	}
	for _, n := range ns {
		dir, err := b.project(n, "")
		if err != nil {
			return err
		}
		if err := b.first(next, dir, n); err != nil {
			return err
		}
		jobs := []job{
			{name: "hello", argv: []string{filepath.Join(b.work, "hello")}, against: -1},
			{name: "floor: list and stat the folder", argv: []string{filepath.Join(b.work, "floor"), filepath.Join(dir, "requests")}, against: -1},
			{name: "aiflow-next", argv: []string{next}, dir: dir, against: 1, promise: "2x of the floor; 1 s at 100,000"},
			{name: "aiflow-next --json --all", argv: []string{next, "--json", "--all"}, dir: dir, against: 1},
		}
		stacking, err := b.project(n, `{"version": "1.0", "auto_run": {"stack": true}}`)
		if err != nil {
			return err
		}
		jobs = append(jobs, job{name: "aiflow-next with auto_run.stack", argv: []string{next}, dir: stacking, against: 2, promise: "1.1x of aiflow-next"})
		mapped, err := b.mapped(n)
		if err != nil {
			return err
		}
		jobs = append(jobs, job{name: "aiflow-next on a mapped folder", argv: []string{next}, dir: mapped, against: 2, promise: "1.2x of aiflow-next"})
		if n <= 100 {
			jobs[2].against, jobs[2].promise = 0, "2.2x of hello"
		}
		if err := b.show(fmt.Sprintf("Next of %d requests", n), jobs); err != nil {
			return err
		}
	}
	return nil
}
