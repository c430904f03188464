package hooks

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/gitcmd"
)

// bench is a repository with a stand-in for our binary. Everything that runs
// writes a line to the log.
type bench struct {
	t    *testing.T
	root string
	repo string
	log  string
	bin  string
	env  []string
}

const fakeBin = `#!/bin/sh
if [ -n "${AIFLOW_HOOK_PROBE-}" ]; then echo "$1 probe" >>"$AIFLOW_HOOK_PROBE"; exit 0; fi
echo "ours $*" >>"$LOG"
exit ${OURS_EXIT:-0}
`

func newBench(t *testing.T) *bench {
	t.Helper()
	root := real(t.TempDir())
	b := &bench{t: t, root: root, repo: filepath.Join(root, "re po"), log: filepath.Join(root, "log")}
	b.bin = filepath.Join(root, `b in's "日本" $x`, "aiflow-hook")
	b.put(b.bin, fakeBin, 0o755)
	b.env = []string{
		"PATH=" + pathWithoutUs(), "HOME=" + root, "LC_ALL=C", "LOG=" + b.log, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	b.git("init", "-q", "--template=", "-b", "main", b.repo)
	b.put(b.hook("keep"), "", 0o644)
	return b
}

func (b *bench) put(path, text string, mode fs.FileMode) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		b.t.Fatal(err)
	}
}

// run starts a command in the repository and gives its output and exit status.
func (b *bench) run(env []string, name string, args ...string) (string, int) {
	b.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = b.repo, append(append([]string{}, b.env...), env...)
	if _, err := os.Stat(b.repo); err != nil {
		cmd.Dir = b.root
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (b *bench) git(args ...string) string {
	b.t.Helper()
	out, code := b.run(nil, "git", args...)
	if code != 0 {
		b.t.Fatalf("git %v: %d\n%s", args, code, out)
	}
	return out
}

func (b *bench) commit(env ...string) (string, int) {
	b.t.Helper()
	return b.run(env, "git", "commit", "-q", "--allow-empty", "-m", "x")
}

// logged gives the log's lines joined by ";" and empties it.
func (b *bench) logged() string {
	b.t.Helper()
	data, _ := os.ReadFile(b.log)
	_ = os.Remove(b.log)
	return strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", ";")
}

func (b *bench) hook(name string) string { return filepath.Join(b.repo, ".git/hooks", name) }

func (b *bench) gitcmd() gitcmd.Git { return gitcmd.Git{Dir: b.repo, Env: b.env} }

func (b *bench) folder() Folder {
	b.t.Helper()
	r, err := Look(b.t.Context(), b.gitcmd())
	if err != nil {
		b.t.Fatal(err)
	}
	return Read(r)
}

func (b *bench) options() Options { return Options{Bin: b.bin} }

// plan installs and gives the decisions as "hook kind reason" for those hooks
// that are not just new.
func (b *bench) install(o Options) string {
	b.t.Helper()
	return b.apply(Plan(b.folder(), o))
}

func (b *bench) uninstall(o Options) string {
	b.t.Helper()
	return b.apply(PlanRemoval(b.folder(), o))
}

func (b *bench) apply(actions []Action) string {
	b.t.Helper()
	if err := Apply(OS{}, "test", actions); err != nil {
		b.t.Fatal(err)
	}
	return decisions(actions)
}

func decisions(actions []Action) string {
	var words []string
	for _, a := range actions {
		words = append(words, strings.TrimSuffix(a.Hook+":"+string(a.Kind)+":"+a.Reason, ":"))
	}
	return strings.Join(words, " ")
}

func all(word string) string {
	var words []string
	for _, hook := range Names() {
		words = append(words, hook+":"+word)
	}
	return strings.Join(words, " ")
}

// snapshot is every file below dir with mode, link and bytes.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		link, _ := os.Readlink(path)
		data := []byte(link)
		if link == "" {
			data, err = os.ReadFile(path)
		}
		b.WriteString(path + " " + info.Mode().String() + " " + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pathWithoutUs is PATH without an aiflow-hook of the person who runs the tests.
func pathWithoutUs() string {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "aiflow-hook"))
		return err == nil
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}
