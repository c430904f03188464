package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiflow/project"
)

// hindered is a repository in which RQ-1, which comes first, is kept from being
// run, and what is said of it.
type hindered struct {
	head, body string // of RQ-1, which is ready and P0
	begin      string // shell commands, before and after everything is committed
	spoil      string
	code       string
	place      string // where it stands in a file
	all        bool   // RQ-2 is kept, too
	here       bool   // a fact of this machine: the queue is for others, too
}

const (
	someone = `mkdir -p .aiflow; printf '{"version": "1.0", "commands": {"mine": {"bin": "sh", "args": ["-c", "echo x > x"]}}, "routing": {"implementer": {"primary": "mine"}%s}}' "$1" > .aiflow/router.v1.json`
	steps   = "steps: [{title: Write, run: echo 1 > 1.txt}]\n"
)

var hindrances = map[string]hindered{
	"workspace": {head: steps, spoil: `mkdir -p .aiflow/worktrees/RQ-1; echo mine > .aiflow/worktrees/RQ-1/precious`, code: "WORKSPACE_BLOCKED"},
	"replan": {
		head:  "steps: [{title: Write, run: 'kill -9 $PPID'}]\n",
		spoil: `aiflow-run RQ-1; sed -i 's/kill/true kill/' requests/RQ-1.md`, code: "REPLAN_REQUIRED", place: "requests/RQ-1.md:4",
	},
	"mended": {
		head:  "steps: [{title: Write, run: exit 1}]\n",
		spoil: `aiflow-run RQ-1; sed -i 's/"NEEDS_INPUT"/"FAILED"/' runs/RQ-1/*/stage.json; aiflow-request set RQ-1 status=ready; echo mine > .aiflow/worktrees/RQ-1/mine`, code: "WORKTREE_DIRTY",
	},
	"commit":     {head: steps, begin: `git() { case $1 in commit) ;; *) command git "$@"; esac; }`, code: "GIT_NO_COMMIT", place: "there is no commit yet", all: true},
	"base":       {head: steps + "base: mian\n", code: "BASE_BRANCH_NOT_FOUND", place: "requests/RQ-1.md:5"},
	"branch":     {head: steps, spoil: `git branch aiflow/RQ-1`, code: "BRANCH_CREATE_FAILED"},
	"router":     {body: "Do it.\n", begin: `mkdir .aiflow; echo '{' > .aiflow/router.v1.json`, code: "CONFIG_INVALID", place: ".aiflow/router.v1.json:"},
	"prompts":    {begin: someone + `; mkdir .aiflow/prompts; printf '\377' > .aiflow/prompts/implementer.v1.md`, code: "CONFIG_INVALID", place: ".aiflow/prompts/implementer.v1.md"},
	"program":    {body: "Do it.\n", begin: someone + `; sed -i 's/"sh"/"no-such-program"/' .aiflow/router.v1.json`, code: "CLI_NOT_AVAILABLE", place: "no-such-program (implementer)", here: true},
	"somebody":   {body: "Do it.\n", code: "MODEL_NOT_CONFIGURED"},
	"every_step": {head: "steps:\n  - title: Do it\n", code: "MODEL_NOT_CONFIGURED", place: "requests/RQ-1.md:5"},
	"filled":     {body: "# What\n\nGiven …\n", begin: someone, code: "AC_TOO_FEW", place: "requests/RQ-1.md:7"},
	"criteria": {
		body: "Do it.\n\n## Acceptance criteria\n\n- [ ] It works\n- [ ] TODO\n", begin: `set -- ', "planner": {"primary": "mine"}'; ` + someone,
		code: "AC_TOO_FEW", place: "requests/RQ-1.md:10",
	},
}

// TestEveryPreconditionIsAskedEverywhere goes through the list of preconditions as
// the code has it: where one does not hold, next does not offer the request, check
// or doctor names it, a run of it is refused before it begins, and a session goes
// on with the next request and lists it as what needs somebody.
func TestEveryPreconditionIsAskedEverywhere(t *testing.T) {
	for _, name := range project.Preconditions() {
		c, ok := hindrances[name]
		if !ok {
			t.Errorf("%s: no repository shows this precondition", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.shown(t, name)
		})
	}
}

func (c hindered) shown(t *testing.T, name string) {
	dir := t.TempDir()
	sh := func(command string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LC_ALL=C", "AIFLOW_LANG=en", "HOME="+dir,
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(".gitignore", "runs/\n.aiflow/locks/\n.aiflow/cache/\n.aiflow/worktrees/\n")
	write("requests/RQ-1.md", "---\nstatus: ready\npriority: P0\n"+c.head+"---\n"+c.body)
	write("requests/RQ-2.md", "---\nstatus: ready\npriority: P1\n"+steps+"---\n")
	sh("set --; git init -q -b main; " + c.begin + "\ngit add -A; git commit -qm begin")
	if c.spoil != "" {
		if first := sh("aiflow-next"); !strings.HasPrefix(first, "RQ-1 ") {
			t.Fatalf("before: %s", first)
		}
		sh(c.spoil)
	}

	var next struct {
		Next *struct {
			ID string `json:"request_id"`
		}
		Excluded []struct {
			ID     string `json:"request_id"`
			Code   string `json:"reason_code"`
			Detail string
			Name   string `json:"precondition"`
		}
	}
	told := sh("aiflow-next --json 2>/dev/null")
	if err := json.Unmarshal([]byte(told), &next); err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	switch {
	case c.all && next.Next != nil, !c.all && (next.Next == nil || next.Next.ID != "RQ-2"):
		t.Errorf("next offers %+v", next.Next)
	case next.Excluded[0].ID != "RQ-1" || next.Excluded[0].Code != c.code || next.Excluded[0].Detail == "" || next.Excluded[0].Name != name:
		t.Errorf("next says %+v, want %s", next.Excluded, c.code)
	}
	if plan := sh("aiflow-next --plan 9"); strings.Contains(plan, ". RQ-1 ") {
		t.Errorf("the plan has it: %s", plan)
	}
	if x := sh("aiflow-next --explain RQ-1"); !strings.Contains(x, c.code) {
		t.Errorf("explained: %s", x)
	}
	if seen := sh("aiflow-request check; aiflow-doctor"); !strings.Contains(seen, c.place) || !strings.Contains(seen, "RQ-1") && c.place == "" {
		t.Errorf("neither check nor doctor names it (%s): %s", c.place, seen)
	}
	before := sh("ls runs/RQ-1 2>/dev/null")
	if out := sh("aiflow-run RQ-1; echo status $?"); !strings.Contains(out, "aiflow-run: "+c.code+": ") || strings.Contains(out, "status 0") || sh("ls runs/RQ-1 2>/dev/null") != before {
		t.Errorf("by name: %s", out)
	}
	if out := sh("aiflow-queue push RQ-1"); strings.Contains(out, "aiflow-queue: "+c.code+": ") == c.here {
		t.Errorf("pushed: %s", out)
	}
	c.session(t, sh("aiflow-run auto --json 2>/dev/null"), sh("aiflow-run status"))
	if t.Failed() {
		t.Logf("%s: %s", name, sh("cat requests/RQ-1.md; aiflow-next --all"))
	}
}

func (c hindered) session(t *testing.T, told, said string) {
	t.Helper()
	var session struct {
		Results []struct {
			ID    string `json:"request_id"`
			State string
		}
		Waiting struct {
			Kept []struct {
				ID   string `json:"request_id"`
				Code string `json:"reason_code"`
			}
		}
	}
	if err := json.Unmarshal([]byte(told), &session); err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	kept := session.Waiting.Kept
	if c.all {
		if len(session.Results) != 0 || len(kept) != 2 {
			t.Errorf("the session: %s", told)
		}
		kept = kept[:1]
	} else if len(session.Results) != 1 || session.Results[0].ID != "RQ-2" || session.Results[0].State != "DONE" {
		t.Errorf("the session did not go on with RQ-2: %s", told)
	}
	if len(kept) != 1 || kept[0].ID != "RQ-1" || kept[0].Code != c.code {
		t.Errorf("the session lists %+v", kept)
	}
	if !slices.ContainsFunc(strings.Split(said, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "needs you: RQ-1 ") && strings.Contains(line, "# "+c.code)
	}) {
		t.Errorf("status does not list it: %s", said)
	}
}
