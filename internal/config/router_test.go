package config

import (
	"reflect"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func route(t *testing.T, text string) (Router, []Warning, error) {
	t.Helper()
	return LoadRouter(project(t, map[string]string{RouterFile: text}), Default())
}

func TestNoRouter(t *testing.T) {
	r, warnings, err := LoadRouter(t.TempDir(), Default())
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	if r.Calls(RoleImplementer) != nil || r.Defaults.TimeoutSec != 1800 || !r.Commands["claude"].Preset {
		t.Errorf("%+v", r)
	}
}

func TestPresets(t *testing.T) {
	r, _, err := route(t, `{"routing":{"planner":{"primary":"codex"},"implementer":{"primary":"claude","fallback":"gemini"},"qa":{"primary":"gemini","fallback":"gemini"}},
		"models":{"codex":{"planner":"m1"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Calls(RolePlanner)[0].Argv("P", "/w d"), " "); got != "codex exec --ephemeral --color never -c allow_login_shell=false -c projects={\"/w d\"={trust_level=\"untrusted\"}} --json --sandbox read-only --cd /w d --model m1 -" {
		t.Errorf("%q", got)
	}
	calls := r.Calls(RoleImplementer)
	if len(calls) != 2 || calls[0].Provider != "claude" || calls[1].Provider != "gemini" || calls[0].Command.Mode != ModeEdit {
		t.Fatalf("%+v", calls)
	}
	claude := `claude -p --output-format stream-json --verbose --strict-mcp-config --settings {"disableAllHooks":true} --no-session-persistence --permission-mode acceptEdits`
	for test, more := range map[string]string{"": "", "make test": " --allowedTools Bash(make test)", "a\nb": "", "(a)": ""} {
		calls[0].Test = test
		if got := strings.Join(calls[0].Argv("P", "/w"), " "); got != claude+more {
			t.Errorf("test %q: %q", test, got)
		}
	}
	if got := strings.Join(r.Calls(RoleQA)[0].Argv("P", "/w"), " "); got != "gemini --skip-trust -o stream-json --approval-mode default" {
		t.Errorf("%q", got)
	}
	if n := len(r.Calls(RoleQA)); n != 1 {
		t.Errorf("a fallback to itself: %d calls", n)
	}
}

func TestPresetsAreWellFormed(t *testing.T) {
	all := Presets()
	for _, name := range []string{"codex", "gemini", "claude"} {
		if c := all[name]; c.Bin == "" || len(c.ModelArgs) == 0 || c.Mode != ModeEdit || c.Output == OutputText || !strings.Contains(strings.Join(c.Args, " "), "{{model_args}}") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestOwnCommand(t *testing.T) {
	r, warnings, err := route(t, `{
  "version": "1.0",
  "routing": {"implementer": {"primary": "mine"}},
  "models": {"mine": {"implementer": "m"}},
  "commands": {"mine": {"bin": "./agent.sh", "args": ["--model={{model}}", "{{prompt}}", "{{workdir}}", "{{model_args}}"], "mode": "patch"}},
  "defaults": {"timeout_sec": 60, "fallback_on": []}
}`)
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	c := r.Calls(RoleImplementer)[0]
	if got := c.Argv("do {{model}}", "/w"); !reflect.DeepEqual(got, []string{"./agent.sh", "--model=m", "do {{model}}", "/w"}) {
		t.Errorf("%q", got)
	}
	if c.Command.Mode != ModePatch || c.Command.Preset || r.Defaults.TimeoutSec != 60 || len(r.Defaults.FallbackOn) != 0 {
		t.Errorf("%+v", r)
	}
	if got := r.Origin("commands.mine.bin"); got != (Origin{"file", RouterFile + ":5"}) {
		t.Errorf("%+v", got)
	}
}

func TestOwnCommandReplacesPreset(t *testing.T) {
	r, _, err := route(t, `{"commands":{"codex":{"bin":"my-codex"}}}`)
	if c := r.Commands["codex"]; err != nil || c.Bin != "my-codex" || c.Args != nil || c.Preset {
		t.Errorf("%v %+v", err, c)
	}
}

func TestRouterMistakes(t *testing.T) {
	for _, tc := range []struct {
		text string
		code fault.Code
		key  string
	}{
		{`{"mode":"normal"}`, fault.ConfigModeMismatch, "mode"},
		{`{"routing":{"qa":{"primary":"nobody"}}}`, fault.RouterProviderUnknown, "routing.qa"},
		{`{"routing":{"qa":{"primary":"codex","fallback":"nobody"}}}`, fault.RouterProviderUnknown, "routing.qa"},
		{`{"routing":{"qa":{"primary":"x"}},"commands":{"x":{"args":["a"]}}}`, fault.RouterCommandInvalid, "commands.x.bin"},
		{`{"routing":{"qa":{"primary":"x"}},"commands":{"x":{"bin":"a","args":["{{model}}"]}}}`, fault.ModelNotConfigured, "models.x.qa"},
		{`{"routing":{"qa":"codex"}}`, fault.ConfigInvalid, "routing.qa"},
		{`{"commands":{"x":{"mode":"guess"}}}`, fault.ConfigInvalid, "commands.x.mode"},
		{`{`, fault.ConfigInvalid, ""},
	} {
		_, _, err := route(t, tc.text)
		e, _ := fault.As(err)
		if e == nil || e.Code != tc.code || e.Facts["key"] != tc.key || e.Facts["path"] != RouterFile {
			t.Errorf("%s: %v", tc.text, err)
		}
	}
}

func TestRouterWarnings(t *testing.T) {
	_, warnings, err := route(t, `{"routing":{"planer":{"primary":"codex"}},"commands":{"x":{"bim":"a"}}}`)
	if err != nil || len(warnings) != 2 {
		t.Fatal(err, warnings)
	}
	if warnings[0].Facts["near"] != "routing.planner" || warnings[1].Facts["near"] != "commands.x.bin" {
		t.Errorf("%+v", warnings)
	}
}
