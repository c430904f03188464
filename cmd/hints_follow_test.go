package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runs"
)

// point is a state of a project that somebody may be told what to do in.
type point struct {
	name   string
	files  map[string]string
	come   string // the shell commands that lead there; the last one prints hints
	mended string // what the hints say is to be done first, where they do
	codes  []fault.Code
}

func stepsOf(list ...string) string {
	return "---\ntitle: One\nstatus: ready\nsteps:\n" + strings.Join(list, "") + "---\n"
}

func stepOf(run string, more ...string) string {
	s := fmt.Sprintf("  - title: Do\n    run: %q\n", run)
	for _, m := range more {
		s += "    " + m + "\n"
	}
	return s
}

const (
	ask      = "---\ntitle: One\nstatus: ready\n---\nChange a file.\n"
	agent    = `{"version":"1.0","routing":{"implementer":{"primary":"agent"}},"commands":{"agent":{"bin":"sh","args":["-c",%q]}}}`
	theRun   = `$(basename $(ls -d runs/RQ-1/RUN-* | tail -1))`
	firstRun = `$(basename $(ls -d runs/RQ-1/RUN-* | head -1))`
	inThere  = ".aiflow/worktrees/RQ-1"
)

func points() []point {
	fails := stepsOf(stepOf("echo half > half.txt; exit 3"))
	untested := stepsOf(stepOf("echo a > a.txt"), stepOf("echo b > b.txt", "test: test -e c.txt"))
	router := func(script string) map[string]string {
		return map[string]string{"requests/RQ-1.md": ask, ".aiflow/router.v1.json": fmt.Sprintf(agent, script)}
	}
	one := func(text string) map[string]string { return map[string]string{"requests/RQ-1.md": text} }
	with := func(text, config string) map[string]string {
		return map[string]string{"requests/RQ-1.md": text, ".aiflow/config.v1.json": config}
	}
	return []point{
		{name: "a command failed", files: one(fails), come: "aiflow run RQ-1", codes: []fault.Code{fault.StepCommandFailed}},
		{name: "twice", files: one(fails), come: "aiflow run RQ-1; aiflow run resume RQ-1", codes: []fault.Code{fault.StepCommandFailed}},
		{name: "refused for that", files: one(fails), come: "aiflow run RQ-1; aiflow run resume RQ-1; aiflow run resume RQ-1", codes: []fault.Code{fault.ReplanRequired}},
		{name: "forced too often", files: one(fails), come: "aiflow run RQ-1; aiflow run resume RQ-1 --force; aiflow run resume RQ-1 --force; aiflow run resume RQ-1 --force; aiflow run resume RQ-1 --force", codes: []fault.Code{fault.StepCommandFailed}},
		{name: "a test failed", files: one(untested), come: "aiflow run RQ-1", codes: []fault.Code{fault.UnitTestFailed}},
		{name: "no test command", files: one(stepsOf(stepOf("echo a > a.txt", "test: no-such-test"))), come: "aiflow run RQ-1", codes: []fault.Code{fault.TestCommandNotFound}},
		{name: "changed there", files: one(fails), come: "aiflow run RQ-1; echo mine > " + inThere + "/mine; aiflow run resume RQ-1", codes: []fault.Code{fault.WorktreeDirty}},
		{name: "changed there, run anew", files: one(fails), come: "aiflow run RQ-1; echo mine > " + inThere + "/mine; aiflow run RQ-1", codes: []fault.Code{fault.WorktreeDirty}},
		{name: "mended after tests", files: one(untested), come: "aiflow run RQ-1; echo c > " + inThere + "/c.txt; aiflow run show RQ-1"},
		{name: "committed there", files: one(fails), come: "aiflow run RQ-1; (cd " + inThere + " && echo mine > mine && git add mine && git commit -qm mine); aiflow run resume RQ-1", codes: []fault.Code{fault.WorktreeDirty}},
		{name: "too large", files: with(stepsOf(stepOf("seq 1 500 > z.txt")), `{"version":"1.0","limits":{"max_diff_lines":100}}`), come: "aiflow run RQ-1", codes: []fault.Code{fault.StepTooLarge}},
		{name: "forbidden", files: with(stepsOf(stepOf("mkdir s; echo k > s/k")), `{"version":"1.0","limits":{"forbidden_paths":["s/**"]}}`), come: "aiflow run RQ-1", codes: []fault.Code{fault.ForbiddenPathTouched}},
		{name: "gh", files: one(stepsOf(stepOf("gh pr create"))), come: "aiflow run RQ-1", codes: []fault.Code{fault.GHDependencyDetected}},
		{name: "as many steps as at one go", files: with(untested, `{"version":"1.0","limits":{"max_steps_per_run":1}}`), come: "aiflow run RQ-1", codes: []fault.Code{fault.StepLimitReached}},
		{name: "a hook refuses", files: one(stepsOf(stepOf("echo a > a.txt"))), come: "printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; aiflow run RQ-1", codes: []fault.Code{fault.GitCommitFailed}},
		{name: "other steps", files: one(untested), come: "aiflow run RQ-1; sed 's/test: .*/test: \"true\"/' requests/RQ-1.md > x; mv x requests/RQ-1.md; aiflow run resume RQ-1", codes: []fault.Code{fault.ReplanRequired}},
		{name: "the plan is lost", files: one(untested), come: "aiflow run RQ-1; rm runs/RQ-1/*/planning.json; aiflow run resume RQ-1", codes: []fault.Code{fault.ReplanRequired}},
		{name: "no such step", files: one(untested), come: "aiflow run RQ-1; aiflow run resume RQ-1 --step S07", codes: []fault.Code{fault.StepNotAvailable}},
		{name: "an earlier step, with other steps", files: one(untested), come: "aiflow run RQ-1; sed 's/test: .*/test: \"true\"/' requests/RQ-1.md > x; mv x requests/RQ-1.md; aiflow run resume RQ-1 --step S01", codes: []fault.Code{fault.ReplanRequired}},
		{name: "an earlier step, committed there", files: one(untested), come: "aiflow run RQ-1; (cd " + inThere + " && echo mine > mine && git add mine && git commit -qm mine); aiflow run resume RQ-1 --step S01", codes: []fault.Code{fault.WorktreeDirty}},
		{name: "again after an earlier step", files: one(untested), come: "aiflow run RQ-1; aiflow run resume RQ-1 --step S01; aiflow run resume RQ-1", codes: []fault.Code{fault.UnitTestFailed}},
		{name: "the agent crashes", files: router("exit 1"), come: "aiflow run RQ-1", codes: []fault.Code{fault.RetryLimitExceeded}},
		{name: "the agent changes nothing", files: router("echo I may not"), come: "aiflow run RQ-1", codes: []fault.Code{fault.NothingChanged}},
		{name: "the agent is not logged in", files: router("echo Please log in; exit 1"), come: "aiflow run RQ-1", codes: []fault.Code{fault.CLIAuthRequired}},
		{name: "the agent does not trust", files: router("echo not in a trusted folder; exit 1"), come: "aiflow run RQ-1", codes: []fault.Code{fault.CLINotTrusted}},
		{
			name: "the agent is not there", come: "aiflow run RQ-1", codes: []fault.Code{fault.CLINotAvailable}, mended: "mkdir -p ../bin; printf '#!/bin/sh\\necho made > made\\n' > ../bin/no-such-agent; chmod +x ../bin/no-such-agent",
			files: map[string]string{"requests/RQ-1.md": ask, ".aiflow/router.v1.json": `{"version":"1.0","routing":{"implementer":{"primary":"x"}},"commands":{"x":{"bin":"no-such-agent","args":[]}}}`},
		},
		{name: "stopped after an auto", files: with(fails, `{"version":"1.0","auto_run":{"max_consecutive_needs_input":1}}`), come: "aiflow run auto", codes: []fault.Code{fault.NeedsInputInARow}},
		{name: "that, merged since", files: with(stepsOf(stepOf("test -n \"$GO\" && echo 1 > 1")), `{"version":"1.0","auto_run":{"max_consecutive_needs_input":1}}`), come: "aiflow run auto; GO=1 aiflow run resume RQ-1; git merge -q $(git for-each-ref --format='%(refname:short)' refs/heads/aiflow/RQ-1); aiflow run status"},
		{name: "interrupted", files: one(stepsOf(stepOf("if test -e \"$AIFLOW_ROOT/kill\"; then kill -9 $PPID; fi; echo a > a"))), come: "touch kill; aiflow run RQ-1; rm kill; aiflow run show RQ-1"},
		{name: "replaced", files: one(fails), come: "aiflow run RQ-1; aiflow run resume RQ-1 --mode replan; aiflow run show " + firstRun},
		{name: "replaced, resumed", files: one(fails), come: "aiflow run RQ-1; aiflow run resume RQ-1 --mode replan; aiflow run resume " + firstRun, codes: []fault.Code{fault.NothingToDo}},
		{name: "done", files: one(stepsOf(stepOf("echo a > a"))), come: "aiflow run RQ-1; aiflow run resume RQ-1", codes: []fault.Code{fault.NothingToDo}},
		{name: "nothing stopped", files: one(stepsOf(stepOf("echo a > a"))), come: "aiflow run resume", codes: []fault.Code{fault.NothingToDo}},
		{name: "the request is gone", files: one(fails), come: "aiflow run RQ-1; rm requests/RQ-1.md; aiflow run show " + theRun},
	}
}

// Each hint that is printed in a state is followed as it stands: a remedy is not
// refused and changes something, a look ends well. Other programs are only named.
func TestHintsAreFollowed(t *testing.T) {
	for _, p := range points() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			w := newHinted(t, p)
			for _, line := range w.told(p) {
				w.back()
				w.follow(p, line)
			}
		})
	}
}

// hinted is a project in a state, and a copy of it as it was.
type hinted struct {
	t         *testing.T
	dir, kept string
	env       []string
}

func newHinted(t *testing.T, p point) *hinted {
	t.Helper()
	top := t.TempDir()
	w := &hinted{t: t, dir: filepath.Join(top, "repo"), kept: filepath.Join(top, "kept")}
	w.env = []string{
		"PATH=" + filepath.Join(top, "bin") + ":" + bin + ":" + os.Getenv("PATH"), "HOME=" + top, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "AIFLOW_BIN_DIR=" + bin,
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@y.invalid", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@y.invalid",
	}
	files := map[string]string{".gitignore": "runs/\nkill\nx\n.aiflow/locks/\n.aiflow/cache/\n.aiflow/worktrees/\n"}
	for name, text := range p.files {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w.sh("git init -qb main . && git add -A && git commit -qm begin")
	return w
}

// sh runs a line in the project.
func (w *hinted) sh(line string) (out string, status int) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = w.dir, w.env
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if cmd.ProcessState == nil {
		w.t.Fatalf("%s: %v", line, err)
	}
	return said.String(), cmd.ProcessState.ExitCode()
}

var hintRE = regexp.MustCompile("`(aiflow [^`]*)`|^  (aiflow [a-z][^#]*)$|: (aiflow run [^#`]*?)(?:  #.*)?$")

// told comes to the state and gives the commands that are told there: by the
// command that led there, show, status, next and the report.
func (w *hinted) told(p point) []string {
	w.t.Helper()
	before, last, ok := cutLast(p.come, "; ")
	if ok {
		w.sh(before)
	}
	said, _ := w.sh(last)
	for _, code := range p.codes {
		if !strings.Contains(said, string(code)) {
			w.t.Fatalf("not %s:\n%s", code, said)
		}
	}
	asked := []string{"aiflow run show RQ-1", "aiflow run status", "aiflow next --explain RQ-1", "aiflow run list"}
	if !ok { // what is recorded is of when it stopped
		asked = append(asked, "sed -n '/^## 9/,$p' runs/RQ-1/RUN-*/report.md")
	}
	for _, look := range asked {
		out, _ := w.sh(look)
		said += "\n" + out
	}
	var lines []string
	for line := range strings.Lines(said) {
		for _, m := range hintRE.FindAllStringSubmatch(strings.TrimRight(line, "\n"), -1) {
			lines = append(lines, strings.TrimSpace(m[1]+m[2]+m[3]))
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) == 0 {
		w.t.Fatalf("nothing is told:\n%s", said)
	}
	if out, err := exec.Command("cp", "-a", w.dir, w.kept).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return lines
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return "", text, false
}

func (w *hinted) back() {
	w.t.Helper()
	if out, err := exec.Command("sh", "-c", "rm -rf "+proc.Word(w.dir)+" && cp -a "+proc.Word(w.kept)+" "+proc.Word(w.dir)).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// looks are the commands that only show; doctor and check end with what they
// find.
var looks = regexp.MustCompile(`^aiflow (run (show|logs|diff|list|status)|next|request (list|show|graph)|lock list|help|version|run$)`)

func (w *hinted) follow(p point, line string) {
	w.t.Helper()
	switch {
	case regexp.MustCompile(`^aiflow (doctor|request check)`).MatchString(line):
		if out, status := w.sh(line); status != 0 && status != 3 && status != 2 || strings.Contains(out, "USAGE_ERROR") {
			w.t.Errorf("%s: exit status %d\n%s", line, status, out)
		}
	case looks.MatchString(line):
		if out, status := w.sh(line); status != 0 {
			w.t.Errorf("%s: exit status %d\n%s", line, status, out)
		}
	default:
		if p.mended != "" {
			w.sh(p.mended)
		}
		before := w.state()
		out, status := w.sh(line + " --json 2>/dev/null")
		var v struct {
			RunID string `json:"run_id"`
			Error struct {
				ReasonCode fault.Code `json:"reason_code"`
			} `json:"error"`
		}
		_ = json.Unmarshal([]byte(out), &v)
		if status != 0 && v.RunID == "" {
			w.t.Errorf("%s is refused: %s\n%s", line, v.Error.ReasonCode, out)
		}
		if w.state() == before {
			w.t.Errorf("%s changed nothing:\n%s", line, out)
		}
	}
}

// state names what remedies change: records, requests and refs.
func (w *hinted) state() string {
	w.t.Helper()
	refs, _ := w.sh("git for-each-ref; git status --porcelain")
	var b strings.Builder
	b.WriteString(refs)
	_ = filepath.WalkDir(filepath.Join(w.dir, "runs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "stage.json" {
			var st runs.Stage
			data, _ := os.ReadFile(path)
			_ = json.Unmarshal(data, &st)
			fmt.Fprintln(&b, st.RunID, st.State, st.Seq, len(st.History))
		}
		return nil
	})
	for _, name := range []string{"requests/RQ-1.md"} {
		data, _ := os.ReadFile(filepath.Join(w.dir, name))
		b.Write(data)
	}
	return b.String()
}
