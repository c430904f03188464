// Command bench measures what speed was promised, as ratios within one run:
// the start of the binaries against a hello world, aiflow-next against a
// program that only lists the folder, a run and a landing against the bare git commands, a session of several runs against its rounds, a
// lock, commits with and without hooks, the readers of what AI commands say, an import, the page in a browser,
// and the peers that are on PATH with the
// same data.
//
// It does not judge: it prints the promise beside the number. Nothing but
// `make bench` uses it, and it needs the binaries in bin/.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

type bench struct {
	repo string // of aiflow
	work string // scratch folder
	runs int
	seed uint64
}

func main() {
	sizes := flag.String("n", "100,1000,10000", "numbers of requests, with commas")
	runs := flag.Int("runs", 21, "runs of each measurement; medians are shown")
	seed := flag.Uint64("seed", 1, "seed of the generated requests")
	only := flag.String("only", "start,next,import,run,jobs,land,lock,hooks,agents,page,peers", "which parts, with commas")
	flag.Parse()
	if err := run(*sizes, *only, bench{runs: *runs, seed: *seed}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(sizes, only string, b bench) error {
	var err error
	if b.repo, err = os.Getwd(); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp("", "aiflow-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	if err := b.tools(); err != nil {
		return err
	}
	parts := map[string]func([]int) error{"start": b.start, "next": b.next, "import": b.imports, "run": b.runs3, "jobs": b.jobs, "land": b.land, "lock": b.lock, "hooks": b.hooks, "agents": b.agents, "page": b.pages, "peers": b.peersNext}
	ns, err := numbers(sizes)
	if err != nil {
		return err
	}
	for _, part := range strings.Split(only, ",") {
		f, ok := parts[part]
		if !ok {
			return fmt.Errorf("no part %q", part)
		}
		if err := f(ns); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}

func numbers(list string) ([]int, error) {
	var ns []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-n %s: not a number of requests", s)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

// tools builds the programs that are compared with, as ours are built: a copy
// starts faster than what the linker left (Makefile).
func (b *bench) tools() error {
	linked := filepath.Join(b.work, "linked")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", linked+"/", "./scripts/bench/hello", "./scripts/bench/floor")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	for _, name := range []string{"hello", "floor"} {
		if err := exec.Command("cp", filepath.Join(linked, name), filepath.Join(b.work, name)).Run(); err != nil {
			return err
		}
	}
	return nil
}

// bin is the path of one of our binaries, "" when it is not built.
func (b *bench) bin(name string) string {
	path := filepath.Join(b.repo, "bin", name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
