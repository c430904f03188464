package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/hooks"
	"aiflow/internal/gitcmd"
)

// TestMain lets this binary stand in for aiflow-hook: what git starts writes
// down which hook it is and whether it would act, or really acts.
func TestMain(m *testing.M) {
	log := os.Getenv("MATRIX_LOG")
	if log == "" || len(os.Args) < 2 || !slices.Contains(hooks.Names(), os.Args[1]) {
		os.Exit(m.Run())
	}
	if log == "real" {
		os.Exit(cli.Main(cli.OS("", ""), program))
	}
	word := "acts"
	cli.Main(cli.OS("", ""), func(s *cli.Shell) *urfave.App {
		w, ok := where(s)
		if !ok || w.replaying(os.Args[1], os.Args[2:]) || !hooks.Gates(os.Args[1]) && !(sameAs(w.top, w.checkout) && moved(os.Args[1], os.Args[2:])) {
			word = "passes"
		}
		return &urfave.App{Name: "matrix", ArgsUsage: "[ARGUMENT...]", Action: func(*urfave.Context) error { return nil }}
	})
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %s\n", os.Args[1], word)
	}
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Which hooks git runs for what people do, and which of them act.
func TestMatrix(t *testing.T) {
	if raced {
		t.Skip("a hundred starts of a binary with the race detector take minutes, and nothing here is concurrent")
	}
	m := newMatrix(t)
	m.row("commit", func() { m.commit("a") })
	m.row("commit --amend", func() { m.git("commit", "-q", "--amend", "-m", "again") })
	m.row("checkout -b", func() { m.git("checkout", "-q", "-b", "ff") })
	m.commit("b")
	m.git("checkout", "-q", "main")
	m.row("merge, fast-forward", func() { m.git("merge", "-q", "ff") })
	m.fork("true", "c", "d")
	m.row("merge, true", func() { m.git("merge", "-q", "--no-edit", "true") })
	m.fork("clash", "same", "same")
	m.row("merge, conflict", func() { m.fails("merge", "-q", "clash") })
	m.row("merge, conflict, finished", func() { m.git("add", "."); m.git("commit", "-q", "-m", "merged") })
	m.fork("squash", "e", "f")
	m.row("merge --squash", func() { m.git("merge", "-q", "--squash", "squash") })
	m.row("merge --squash, committed", func() { m.git("commit", "-q", "-m", "squashed") })
	m.fork("pick", "g", "h")
	m.row("cherry-pick", func() { m.git("cherry-pick", "pick") })
	m.row("revert", func() { m.git("revert", "--no-edit", "HEAD") })
	m.fork("pickclash", "same", "same")
	m.row("cherry-pick, conflict", func() { m.fails("cherry-pick", "pickclash") })
	m.row("cherry-pick, conflict, finished", func() { m.git("add", "."); m.git("commit", "-q", "-m", "picked") })
	m.fork("long", "i", "j")
	m.git("checkout", "-q", "long")
	for i := range 20 {
		m.commit(fmt.Sprint("k", i))
	}
	m.row("rebase of 21 commits", func() { m.git("rebase", "-q", "main") })
	m.git("checkout", "-q", "main")
	m.git("clone", "-q", ".", "../up")
	m.git("remote", "add", "origin", "../up")
	m.git("-C", "../up", "commit", "-q", "--allow-empty", "-m", "up")
	m.row("pull --rebase, nothing local", func() { m.git("pull", "-q", "--rebase", "origin", "main") })
	m.git("-C", "../up", "commit", "-q", "--allow-empty", "-m", "up")
	m.commit("l")
	m.commit("m")
	m.row("pull --rebase, 2 local", func() { m.git("pull", "-q", "--rebase", "origin", "main") })
	m.git("-C", "../up", "commit", "-q", "--allow-empty", "-m", "up")
	m.write("a", "dirty")
	m.row("pull --rebase --autostash", func() { m.git("pull", "-q", "--rebase", "--autostash", "origin", "main") })
	m.git("checkout", "-q", "a")
	m.git("format-patch", "-q", "-1", "-o", "../patches", "pick")
	m.row("am", func() { m.git("am", "-q", "../patches/0001-g.patch") })
	m.row("stash, stash pop", func() { m.write("a", "changed"); m.git("stash", "-q"); m.git("stash", "pop", "-q") })
	m.git("checkout", "-q", "a")
	m.row("worktree add", func() { m.git("worktree", "add", "-q", "../wt", "-b", "wt") })
	m.row("commit in a linked worktree", func() { m.git("-C", "../wt", "commit", "-q", "--allow-empty", "-m", "wt") })
	m.git("bisect", "start", "HEAD", "HEAD~6")
	m.row("bisect good", func() { m.git("bisect", "good") })
	m.git("bisect", "reset")
	m.row("commit --no-verify", func() { m.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "x") })
	m.compare("testdata/matrix.golden")
}

type matrix struct {
	t              *testing.T
	dir, log, text string
	env            []string
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	root := t.TempDir()
	m := &matrix{t: t, dir: filepath.Join(root, "r"), log: filepath.Join(root, "log")}
	m.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "MATRIX_LOG=" + m.log,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	if err := os.MkdirAll(filepath.Join(m.dir, "requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.write("requests/README.md", "")
	m.git("init", "-q", "--template=", "-b", "main")
	m.git("add", ".")
	m.git("commit", "-q", "-m", "start")
	m.install()
	return m
}

func (m *matrix) install() {
	m.t.Helper()
	repo, err := hooks.Look(m.t.Context(), gitcmd.Git{Dir: m.dir, Env: m.env})
	if err != nil {
		m.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := hooks.Apply(hooks.OS{}, "matrix", hooks.Plan(hooks.Read(repo), hooks.Options{Bin: self})); err != nil {
		m.t.Fatal(err)
	}
}

func (m *matrix) run(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = m.dir, m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *matrix) git(args ...string) {
	m.t.Helper()
	if out, err := m.run(args...); err != nil {
		m.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (m *matrix) fails(args ...string) {
	m.t.Helper()
	if out, err := m.run(args...); err == nil {
		m.t.Fatalf("git %v went through\n%s", args, out)
	}
}

func (m *matrix) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// commit makes a commit that adds a line to a file of that name.
func (m *matrix) commit(name string) {
	m.t.Helper()
	old, _ := os.ReadFile(filepath.Join(m.dir, name))
	m.write(name, string(old)+fmt.Sprintf("%d\n", len(m.text)))
	m.git("add", ".")
	m.git("commit", "-q", "-m", name)
}

// fork makes a branch with a commit to one file and then one to another, or
// the same, on main.
func (m *matrix) fork(branch, there, here string) {
	m.t.Helper()
	m.git("checkout", "-q", "-b", branch)
	m.commit(there)
	m.git("checkout", "-q", "main")
	m.text += " "
	m.commit(here)
	m.text = strings.TrimSuffix(m.text, " ")
}

func (m *matrix) row(name string, do func()) {
	m.t.Helper()
	_ = os.Remove(m.log)
	do()
	data, _ := os.ReadFile(m.log)
	m.text += fmt.Sprintf("%-32s %s\n", name, shortened(strings.Split(strings.TrimSpace(string(data)), "\n")))
}

// shortened writes a repeated line once, with its number.
func shortened(lines []string) string {
	var words []string
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		word := lines[i]
		if n > 1 {
			word = fmt.Sprintf("%d x %s", n, word)
		}
		words = append(words, word)
		i += n
	}
	if len(words) == 1 && words[0] == "" {
		return "-"
	}
	return strings.Join(words, ", ")
}

func (m *matrix) compare(path string) {
	m.t.Helper()
	if os.Getenv("AIFLOW_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(m.text), 0o644); err != nil {
			m.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != m.text {
		m.t.Errorf("%v: got\n%s", err, m.text)
	}
}
