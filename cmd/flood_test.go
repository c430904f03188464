package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// An agent that says 200 MB costs at most 32 MiB more than one that says
// nothing.
func TestFloodingAgentCostsLittleMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ru_maxrss is counted differently")
	}
	const limit = 32 << 10 // KiB
	quiet := peakOf(t, "true")
	loud := peakOf(t, "head -c 200000000 /dev/zero | tr '\\\\000' '{'")
	t.Logf("quiet %d KiB, loud %d KiB", quiet, loud)
	if loud-quiet > limit {
		t.Errorf("200 MB cost %d KiB", loud-quiet)
	}
}

// peakOf is the largest resident size of a run whose implementer is a shell
// command.
func peakOf(t *testing.T, agent string) int64 {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		".aiflow/router.v1.json": `{"version": "1.0", "routing": {"implementer": {"primary": "mine"}},
			"commands": {"mine": {"bin": "sh", "args": ["-c", "cat >/dev/null; echo x > x; ` + agent + `"]}}}`,
		"requests/RQ-1.md": "---\ntitle: One\nstatus: ready\n---\nDo it.\n",
		"gitconfig":        "[user]\n\tname = T\n\temail = t@example.org\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_GLOBAL="+filepath.Join(dir, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GOMEMLIMIT=off")
	run := func(name string, args ...string) *os.ProcessState {
		c := exec.Command(name, args...)
		c.Dir, c.Env = dir, env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return c.ProcessState
	}
	run("git", "init", "-q", ".")
	run("git", "add", "-A")
	run("git", "commit", "-q", "-m", "begin")
	usage, ok := run(filepath.Join(bin, "aiflow-run"), "RQ-1").SysUsage().(*syscall.Rusage)
	if !ok {
		t.Skip("no resource usage")
	}
	return usage.Maxrss
}
