package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runs"
)

func TestOutside(t *testing.T) {
	for _, tc := range []struct {
		targets, paths, want string
	}{
		{"", "any/thing", ""},
		{"a.txt", "a.txt", ""},
		{"a.txt", "a.txtx", "a.txtx"},
		{"src", "src/deep/x", ""},
		{"src/", "src/deep/x", ""},
		{"./src", "src/x", ""},
		{"src", "srcs/x", "srcs/x"},
		{"src", "src/x other", "other"},
		{".", "any/thing", ""},
		{"docs/**/*.md", "docs/a/b.md docs/c.md", ""},
		{"docs/*.md", "docs/a/b.md", "docs/a/b.md"},
		{"a b", "a c", "c"},
	} {
		if got := outside(strings.Fields(tc.targets), strings.Fields(tc.paths)); got != tc.want {
			t.Errorf("%q %q: %q, want %q", tc.targets, tc.paths, got, tc.want)
		}
	}
}

func TestLowerLimitsAreThePlannersOnly(t *testing.T) {
	j := &job{plan: &runs.Plan{Source: runs.SourceSingle}}
	for _, tc := range []struct {
		source              string
		configured, planned int
		want                int
	}{
		{runs.SourceSingle, 400, 20, 400}, // the plan only copied what was configured then
		{runs.SourcePlanner, 400, 20, 20},
		{runs.SourcePlanner, 400, 0, 400},
		{runs.SourcePlanner, 10, 20, 10},
	} {
		j.plan.Source = tc.source
		if got := j.lower(nil, tc.configured, tc.planned); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}

func TestTurn(t *testing.T) {
	p, f := config.Call{Provider: "p"}, config.Call{Provider: "f"}
	for _, tc := range []struct {
		calls          []config.Call
		tries, retries int
		want           string
	}{
		{[]config.Call{p, f}, 1, 1, "p"},
		{[]config.Call{p, f}, 2, 1, "pf"},
		{[]config.Call{p, f}, 3, 1, "ppf"},
		{[]config.Call{p, f}, 4, 1, "ppff"},
		{[]config.Call{p, f}, 4, 0, "pfff"},
		{[]config.Call{p, f}, 4, 9, "pppf"},
		{[]config.Call{p}, 3, 0, "ppp"},
	} {
		c := &cast{Router: config.Router{Defaults: config.RouterDefaults{MaxRetriesPerCall: tc.retries}}}
		got := ""
		for try := range tc.tries {
			got += c.turn(tc.calls, try, tc.tries).Provider
		}
		if got != tc.want {
			t.Errorf("%d tries, %d retries: %s, want %s", tc.tries, tc.retries, got, tc.want)
		}
	}
}

func TestTriesUsedUp(t *testing.T) {
	last := fault.New(fault.JSONSchemaInvalid, "key", "planning", "cause", "is missing", "path", "log")
	if got := triesUsedUp("planner", 1, last); got != error(last) {
		t.Errorf("one try: %v", got)
	}
	got, _ := fault.As(triesUsedUp("planner", 2, last))
	want := fault.Facts{"name": "planner", "allowed": "2", "reason": "JSON_SCHEMA_INVALID", "key": "planning", "cause": "is missing", "path": "log"}
	if got.Code != fault.RetryLimitExceeded || len(got.Facts) != len(want) {
		t.Errorf("%v", got)
	}
	for k, v := range want {
		if got.Facts[k] != v {
			t.Errorf("%s is %q, want %q", k, got.Facts[k], v)
		}
	}
	if got, _ := fault.As(triesUsedUp("qa", 2, last)); got.Facts["no_plan"] == "" {
		t.Errorf("another plan is to mend what qa answers: %v", got)
	}
}

func TestRefusalIn(t *testing.T) {
	r := reply{call: config.Call{Provider: "p"}, log: "l"}
	for text, want := range map[string]fault.Code{
		`"status":"ok"`:          "",
		`"status":"needs_input"`: fault.NeedsClarification,
		`"status":"blocked"`:     fault.NeedsClarification,
		`"status":"needs_input","risk_flags":["STEP_TOO_LARGE"]`: fault.StepTooLarge,
		`"status":"needs_input","reason_code":"STEP_TOO_LARGE"`:  fault.StepTooLarge,
		`"status":"error"`: fault.ProcessCrashed,
		`"status":"ok","risk_flags":["STEP_TOO_LARGE"],"diff":"anything"`: "",
	} {
		a, err := contract.Read("implementer", `{"version":"1.0","role":"implementer","summary":"why",`+text+`}`, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := refusalIn(a, r)
		if code := fault.CodeOf(got); code != want {
			t.Errorf("%s: %v", text, got)
		}
		if f, ok := fault.As(got); ok && f.Code == fault.NeedsClarification && f.Facts["value"] != "why" {
			t.Errorf("a question without questions: %v", got)
		}
	}
}

func TestLooksLikeAnswer(t *testing.T) {
	for text, want := range map[string]bool{
		"I changed a.go":          false,
		`{"a": 1}`:                false,
		`{"role": "implementer"}`: false,
		`{"role": "implementer", "status": "ok"}`:    true,
		"done\n{\"role\": \"x\", \"status\": \"y\"}": true,
		"{\"role\": \"x\", \"status\":":              false,
	} {
		if got := looksLikeAnswer(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestCommandInWords(t *testing.T) {
	for text, want := range map[string]string{
		"make":            "make",
		" make \n":        "make",
		"one\ntwo\nthree": "one …",
	} {
		if got := firstLine(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if f := fault.New("", named("one\ntwo")...).Facts; f["command"] != "one …" || f[wholeCommand] != "one\ntwo" {
		t.Errorf("%v", f)
	}
	if f := fault.New("", named("one")...).Facts; len(f) != 1 {
		t.Errorf("%v", f)
	}
	f := fault.New(fault.StepCommandFailed, append(named("one\ntwo"), "exit_status", 3)...)
	if e := evidenceOf(f); *e.Command != "one\ntwo" || *e.ExitCode != 3 {
		t.Errorf("%+v", e)
	}
}

func TestRefusingCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "mark")
	if err := proc.WriteProgram(filepath.Join(dir, "gh"), refusingCommand("gh", mark)); err != nil {
		t.Fatal(err)
	}
	env := guarded([]string{"A=1", "PATH=/usr/bin:/bin"}, dir)
	if env[1] != "PATH="+dir+":/usr/bin:/bin" || guarded(nil, dir)[0] != "PATH="+dir {
		t.Errorf("%q", env)
	}
	cmd := exec.Command("/bin/sh", "-c", "gh pr 'a  b'; echo $?")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "gh is forbidden here") || !strings.HasSuffix(string(out), "77\n") {
		t.Errorf("%s %v", out, err)
	}
	if data, _ := os.ReadFile(mark); string(data) != "gh pr a  b\n" {
		t.Errorf("mark %q", data)
	}
}

func TestCutMiddle(t *testing.T) {
	text := strings.Repeat("0123456789\n", 10)
	got := cutMiddle(text, 44)
	if want := "0123456789\n0123456789\n[... 77 bytes left out ...]\n0123456789\n"; got != want {
		t.Errorf("%q", got)
	}
	if cutMiddle(text, len(text)) != text {
		t.Error("nothing to cut")
	}
}

func TestAddedLines(t *testing.T) {
	patch := "--- a/x\n+++ b/gh pr create\n@@ -1 +1,2 @@\n-gh pr list\n gh pr view\n+one\n+two\n"
	var got []string
	for l := range addedLines([]byte(patch)) {
		got = append(got, l)
	}
	if strings.Join(got, "") != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}

func TestKeepArtifactsStaysInside(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for _, name := range []string{"r/a.png", "r/d/b.png", "r/c.txt", ".git/e.png", "q/f.png"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "r/s.png")); err != nil {
		t.Fatal(err)
	}
	for glob, want := range map[string]int{"r/**/*.png": 2, "r/*.png": 1, "**/*.png": 3, "none/*": 0, "../**": 0, "r/a.png": 1} {
		c := &copier{from: from, to: filepath.Join(to, strings.ReplaceAll(glob, "/", "_")), glob: glob}
		if err := c.run(); err != nil || c.files != want {
			t.Errorf("%s: %d files, %v", glob, c.files, err)
		}
	}
}
