package gate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/gitcmd"
	"aiflow/internal/proc"
)

type repo struct {
	t    testing.TB
	dir  string
	env  []string
	live string
	stop Stop // of RQ-1
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t: t, dir: filepath.Join(t.TempDir(), "r")}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(r.dir), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "--template=", "-b", "main")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (r *repo) put(path, text string) {
	r.t.Helper()
	path = filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func requestText(id, status string, deps ...string) string {
	text := "---\nid: " + id + "\ntitle: t\npriority: P1\nstatus: " + status + "\n"
	if len(deps) > 0 {
		text += "depends_on: [" + strings.Join(deps, ", ") + "]\n"
	}
	return text + "---\nbody\n"
}

func (r *repo) options() Options {
	return Options{
		Git: gitcmd.Git{Dir: r.dir, Env: r.env}, RequestsDir: "requests", PromptsDir: ".aiflow/prompts", StateDirs: []string{"runs", ".aiflow/locks"},
		Live: func(id string) bool { return id == r.live },
		Stopped: func(id string) Stop {
			if id != "RQ-1" {
				return Stop{}
			}
			return r.stop
		},
	}
}

// judge gives the findings as "level key path:line", one each.
func (r *repo) judge() []string {
	r.t.Helper()
	index, _ := os.ReadFile(filepath.Join(r.dir, ".git/index"))
	found, err := Judge(r.t.Context(), r.options())
	if err != nil {
		r.t.Fatal(err)
	}
	if now, _ := os.ReadFile(filepath.Join(r.dir, ".git/index")); string(now) != string(index) {
		r.t.Error("the index changed")
	}
	var lines []string
	for _, f := range found {
		lines = append(lines, fmt.Sprintf("%s %s %s:%d", f.Level, f.Key, f.Path, f.Line))
	}
	return lines
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(r *repo)
		want string
	}{
		{"nothing staged", func(r *repo) {}, ""},
		{"another file", func(r *repo) { r.put("src/x.go", "x"); r.git("add", ".") }, ""},
		{"good request", func(r *repo) { r.put("requests/RQ-9.md", requestText("RQ-9", "ready", "RQ-1")); r.git("add", ".") }, ""},
		{"bad in the folder, not staged", func(r *repo) { r.put("requests/RQ-9.md", "---\nstatus: nonsense\n") }, ""},
		{"bad as staged, mended in the folder", func(r *repo) {
			r.put("requests/RQ-9.md", requestText("RQ-9", "nonsense"))
			r.git("add", ".")
			r.put("requests/RQ-9.md", requestText("RQ-9", "ready"))
		}, "error problem.bad_status requests/RQ-9.md:5"},
		{"impossible id", func(r *repo) { r.put("requests/a b.md", requestText("a b", "ready")); r.git("add", ".") }, "error problem.bad_file_name requests/a b.md:0;error problem.bad_id requests/a b.md:2"},
		{"template and README", func(r *repo) {
			r.put("requests/_template.md", "nothing")
			r.put("requests/README.md", "nothing")
			r.put("requests/sub/README.ja.md", "nothing")
			r.put("requests/_sub/x.md", "nothing")
			r.put("requests/x.txt", "nothing")
			r.git("add", ".")
		}, ""},
		{"in a folder below", func(r *repo) { r.put("requests/sub/x.md", "nothing"); r.git("add", ".") }, "error problem.no_frontmatter requests/sub/x.md:1"},
		{"only intended to be added", func(r *repo) { r.put("requests/RQ-9.md", "x"); r.git("add", "-N", ".") }, ""},
		{"on an intended one", func(r *repo) {
			r.put("requests/RQ-8.md", requestText("RQ-8", "ready"))
			r.git("add", "-N", ".")
			r.put("requests/RQ-9.md", requestText("RQ-9", "ready", "RQ-8"))
			r.git("add", "requests/RQ-9.md")
		}, "error hook.check_missing requests/RQ-9.md:6"},
		{"depends on nothing", func(r *repo) {
			r.put("requests/RQ-9.md", requestText("RQ-9", "ready", "RQ-1", "RQ-77"))
			r.git("add", ".")
		}, "error hook.check_missing requests/RQ-9.md:6"},
		{"depends on nothing, list over lines", func(r *repo) {
			r.put("requests/RQ-9.md", "---\nstatus: ready\npriority: P1\ndepends_on:\n  - RQ-1\n  - RQ-77\n---\n")
			r.git("add", ".")
		}, "error hook.check_missing requests/RQ-9.md:6"},
		{"depends on one in the folder only", func(r *repo) {
			r.put("requests/RQ-8.md", requestText("RQ-8", "ready"))
			r.put("requests/RQ-9.md", requestText("RQ-9", "ready", "RQ-8"))
			r.git("add", "requests/RQ-9.md")
		}, "error hook.check_missing requests/RQ-9.md:6"},
		{"depends on one of the same commit", func(r *repo) {
			r.put("requests/RQ-8.md", requestText("RQ-8", "ready"))
			r.put("requests/RQ-9.md", requestText("RQ-9", "ready", "RQ-8"))
			r.git("add", ".")
		}, ""},
		{"same id twice", func(r *repo) { r.put("requests/RQ-1-again.md", requestText("RQ-1", "ready")); r.git("add", ".") }, "error problem.duplicate_id requests/RQ-1-again.md:0"},
		{"same id twice, both new", func(r *repo) {
			r.put("requests/RQ-9-a.md", requestText("RQ-9", "ready"))
			r.put("requests/RQ-9-b.md", requestText("RQ-9", "ready"))
			r.git("add", ".")
		}, "error problem.duplicate_id requests/RQ-9-a.md:0;error problem.duplicate_id requests/RQ-9-b.md:0"},
		{"ring through one that is done", func(r *repo) { r.put("requests/RQ-1.md", requestText("RQ-1", "done", "RQ-3")); r.git("add", ".") }, ""},
		{"done, and waits for nobody", func(r *repo) { r.put("requests/RQ-9.md", requestText("RQ-9", "done", "RQ-404")); r.git("add", ".") }, ""},
		{"itself", func(r *repo) { r.put("requests/RQ-9.md", requestText("RQ-9", "ready", "RQ-9")); r.git("add", ".") }, "error hook.check_cycle requests/RQ-9.md:6"},
		{"ring closed over unchanged ones", func(r *repo) { r.put("requests/RQ-1.md", requestText("RQ-1", "ready", "RQ-3")); r.git("add", ".") }, "error hook.check_cycle requests/RQ-1.md:6"},
		{"deleted, others need it", func(r *repo) { r.git("rm", "-q", "requests/RQ-1.md") }, "error hook.check_deleted requests/RQ-1.md:0"},
		{"renamed, others need it", func(r *repo) { r.git("mv", "requests/RQ-1.md", "requests/OTHER.md") }, "warning problem.id_mismatch requests/OTHER.md:2;error hook.check_deleted requests/RQ-1.md:0"},
		{"renamed within its id", func(r *repo) { r.git("mv", "requests/RQ-1.md", "requests/RQ-1-more.md") }, ""},
		{"deleted together", func(r *repo) { r.git("rm", "-q", "requests/RQ-1.md", "requests/RQ-2.md", "requests/RQ-3.md") }, ""},
		{"deleted, nobody needs it", func(r *repo) { r.git("rm", "-q", "requests/RQ-3.md") }, ""},
		{"deleted, only a done one needs it", func(r *repo) {
			r.put("requests/RQ-2.md", requestText("RQ-2", "done", "RQ-1"))
			r.git("add", ".")
			r.git("commit", "-q", "-m", "done")
			r.git("rm", "-q", "requests/RQ-1.md")
		}, ""},
		{"deleted in the folder only", func(r *repo) { _ = os.Remove(filepath.Join(r.dir, "requests/RQ-1.md")) }, ""},
		{"running by hand", func(r *repo) { r.put("requests/RQ-1.md", requestText("RQ-1", "running")); r.git("add", ".") }, "error hook.check_running requests/RQ-1.md:5"},
		{"new and running", func(r *repo) { r.put("requests/RQ-9.md", requestText("RQ-9", "running")); r.git("add", ".") }, "error hook.check_running requests/RQ-9.md:5"},
		{"running by a run", func(r *repo) {
			r.live = "RQ-1"
			r.put("requests/RQ-1.md", requestText("RQ-1", "running"))
			r.git("add", ".")
		}, "warning hook.check_running_live requests/RQ-1.md:5"},
		{"was running before", func(r *repo) {
			r.put("requests/RQ-1.md", requestText("RQ-1", "running"))
			r.git("commit", "-q", "-a", "-m", "x")
			r.put("requests/RQ-1.md", requestText("RQ-1", "running")+"more\n")
			r.git("add", ".")
		}, ""},
		{"blocked by a run", func(r *repo) {
			r.stop = Stop{"RUN-1", "NEEDS_INPUT"}
			r.put("requests/RQ-1.md", strings.Replace(requestText("RQ-1", "blocked"), "---\nbody", "updated_at: 2026-01-02\n---\nbody", 1))
			r.put("requests/RQ-2.md", requestText("RQ-2", "blocked", "RQ-1"))
			r.git("add", ".")
		}, "warning hook.check_blocked requests/RQ-1.md:5"},
		{"blocked by hand", func(r *repo) { r.put("requests/RQ-1.md", requestText("RQ-1", "blocked")); r.git("add", ".") }, ""},
		{"blocked by a run, and more", func(r *repo) {
			r.stop = Stop{"RUN-1", "FAILED"}
			r.put("requests/RQ-1.md", requestText("RQ-1", "blocked")+"more\n")
			r.git("add", ".")
		}, ""},
		{"was blocked before", func(r *repo) {
			r.stop = Stop{"RUN-1", "FAILED"}
			r.put("requests/RQ-1.md", requestText("RQ-1", "blocked"))
			r.git("commit", "-q", "-a", "-m", "x")
			r.put("requests/RQ-1.md", strings.Replace(requestText("RQ-1", "blocked"), "---\nbody", "updated_at: 2026-01-02\n---\nbody", 1))
			r.git("add", ".")
		}, ""},
		{"runs and locks", func(r *repo) {
			r.put("runs/RQ-1/x/stage.json", "{}")
			r.put(".aiflow/locks/queue.lock.json", "{}")
			r.put(".aiflow/config.v1.json", "{}")
			r.put("runs.txt", "")
			r.git("add", ".")
		}, "error hook.check_state .aiflow/locks/queue.lock.json:0;error hook.check_state runs/RQ-1/x/stage.json:0"},
		{"runs taken out", func(r *repo) {
			r.put("runs/x", "")
			r.git("add", ".")
			r.git("commit", "-q", "-m", "x")
			r.git("rm", "-q", "--cached", "runs/x")
		}, ""},
		{"old mistakes elsewhere", func(r *repo) {
			r.put("requests/RQ-7.md", requestText("RQ-7", "nonsense", "RQ-66"))
			r.git("add", ".")
			r.git("commit", "-q", "-m", "x")
			r.put("requests/RQ-9.md", requestText("RQ-9", "ready"))
			r.git("add", ".")
		}, ""},
		{"a link", func(r *repo) {
			if err := os.Symlink("RQ-1.md", filepath.Join(r.dir, "requests/RQ-L.md")); err != nil {
				r.t.Fatal(err)
			}
			r.put("requests/RQ-9.md", requestText("RQ-9", "ready", "RQ-L"))
			r.git("add", ".")
		}, "error hook.check_missing requests/RQ-9.md:6"},
		{"other line ends", func(r *repo) {
			r.git("config", "core.autocrlf", "true")
			r.put("requests/RQ-9.md", strings.ReplaceAll(requestText("RQ-9", "ready"), "\n", "\r\n"))
			r.git("add", ".")
		}, ""},
		{"odd settings of diff", func(r *repo) {
			r.git("config", "diff.renames", "copies")
			r.git("config", "diff.external", "false")
			r.git("config", "diff.relative", "true")
			r.git("config", "color.ui", "always")
			r.put("requests/RQ-9.md", requestText("RQ-9", "bad"))
			r.git("add", ".")
		}, "error problem.bad_status requests/RQ-9.md:5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepo(t)
			r.put("requests/RQ-1.md", requestText("RQ-1", "ready"))
			r.put("requests/RQ-2.md", requestText("RQ-2", "ready", "RQ-1"))
			r.put("requests/RQ-3.md", requestText("RQ-3", "ready", "RQ-2"))
			r.git("add", ".")
			r.git("commit", "-q", "-m", "start")
			tc.do(r)
			if got := strings.Join(r.judge(), ";"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestFirstCommit(t *testing.T) {
	r := newRepo(t)
	r.put("requests/RQ-1.md", requestText("RQ-1", "ready", "RQ-2"))
	r.put("requests/RQ-2.md", requestText("RQ-2", "ready", "RQ-1"))
	r.git("add", ".")
	if got := strings.Join(r.judge(), ";"); got != "error hook.check_cycle requests/RQ-1.md:6" {
		t.Error(got)
	}
}

// Without a staged request file git is started once.
func TestOneStartOfGit(t *testing.T) {
	r := newRepo(t)
	r.put("requests/RQ-1.md", requestText("RQ-1", "ready"))
	r.git("add", ".")
	r.git("commit", "-q", "-m", "start")
	r.put("x", "y")
	r.git("add", ".")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(r.dir, "../log")
	counting := filepath.Join(r.dir, "../git")
	if err := proc.WriteProgram(counting, []byte("#!/bin/sh\necho x >>'"+log+"'\nexec "+git+" \"$@\"\n")); err != nil {
		t.Fatal(err)
	}
	o := r.options()
	o.Git.Bin = counting
	if found, err := Judge(t.Context(), o); err != nil || len(found) != 0 {
		t.Errorf("%v %v", found, err)
	}
	if data, _ := os.ReadFile(log); string(data) != "x\n" {
		t.Errorf("git was started %d times", len(data)/2)
	}
}

func TestBrokenAnswers(t *testing.T) {
	for _, out := range []string{"abc missing\n", "abc blob x\n", "abc blob 5\nab\n", "abc blob -1\n"} {
		if _, err := batch([]byte(out), 1); err == nil {
			t.Errorf("%q was taken", out)
		}
	}
	if _, err := changes([]byte("nonsense\x00path\x00")); err == nil {
		t.Error("nonsense was taken")
	}
}
