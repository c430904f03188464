// Package cmd holds the programs. Its tests build every binary once and run the
// scripts in testdata/script against them, with real git: what a script types
// is what a person types.
//
// It does not hold code of any program.
package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"aiflow/internal/proc"
)

const (
	scripts = "../testdata/script"
	tags    = "urfave_cli_no_docs,netgo,osusergo"

	// aloneBin is set where the tests run again in a namespace without network: the
	// folder of the binaries that the first run built.
	aloneBin = "AIFLOW_TEST_ALONE"
)

// bin is the folder of the binaries, built by TestMain.
var bin string

func TestMain(m *testing.M) {
	if bin = os.Getenv(aloneBin); bin != "" {
		os.Exit(m.Run())
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "aiflow-bin")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		if err := build(bin, tags); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// build makes every binary, as the Makefile does.
func build(dir, tags string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-tags", tags,
		"-ldflags", "-s -w -X main.version=0.0.0-test -X main.commit=test", "-o", dir+"/", "./cmd/...")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// TestScripts runs every folder of scripts that it finds. Those under
// failpoint/ get binaries that can be told to die at a given point.
func TestScripts(t *testing.T) {
	t.Cleanup(func() {
		t.Logf("kinds of hints: %d; following them took %s in all", len(followed.kinds), followed.took)
		if *update {
			writeHintScripts(t)
		}
	})
	for _, dir := range folders(t) {
		name, err := filepath.Rel(scripts, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			path := bin
			if strings.HasPrefix(name, "failpoint") {
				path = crashBin(t)
			}
			testscript.RunT(recorder{t}, testscript.Params{
				Dir: withHints(t, dir), Cmds: commands(), RequireUniqueNames: true,
				Setup: func(e *testscript.Env) error {
					err := setup(e, path)
					newScene(e, dir)
					return err
				},
				Condition: condition,
			})
		})
	}
}

// folders are all folders that hold scripts.
func folders(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(scripts, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if here, err := filepath.Glob(filepath.Join(path, "*.txtar")); err != nil || len(here) > 0 {
			found = append(found, path)
			return err
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return found
}

// setup gives a script a world of its own: PATH begins with the binaries, HOME
// is empty but for a git identity, and the language is English.
func setup(e *testscript.Env, path string) error {
	if err := rewritePrograms(e.WorkDir); err != nil {
		return err
	}
	tooLong := time.AfterFunc(scriptLimit, func() { killAll(e.WorkDir) })
	e.Defer(func() {
		tooLong.Stop()
		killAll(e.WorkDir)
	})
	e.Defer(func() { recordsFit(e.T(), e.WorkDir) })
	home := filepath.Join(e.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	config := filepath.Join(home, "gitconfig")
	text := "[user]\n\tname = Script\n\temail = script@example.invalid\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n[maintenance]\n\tauto = false\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	repo, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	for _, kv := range [][2]string{
		{"PATH", path + string(os.PathListSeparator) + os.Getenv("PATH")},
		{"HOME", home},
		{"GIT_CONFIG_GLOBAL", config},
		{"GIT_CONFIG_NOSYSTEM", "1"},
		{"LC_ALL", "C"},
		{"TZ", "UTC"},
		{"AIFLOW_BIN_DIR", path},
		{"REPO", repo},
	} {
		e.Setenv(kv[0], kv[1])
	}
	return nil
}

// scriptLimit is far longer than any script needs: what it ends hangs.
const scriptLimit = 8 * time.Minute

// killAll ends every process of a script, whoever started it: one that waits for
// a script which failed would otherwise keep the whole test waiting.
func killAll(workDir string) {
	mark := []byte("WORK=" + workDir)
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		env, err := os.ReadFile(path)
		if err != nil || !slices.ContainsFunc(bytes.Split(env, []byte{0}), func(kv []byte) bool { return bytes.Equal(kv, mark) }) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// rewritePrograms writes each program of a script anew: testscript wrote it while
// other scripts may have forked, and a file that is open for writing cannot be
// started. For the same reason scripts copy a program with "exec cp".
func rewritePrograms(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, []byte("#!")) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return errors.Join(os.Remove(path), proc.WriteProgram(path, data), os.Chmod(path, info.Mode()))
	})
}

// condition knows [has:NAME]: whether a binary of ours exists, [tool:NAME]: whether
// somebody else's is in PATH or was installed in testdata/hookmanagers, [root]: whether
// modes of files do not bind us, [inspector]: whether the MCP client that is not ours
// is there, and [dynamodb]: whether there is one to test against.
// CI must have one.
func condition(cond string) (bool, error) {
	switch cond {
	case "dynamodb":
		return hasDynamoDB(), nil
	case "root":
		return os.Geteuid() == 0, nil
	case "inspector":
		return hasInspector(), nil
	}
	if name, ok := strings.CutPrefix(cond, "tool:"); ok {
		_, inPath := exec.LookPath(name)
		_, installed := os.Stat(filepath.Join("..", "testdata", "hookmanagers", "node_modules", ".bin", name))
		return inPath == nil || installed == nil, nil
	}
	name, ok := strings.CutPrefix(cond, "has:")
	if !ok {
		return false, errors.New("unknown condition " + cond)
	}
	_, err := os.Stat(filepath.Join(bin, name))
	return err == nil, nil
}

// hasInspector also gives the client the file of the package around it, of which it
// wants to know its version; the page in there is not installed.
func hasInspector() bool {
	dir := filepath.Join("..", "testdata", "mcp", "node_modules", "@modelcontextprotocol")
	if _, err := os.Stat(filepath.Join(dir, "inspector-cli")); err != nil {
		return false
	}
	return os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name": "@modelcontextprotocol/inspector", "version": "0.17.2"}`), 0o666) == nil
}

func hasDynamoDB() bool {
	dir := os.Getenv("AIFLOW_DYNALITE_DIR")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "dynalite")
	}
	_, err := os.Stat(filepath.Join(dir, "node_modules", "dynalite"))
	return err == nil || os.Getenv("CI") == "true"
}
