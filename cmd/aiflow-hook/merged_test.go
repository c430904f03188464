package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// What becomes of a finished run when its branch comes into HEAD in every way
// that git knows: what the hooks make of it, and what the next command does.
func TestMerged(t *testing.T) {
	if raced || testing.Short() {
		t.Skip("hundreds of starts of a binary with the race detector take minutes, and nothing here is concurrent")
	}
	var text strings.Builder
	for _, w := range ways() {
		r := newRun(t, w.config)
		r.log = ""
		w.do(r)
		status, told := r.status(), r.told()
		next := r.next()
		fmt.Fprintf(&text, "%-34s %-6s then %-6s %s\n", w.name, status, next, told)
		if left := r.out("status", "--porcelain", "--untracked-files=no"); strings.Contains(w.name, "commit_status") != (left == "") && status == "done" {
			t.Errorf("%s: git status says %q", w.name, left)
		}
	}
	m := &matrix{t: t, text: text.String()}
	m.compare("testdata/merged.golden")
}

type way struct {
	name, config string
	do           func(r *run)
}

const committing = `{"version":"1.0","hooks":{"commit_status":true}}`

func ways() []way {
	steps := func(args ...[]string) func(r *run) {
		return func(r *run) {
			for _, a := range args {
				r.git(a...)
			}
		}
	}
	work := func(args ...string) []string { return append(args, workBranch) }
	one := func(args ...string) []string { return args }
	conflict := func(r *run) {
		r.commit("g", "ours\n", "ours")
		r.fails("merge", "-q", workBranch)
		r.write("g", "both\n")
		r.git("add", "g")
		r.git("commit", "-q", "-m", "merged")
	}
	return []way{
		{"commit of something else", "", func(r *run) { r.commit("x", "x\n", "x") }},
		{"merge, fast-forward", "", steps(work("merge", "-q"))},
		{"merge, fast-forward, commit_status", committing, steps(work("merge", "-q"))},
		{"merge, true", "", steps(work("merge", "-q", "--no-ff", "--no-edit"))},
		{"merge, true, commit_status", committing, steps(work("merge", "-q", "--no-ff", "--no-edit"))},
		{"merge, conflicted", "", conflict},
		{"merge, conflicted, commit_status", committing, conflict},
		{"merge --squash, not committed", "", steps(work("merge", "-q", "--squash"))},
		{"merge --squash, committed", "", steps(work("merge", "-q", "--squash"), one("commit", "-q", "--no-edit"))},
		{"merge --squash, other message", "", steps(work("merge", "-q", "--squash"), one("commit", "-q", "-m", "squashed"))},
		{"merge of something else", "", func(r *run) { r.other(); r.git("merge", "-q", "--no-edit", "other") }},
		{"pull", "", func(r *run) { r.upstream(); r.git("pull", "-q", "--no-rebase", "up", "main") }},
		{"pull --rebase, nothing local", "", func(r *run) { r.upstream(); r.git("pull", "-q", "--rebase", "up", "main") }},
		{"pull --rebase, local commits", "", func(r *run) {
			r.upstream()
			r.commit("x", "x\n", "x")
			r.commit("x", "y\n", "y")
			r.git("pull", "-q", "--rebase", "up", "main")
		}},
		{"rebase of 20 commits onto it", "", func(r *run) {
			for i := range 20 {
				r.commit("x", fmt.Sprint(i), "x")
			}
			r.git("rebase", "-q", workBranch)
		}},
		{"cherry-pick", "", steps(work("cherry-pick"))},
		{"am", "", steps(one("format-patch", "-q", "-1", "-o", "../patches", workBranch), one("am", "-q", "../patches/0001-work.patch"))},
		{"amend after a merge", "", steps(work("merge", "-q", "--no-ff", "--no-edit"), one("commit", "-q", "--amend", "-m", "again"))},
		{"merge, then revert", "", steps(work("merge", "-q"), one("stash", "-q"), one("revert", "--no-edit", "HEAD"))},
		{"stash", "", func(r *run) {
			r.write(".gitignore", "/runs\n/.aiflow\n")
			r.git("stash", "-q")
			r.git("stash", "pop", "-q")
		}},
		{"reset --hard to it (no hook)", "", steps(work("reset", "-q", "--hard"))},
		{"checkout of the work branch", "", steps(work("checkout", "-q"))},
		{"checkout and back", "", steps(work("checkout", "-q"), one("checkout", "-q", "main"))},
		{"detached at the work branch", "", steps(work("checkout", "-q", "--detach"))},
		{"checkout of a branch that has it", "", steps(one("checkout", "-q", "-b", "mine"), work("reset", "-q", "--hard"), one("checkout", "-q", "main"), one("checkout", "-q", "mine"))},
		{"branch deleted", "", steps(work("branch", "-q", "-D"))},
	}
}

const (
	workBranch = "aiflow/RQ-1/20260101-000000"
	runID      = "RUN-20260101-000000-000001"
)

// run is a repository with a finished run of RQ-1; RQ-2 waits for it.
type run struct {
	*matrix
	err string
}

func newRun(t *testing.T, config string) *run {
	t.Helper()
	m := newMatrix(t)
	for i, kv := range m.env {
		if strings.HasPrefix(kv, "MATRIX_LOG=") {
			m.env[i] = "MATRIX_LOG=real"
		}
	}
	r := &run{matrix: m}
	r.write("requests/RQ-1.md", "---\nstatus: ready\nsteps: [{title: x, run: echo}]\n---\n")
	r.write("requests/RQ-2.md", "---\nstatus: ready\ndepends_on: [RQ-1]\nsteps: [{title: x, run: echo}]\n---\n# Two\n")
	r.write(".gitignore", "/runs\n/.aiflow/locks\n")
	if config != "" {
		if err := os.Mkdir(filepath.Join(r.dir, ".aiflow"), 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(".aiflow/config.v1.json", config)
	}
	r.git("add", ".")
	r.git("commit", "-q", "-m", "requests")
	base := r.out("rev-parse", "HEAD")
	r.git("checkout", "-q", "-b", workBranch)
	r.commit("g", "theirs\n", "work\n\nAiflow-Request: RQ-1\nAiflow-Run: "+runID+"\nAiflow-Result: DONE")
	r.git("checkout", "-q", "main")
	r.record(base)
	r.err = ""
	return r
}

func (r *run) project() *project.Project {
	r.t.Helper()
	env := project.SystemEnv(r.dir, r.env, proc.ClockOf(time.Now, proc.BootClock), os.Getpid())
	p, err := project.Open(env)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *run) record(base string) {
	r.t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	st := runs.NewStage("RQ-1", runID, "One", now)
	st.Git = runs.Git{BaseBranch: "main", BaseCommit: base, WorkBranch: workBranch}
	for _, to := range []runs.State{runs.Planning, runs.Implementing, runs.Testing, runs.Reporting} {
		if err := st.Move(to, now); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := st.Complete(now); err != nil {
		r.t.Fatal(err)
	}
	dir := r.project().Run("RQ-1", runID)
	if err := dir.Create(); err != nil {
		r.t.Fatal(err)
	}
	if err := dir.SaveStage(st); err != nil {
		r.t.Fatal(err)
	}
}

// git keeps what was said on standard error.
func (r *run) git(args ...string) {
	r.t.Helper()
	out, err := r.run(args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	r.err += out
}

func (r *run) out(args ...string) string {
	r.t.Helper()
	out, err := r.run(args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

func (r *run) commit(name, text, message string) {
	r.t.Helper()
	r.write(name, text)
	r.git("add", name)
	r.git("commit", "-q", "-m", message)
}

func (r *run) other() {
	r.git("checkout", "-q", "-b", "other")
	r.commit("o", "o\n", "o")
	r.git("checkout", "-q", "main")
	r.commit("x", "x\n", "x")
}

// upstream makes a repository in which the run is merged.
func (r *run) upstream() {
	r.git("clone", "-q", ".", "../up")
	r.git("-C", "../up", "merge", "-q", "origin/"+workBranch)
	r.git("remote", "add", "up", "../up")
}

func (r *run) status() string {
	data, err := os.ReadFile(filepath.Join(r.dir, "requests/RQ-1.md"))
	if err != nil {
		r.t.Fatal(err)
	}
	return reqmeta.Parse("requests/RQ-1.md", data).Meta.Status
}

// told is what our hooks said.
func (r *run) told() string {
	var lines []string
	for line := range strings.Lines(r.err) {
		if text, ok := strings.CutPrefix(line, "aiflow-hook: "); ok {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return strings.Join(lines, " | ")
}

// next is what the next command makes of it, and whether RQ-1 would run again.
func (r *run) next() string {
	s, err := r.project().Survey(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	status := r.status()
	if _, again := choose.Judge(s.Folder, s.Facts, "RQ-1"); again {
		status += "!"
	}
	return status
}
