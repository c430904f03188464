package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/runner/stage"
)

const heldRequest = `---
title: Two steps
status: ready
steps:
  - title: a file
    run: echo one > one.txt
    test: test -s one.txt
  - title: a commit of its own
    run: echo two > two.txt; git add two.txt; git commit -q -m own
---
`

// ground is a repository with one request.
type ground struct {
	t   *testing.T
	dir string
	p   *project.Project
}

func newGround(t *testing.T, request string) *ground {
	t.Helper()
	g := &ground{t: t, dir: t.TempDir()}
	home := t.TempDir()
	g.write(filepath.Join(home, ".gitconfig"), "[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	g.write(filepath.Join(g.dir, "requests", "RQ-1.md"), request)
	g.write(filepath.Join(g.dir, ".gitignore"), "runs/\n.aiflow/\n")
	g.git("init", "-q", ".")
	g.git("add", "-A")
	g.git("commit", "-q", "-m", "begin")
	p, err := project.Open(project.SystemEnv(g.dir, os.Environ(), proc.ClockOf(time.Now, proc.BootClock), os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	g.p = p
	return g
}

func (g *ground) write(path, text string) {
	g.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) git(args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// shared is all that others see: references, worktrees, the checkout, and the
// records of runs. The lock itself and git's objects are not.
func (g *ground) shared() map[string]string {
	g.t.Helper()
	seen := map[string]string{"refs": g.git("for-each-ref"), "worktrees": g.git("worktree", "list"), "branch": g.git("branch", "--show-current")}
	err := filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(g.dir, path)
		if rel == ".git" || rel == ".aiflow/locks" {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			seen[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return seen
}

func (g *ground) runner() *Runner {
	return &Runner{stage.Setup{Project: g.p, Words: stage.Words{
		Text:  func(key string, _ fault.Facts) string { return key },
		Fault: func(code fault.Code, _ fault.Facts) (string, string, []string) { return string(code), "", nil },
	}}}
}

// losing runs the request; once that point is passed, the guard says err. It gives what was shared at that moment, nil when it never came.
func (g *ground) losing(point string, err error) (then map[string]string, passed []string) {
	g.t.Helper()
	r := g.runner()
	r.Guard = func() error {
		if then != nil {
			return err
		}
		return nil
	}
	r.Point = func(name string) {
		passed = append(passed, name)
		if name == point && then == nil {
			then = g.shared()
		}
	}
	if _, err := r.Run(context.Background(), Options{RequestID: "RQ-1"}); err != nil && then == nil {
		g.t.Fatalf("%s: %v", point, err)
	}
	return then, passed
}

// Wherever a run is when its task becomes another's, it writes nothing more.
// The context does not end here: the guard alone must hold it.
func TestNothingIsWrittenOnceTheGuardSaysNo(t *testing.T) {
	for name, request := range map[string]string{
		"done":    heldRequest,
		"stopped": strings.Replace(heldRequest, "-m own", "-m own; echo more > more.txt; exit 3", 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, points := newGround(t, request).losing("", nil)
			slices.Sort(points)
			points = slices.Compact(points)
			if len(points) < 9 {
				t.Fatalf("only %v", points)
			}
			for _, point := range points {
				t.Run(point, func(t *testing.T) {
					g := newGround(t, request)
					then, _ := g.losing(point, fault.New(fault.LockLost, "reason", "replaced"))
					for _, what := range differences(then, g.shared()) {
						t.Error(what)
					}
				})
			}
		})
	}
}

func differences(then, now map[string]string) []string {
	var found []string
	names := maps.Clone(then)
	maps.Copy(names, now)
	for name := range names {
		if then[name] != now[name] {
			found = append(found, fmt.Sprintf("%s changed: %.200q, %.200q", name, then[name], now[name]))
		}
	}
	slices.Sort(found)
	return found
}

// A guard that says INTERRUPTED ends the run as well, but what was put into the
// request file is taken back and the run can be resumed.
func TestInterruptedGuardPutsTheRequestBack(t *testing.T) {
	g := newGround(t, heldRequest)
	then, _ := g.losing("step_command", fault.New(fault.Interrupted))
	text, err := os.ReadFile(filepath.Join(g.dir, "requests", "RQ-1.md"))
	if err != nil || !bytes.Equal(text, []byte(heldRequest)) {
		t.Errorf("%v\n%s", err, text)
	}
	if now := g.git("for-each-ref"); now != then["refs"] {
		t.Errorf("references were\n%s are\n%s", then["refs"], now)
	}
	if out, err := g.runner().Run(context.Background(), Options{RequestID: "RQ-1"}); err != nil || out.Err != nil {
		t.Errorf("the next run: %v, %v", err, out.Err)
	}
}

// What a person saves just before a run writes its status into the file stays.
func TestAnEditOfTheMomentIsKept(t *testing.T) {
	g := newGround(t, heldRequest)
	path := filepath.Join(g.dir, "requests", "RQ-1.md")
	edited := strings.Replace(heldRequest, "title: Two steps", "title: Edited", 1) + "More.\n"
	r, during := g.runner(), ""
	r.Point = func(name string) {
		switch name {
		case "before_running":
			g.write(path, edited)
		case "running":
			text, _ := os.ReadFile(path)
			during = string(text)
		}
	}
	if out, err := r.Run(context.Background(), Options{RequestID: "RQ-1"}); err != nil || out.Err != nil {
		t.Fatal(err, out.Err)
	}
	if want := strings.Replace(edited, "status: ready", "status: running", 1); during != want {
		t.Errorf("while it ran:\n%s", during)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != edited {
		t.Errorf("afterwards: %v\n%s", err, text)
	}
}
