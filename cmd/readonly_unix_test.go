//go:build unix

package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is who the programs run as where the tests run as root, whom no mode
// of a file stops.
const nobody = 65534

const readOnlyRequest = `---
title: One
status: ready
steps:
  - title: Write
    run: echo S01 >> "$AIFLOW_ROOT/did"; echo one > one.txt; if [ -e "$AIFLOW_ROOT/close" ]; then chmod -R a-w "$AIFLOW_ROOT/.git/objects"; fi
---
`

// A repository in which nobody may write: what only reads works, what writes
// says where it may not, and nothing is lost or half made.
func TestReadOnlyRepository(t *testing.T) {
	t.Run("everything", func(t *testing.T) {
		w := newReadOnly(t)
		w.closed(".")
		before := w.tree()
		for _, args := range []string{
			"aiflow-next", "aiflow-next --json", "aiflow-next --plan 1", "aiflow-request list", "aiflow-request show RQ-1",
			"aiflow-run list", "aiflow-run RQ-1 --dry-run", "aiflow-lock list",
		} {
			if r := w.run(args); r.status != 0 {
				t.Errorf("%s: %+v", args, r)
			}
		}
		if r := w.run("aiflow-doctor"); r.status != 3 || !strings.Contains(r.out, "RUNS_DIR_CREATE_FAILED") && !strings.Contains(r.out, "FAIL  runs") {
			t.Errorf("doctor: %+v", r)
		}
		for _, args := range []string{"aiflow-run RQ-1", "aiflow-run --next", "aiflow-run auto", "aiflow-request set RQ-1 priority=P0", "aiflow-request new --title x"} {
			if r := w.run(args); r.status != 3 || !strings.Contains(r.err, w.dir) && !strings.Contains(r.err, "requests") && !strings.Contains(r.err, "runs") ||
				strings.Contains(r.err, "INTERNAL_ERROR") {
				t.Errorf("%s: %+v", args, r)
			}
		}
		if after := w.tree(); after != before {
			t.Errorf("changed:\n%s\n--\n%s", before, after)
		}
		w.open(".")
		w.finishes("aiflow-run RQ-1")
	})
	t.Run("git's references", func(t *testing.T) {
		w := newReadOnly(t)
		w.closed(".git/refs")
		if r := w.run("aiflow-doctor"); r.status != 3 || !strings.Contains(r.out, "FAIL  repository") || !strings.Contains(r.out, ".git/refs") {
			t.Errorf("doctor: %+v", r)
		}
		before := w.tree()
		for _, args := range []string{"aiflow-run RQ-1", "aiflow-run --next", "aiflow-run auto"} {
			if r := w.run(args); r.status != 3 || !strings.Contains(r.err, "PATH_NOT_WRITABLE") || !strings.Contains(r.err, ".git/refs") {
				t.Errorf("%s: %+v", args, r)
			}
			if _, err := os.Stat(filepath.Join(w.dir, "runs")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: something was made: %s", args, w.tree()[len(before):])
			}
		}
		w.open(".git/refs")
		w.finishes("aiflow-run RQ-1")
	})
	t.Run("git's objects, from the middle of a step on", func(t *testing.T) {
		w := newReadOnly(t)
		w.write("close", "")
		w.refused("aiflow-run RQ-1", "")
		w.remove("close")
		w.open(".git/objects")
		w.finishes("aiflow-run resume RQ-1")
	})
}

type readOnly struct {
	t   *testing.T
	dir string
	env []string
}

func newReadOnly(t *testing.T) *readOnly {
	t.Helper()
	home := t.TempDir()
	w := &readOnly{t: t, dir: filepath.Join(home, "repo")}
	w.env = []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
	}
	for path, text := range map[string]string{
		"../.gitconfig":    "[user]\n\tname = N\n\temail = n@example.invalid\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n",
		".gitignore":       "runs/\n.aiflow/\ndid\nclose\n",
		"requests/RQ-1.md": readOnlyRequest,
	} {
		w.write(path, text)
	}
	w.own(home)
	for dir := home; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		w.ok(os.Chmod(dir, 0o755))
	}
	w.ok(os.Chmod(bin, 0o755))
	for _, args := range []string{"git init -q .", "git add .", "git commit -q -m start"} {
		if r := w.run(args); r.status != 0 {
			t.Fatalf("%s: %+v", args, r)
		}
	}
	t.Cleanup(func() { w.open(".") })
	return w
}

func (w *readOnly) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *readOnly) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(w.dir, path)
	w.ok(os.MkdirAll(filepath.Dir(path), 0o755))
	w.ok(os.WriteFile(path, []byte(text), 0o644))
	w.own(path)
}

func (w *readOnly) remove(path string) { w.ok(os.Remove(filepath.Join(w.dir, path))) }

func (w *readOnly) own(path string) {
	if os.Geteuid() != 0 {
		return
	}
	w.walk(path, func(p string, _ fs.FileMode) error { return os.Lchown(p, nobody, nobody) })
}

func (w *readOnly) walk(path string, do func(string, fs.FileMode) error) {
	w.t.Helper()
	w.ok(filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		return do(p, fi.Mode())
	}))
}

// closed takes everybody's right to write away, deepest first.
func (w *readOnly) closed(path string) {
	var all []string
	w.walk(filepath.Join(w.dir, path), func(p string, _ fs.FileMode) error { all = append(all, p); return nil })
	for i := len(all) - 1; i >= 0; i-- {
		fi, err := os.Stat(all[i])
		w.ok(err)
		w.ok(os.Chmod(all[i], fi.Mode().Perm()&^0o222))
	}
}

func (w *readOnly) open(path string) {
	w.walk(filepath.Join(w.dir, path), func(p string, m fs.FileMode) error { return os.Chmod(p, m.Perm()|0o200) })
}

func (w *readOnly) tree() string {
	var b strings.Builder
	w.walk(w.dir, func(p string, m fs.FileMode) error {
		rel, _ := filepath.Rel(w.dir, p)
		b.WriteString(m.String() + " " + rel + " " + digestOf(p, m) + "\n")
		return nil
	})
	return b.String()
}

func digestOf(p string, m fs.FileMode) string {
	if !m.IsRegular() {
		return ""
	}
	data, _ := os.ReadFile(p)
	return string(data)
}

type ending struct {
	status   int
	out, err string
}

func (w *readOnly) run(line string) ending {
	w.t.Helper()
	words := strings.Fields(line)
	path := words[0]
	if strings.HasPrefix(path, "aiflow") {
		path = filepath.Join(bin, path)
	}
	cmd := exec.Command(path, words[1:]...)
	cmd.Dir, cmd.Env = w.dir, w.env
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return ending{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// refused wants the run to stop with one clear reason that names the place.
func (w *readOnly) refused(line, place string) {
	w.t.Helper()
	r := w.run(line + " --json")
	var v struct {
		Stage struct{ State, Reason_code string }
		Error struct{ Message string }
	}
	_ = json.Unmarshal([]byte(r.out), &v)
	if r.status != 3 || v.Stage.State != "NEEDS_INPUT" || v.Stage.Reason_code != "PATH_NOT_WRITABLE" || !strings.Contains(v.Error.Message, place) {
		w.t.Errorf("%s: %+v", line, r)
	}
}

// finishes wants it to be done now, each step once.
func (w *readOnly) finishes(line string) {
	w.t.Helper()
	if r := w.run(line); r.status != 0 || !strings.Contains(r.out, "Done: RQ-1") {
		w.t.Fatalf("%s: %+v", line, r)
	}
	if did := digestOf(filepath.Join(w.dir, "did"), 0); did != "S01\n" {
		w.t.Errorf("%s: the step was done: %q", line, did)
	}
	if r := w.run("git status --porcelain"); r.out != "" {
		w.t.Errorf("left behind: %s", r.out)
	}
}
