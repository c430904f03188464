package cmd

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// victim is a repository that nobody may touch, and an environment that leads
// to it, as a hook of it, a rebase or a shell with leftovers would set.
type victim struct {
	dir string
	env []string
}

func newVictim(t *testing.T) victim {
	t.Helper()
	v := victim{dir: filepath.Join(t.TempDir(), "victim")}
	for _, args := range [][]string{
		{"init", "-q", v.dir},
		{"-C", v.dir, "add", "-A"},
		{"-C", v.dir, "-c", "user.name=v", "-c", "user.email=v@v", "commit", "-q", "--allow-empty", "-m", "victim"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(v.dir, "staged"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", v.dir, "add", "staged").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	git := filepath.Join(v.dir, ".git")
	v.env = []string{
		"GIT_DIR=" + git, "GIT_INDEX_FILE=" + filepath.Join(git, "index"), "GIT_WORK_TREE=" + v.dir, "GIT_PREFIX=",
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(git, "objects"), "GIT_COMMON_DIR=" + git, "GIT_NAMESPACE=poison",
		"GIT_AUTHOR_DATE=2001-01-01T00:00:00Z", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.bare", "GIT_CONFIG_VALUE_0=false",
	}
	return v
}

// picture is every file of the victim, its bytes, mode and time.
func (v victim) picture(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %s %s %x\n", path, info.Mode(), info.ModTime(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (v victim) unharmed(t *testing.T, before, what string) {
	t.Helper()
	was := map[string]bool{}
	for line := range strings.Lines(before) {
		was[line] = true
	}
	for line := range strings.Lines(v.picture(t)) {
		if !was[line] {
			t.Errorf("%s changed the victim: %s", what, line)
		}
		delete(was, line)
	}
	for line := range was {
		t.Errorf("%s took away from the victim: %s", what, line)
	}
}

// TestPoisonedBinaries starts our binaries in one repository with the
// environment of another.
func TestPoisonedBinaries(t *testing.T) {
	v := newVictim(t)
	root := filepath.Join(t.TempDir(), "repo")
	clean := []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
	}
	start := func(env []string, args ...string) string {
		t.Helper()
		name := args[0]
		if strings.HasPrefix(name, "aiflow") {
			name = filepath.Join(bin, name)
		}
		cmd := exec.Command(name, args[1:]...)
		cmd.Dir, cmd.Env = root, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := os.MkdirAll(filepath.Join(root, "requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "---\ntitle: One\npriority: P1\nstatus: ready\nsteps:\n  - title: First\n    run: echo one > one.txt\n---\n"
	if err := os.WriteFile(filepath.Join(root, "requests/RQ-1.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	start(clean, "git", "init", "-q", "-b", "main")
	start(clean, "git", "config", "user.name", "a")
	start(clean, "git", "config", "user.email", "a@b")
	start(clean, "aiflow", "init")
	start(clean, "git", "add", "-A")
	start(clean, "git", "commit", "-q", "-m", "start")
	before := v.picture(t)
	poisoned := append(append([]string{}, clean...), v.env...)
	for _, args := range [][]string{
		{"aiflow-hook", "install"},
		{"aiflow-hook", "status"},
		{"aiflow-doctor", "full", "--fix"},
		{"aiflow-next"},
		{"aiflow-run", "RQ-1"},
		{"aiflow-request", "list"},
		{"aiflow-run", "list"},
		{"aiflow-doctor", "--json"},
		{"aiflow-hook", "uninstall"},
	} {
		start(poisoned, args...)
		v.unharmed(t, before, strings.Join(args, " "))
	}
	if branches := start(clean, "git", "branch", "--list", "aiflow/*"); !strings.Contains(branches, "aiflow/RQ-1/") {
		t.Errorf("the run's branch is not in its own repository: %q", branches)
	}
	start(poisoned, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "the poison works")
	if v.picture(t) == before {
		t.Error("the environment leads nowhere: nothing was tested")
	}
}

// TestPoisonedSuite runs tests once more with the environment of a repository that
// must stay as it is: those of the one place that starts git, and of what reads a
// repository by itself or is started by git.
func TestPoisonedSuite(t *testing.T) {
	if testing.Short() || os.Getenv("AIFLOW_POISONED") != "" {
		t.Skip("runs other tests")
	}
	v := newVictim(t)
	before := v.picture(t)
	args := []string{"test", "-short", "-count=1", "-vet=off"}
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings { // as this test: what is compiled already is used
		if s.Key == "-race" || s.Key == "-trimpath" || s.Key == "-tags" {
			args = append(args, s.Key+"="+s.Value)
		}
	}
	args = append(args, "./internal/gitcmd/...", "./hooks/...", "./project/...", "./doctor/...", "./cmd/aiflow-hook/...")
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	cmd.Env = append(append(os.Environ(), v.env...), "AIFLOW_POISONED=1", "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	v.unharmed(t, before, "the suite")
}
