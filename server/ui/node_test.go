package ui

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"aiflow/server/ui/bundle"
)

// The library's own tests run in Node. Without Node they are skipped, but
// never in CI.
func TestInNode(t *testing.T) {
	node := need(t, "node")
	dir := t.TempDir()
	files, err := bundle.Tests(".")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--test", "--test-reporter=tap"}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Env = os.Environ()
	if testing.Short() {
		cmd.Env = append(cmd.Env, "SCHEDULES=500")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node --test: %v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^# pass [1-9]`).Match(out) {
		t.Fatalf("node ran no test:\n%s", out)
	}
	t.Logf("%s", regexp.MustCompile(`(?ms)^# tests.*`).Find(out))
}

// need finds a program. CI must have it.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing: %v", name, err)
	default:
		t.Skipf("%s is missing: %v", name, err)
	}
	return ""
}

func TestBuiltFilesAreUpToDate(t *testing.T) {
	files, err := bundle.Build(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		have, err := os.ReadFile(filepath.FromSlash(f.Name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, f.Data) {
			t.Errorf("%s is not what the sources make: run go generate ./server/ui", f.Name)
		}
	}
}
