package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aiflow/internal/proc"
)

// fleet is one repository with many runners, and the witnesses that watch them.
type fleet struct {
	t        *testing.T
	home     string // everything is below it
	dir      string // the repository
	endpoint string
	env      []string
	workers  []*worker
}

const fleetNamespace = "fleet"

// refWitness is git's own report of each reference that was written, with the
// time and the processes above.
const refWitness = `#!/bin/sh
[ "$1" = committed ] || exit 0
now=$(date +%s%3N)
chain= p=$$
while [ "$p" -gt 1 ]; do
	chain="$chain $p"
	read -r line <"/proc/$p/stat" || break
	set -- ${line##*) }
	p=$2
done
while read -r old new ref; do echo "$now|$chain|$ref|$new"; done >>'WITNESS'
`

// fleetStep says when it begins and when it ends; the first step waits until it
// is let go.
const fleetStep = `say() { echo "$(date +%%s%%3N)|$1|%[1]s|$AIFLOW_REQUEST|$PPID|$$" >>"$LEDGER"; }; say begin; %[2]s; echo %[1]s > %[1]s.txt; say end`

// newFleet makes a project of so many requests, in which jobs may run at a time.
func newFleet(t *testing.T, requests, jobs int) *fleet {
	t.Helper()
	f := &fleet{t: t, home: t.TempDir()}
	f.dir = filepath.Join(f.home, "repo")
	bin := filepath.Join(f.home, "bin")
	build := exec.Command("go", "build", "-trimpath", "-tags", "urfave_cli_no_docs,netgo,osusergo", "-o", bin+"/", "./cmd/aiflow-queue")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	f.endpoint = f.dynamodb()
	f.env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + f.home, "LC_ALL=C", "TZ=UTC", "AIFLOW_LANG=en",
		"AIFLOW_DYNAMODB_ENDPOINT=" + f.endpoint, "AIFLOW_NAMESPACE=" + fleetNamespace,
		"LEDGER=" + f.path("ledger"), "GO=" + f.path("go"), "TMPDIR=" + f.home,
	}
	f.write(f.path(".gitconfig"), "[user]\n\tname = F\n\temail = f@example.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n")
	for i := range requests {
		id := fmt.Sprintf("RQ-%02d", i+1)
		f.write(filepath.Join(f.dir, "requests", id+".md"), fleetRequest(id, `until [ -e "$GO.$PPID" ] || [ -e "$GO.all" ]; do sleep 0.2; done`))
	}
	f.write(filepath.Join(f.dir, ".aiflow", "config.v1.json"), fmt.Sprintf(`{"version": "1.0", "limits": {"jobs": %d}}`, jobs))
	f.write(filepath.Join(f.dir, ".gitignore"), "runs/\n.aiflow/\n")
	f.git("init", "-q", ".")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "begin")
	hook := filepath.Join(f.dir, ".git", "hooks", "reference-transaction")
	if err := proc.WriteProgram(hook, []byte(strings.Replace(refWitness, "WITNESS", f.path("witness"), 1))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.write(f.path("go.all"), "") })
	return f
}

func fleetRequest(id, wait string) string {
	text := "---\ntitle: " + id + "\nstatus: ready\nsteps:\n"
	for _, step := range [][2]string{{"S01", wait}, {"S02", "sleep 0.5"}} {
		text += "  - title: " + step[0] + "\n    run: |\n      " + fmt.Sprintf(fleetStep, step[0], step[1]) + "\n"
	}
	return text + "---\n"
}

// dynamodb starts a server that ends with its standard input.
func (f *fleet) dynamodb() string {
	f.t.Helper()
	dir := os.Getenv("AIFLOW_DYNALITE_DIR")
	if dir == "" {
		dir = "../../testdata/dynalite"
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "dynalite")); err != nil {
		if os.Getenv("CI") == "true" {
			f.t.Fatal(err)
		}
		f.t.Skip("no dynalite: npm ci --ignore-scripts in testdata/dynalite")
	}
	cmd := exec.Command("node", "../../testdata/dynalite/serve.js", "0")
	cmd.Env = os.Environ()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(err, outErr, cmd.Start()); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (f *fleet) path(name string) string { return filepath.Join(f.home, name) }

func (f *fleet) write(path, text string) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		f.t.Error(err)
	}
}

func (f *fleet) command(name string, args ...string) *exec.Cmd {
	path := name
	if name == "aiflow-queue" {
		path = f.path("bin/aiflow-queue")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = f.dir, f.env
	return cmd
}

func (f *fleet) run(name string, args ...string) string {
	f.t.Helper()
	out, err := f.command(name, args...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (f *fleet) git(args ...string) string { return f.run("git", args...) }

// worker is one runner as a process.
type worker struct {
	id      string
	cmd     *exec.Cmd
	stderr  string // a file
	task    string // the first that it took
	ended   chan error
	stopped time.Time
}

func (f *fleet) start(id string) *worker {
	f.t.Helper()
	w := &worker{id: id, cmd: f.command("aiflow-queue", "work", "--runner-id", id), stderr: f.path("stderr." + id), ended: make(chan error, 1)}
	file, err := os.Create(w.stderr)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	w.cmd.Stderr = file
	if err := w.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() { w.ended <- w.cmd.Wait() }()
	f.t.Cleanup(func() {
		_ = w.cmd.Process.Signal(syscall.SIGCONT)
		_ = w.cmd.Process.Kill()
	})
	f.workers = append(f.workers, w)
	return w
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

func (f *fleet) signal(w *worker, sig syscall.Signal) {
	f.t.Helper()
	if err := w.cmd.Process.Signal(sig); err != nil {
		f.t.Errorf("%s: %v", w.id, err)
	}
	w.stopped = time.Now()
}

func (f *fleet) letGo(w *worker) { f.write(f.path("go."+strconv.Itoa(w.pid())), "") }

// soon asks again and again, at most for so long.
func soon(limit time.Duration, ok func() bool) bool {
	deadline := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			return ok()
		}
	}
	return true
}

func (f *fleet) until(what string, limit time.Duration, ok func() bool) {
	f.t.Helper()
	if !soon(limit, ok) {
		f.t.Fatalf("waited %v for %s", limit, what)
	}
}

func (f *fleet) lines(name string, fields int) [][]string {
	data, err := os.ReadFile(f.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.t.Error(err)
	}
	var all [][]string
	for line := range strings.Lines(string(data)) {
		if parts := strings.Split(strings.TrimSuffix(line, "\n"), "|"); len(parts) == fields && strings.HasSuffix(line, "\n") {
			all = append(all, parts)
		}
	}
	return all
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (f *fleet) steps() []stepLine {
	var all []stepLine
	for _, p := range f.lines("ledger", 6) {
		all = append(all, stepLine{int64(number(p[0])), p[1], p[2], p[3], number(p[4]), number(p[5])})
	}
	return all
}

func (f *fleet) refs() []refLine {
	var all []refLine
	for _, p := range f.lines("witness", 4) {
		r := refLine{at: int64(number(p[0])), ref: p[2], value: p[3]}
		for _, pid := range strings.Fields(p[1]) {
			r.chain = append(r.chain, number(pid))
		}
		all = append(all, r)
	}
	return all
}

// step gives the line of a step that a runner's command wrote.
func (f *fleet) step(w *worker, kind, step, task string) (stepLine, bool) {
	for _, s := range f.steps() {
		if s.runner == w.pid() && s.kind == kind && s.step == step && (task == "" || s.request == task) {
			return s, true
		}
	}
	return stepLine{}, false
}

// onDisk is what others see of a task in the repository: its references, its
// request, its records.
func (f *fleet) onDisk(task string) map[string]string {
	f.t.Helper()
	seen := map[string]string{"references": f.git("for-each-ref", "refs/heads/aiflow/"+task+"/")}
	for _, top := range []string{filepath.Join("requests", task+".md"), filepath.Join("runs", task)} {
		err := filepath.WalkDir(filepath.Join(f.dir, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			fi, statErr := d.Info()
			if err := errors.Join(err, statErr); err != nil {
				return err
			}
			rel, _ := filepath.Rel(f.dir, path)
			seen[rel] = fmt.Sprintf("%x %v", sha256.Sum256(data), fi.ModTime())
			return nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return seen
}

func (f *fleet) tips() map[string]string {
	tips := map[string]string{}
	for line := range strings.Lines(f.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/aiflow", "refs/aiflow")) {
		ref, tip, _ := strings.Cut(strings.TrimSpace(line), " ")
		tips[ref] = tip
	}
	return tips
}

func (f *fleet) commits(tips map[string]string) map[string]map[string]struct{} {
	all := map[string]map[string]struct{}{}
	for ref := range tips {
		task := taskOf(ref)
		if task == "" {
			continue
		}
		if all[task] == nil {
			all[task] = map[string]struct{}{}
		}
		for line := range strings.Lines(f.git("log", "--format=%H %s", "main.."+ref)) {
			all[task][strings.TrimSpace(line)] = struct{}{}
		}
	}
	return all
}

func (f *fleet) told(w *worker) string {
	data, _ := os.ReadFile(w.stderr)
	return string(data)
}

// explain shows what a failed test needs to be understood.
func (f *fleet) explain(out io.Writer) {
	for _, w := range f.workers {
		fmt.Fprintf(out, "--- %s (%d) had %s\n%s", w.id, w.pid(), w.task, f.told(w))
	}
}
