package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

// project is a folder with a config file, a router file, or neither.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func configured(t *testing.T, text string) string {
	t.Helper()
	return project(t, map[string]string{File: text})
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

func load(t *testing.T, root string, o Sources) Config {
	t.Helper()
	c, warnings, err := Load(root, o)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", err, warnings)
	}
	return c
}

func TestNoFileWorks(t *testing.T) {
	c := load(t, t.TempDir(), Sources{})
	want := Default()
	want.Tests.Unit.TimeoutSec, want.Tests.E2E.TimeoutSec, want.Tests.Static.TimeoutSec, want.Tests.Land.TimeoutSec = 1800, 1800, 600, 1800
	c.origins = nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("\n got %+v\nwant %+v", c, want)
	}
	if c.Limits.LockTTLSec != 1800 || c.Limits.TimeoutSec != 1800 || c.Server.Port != 4310 || c.Tests.Unit.Enabled || c.Git.BaseBranch != "" {
		t.Errorf("a promised default is gone: %+v", c)
	}
}

func TestEverySourceAndItsOrigin(t *testing.T) {
	root := configured(t, "{\n  \"server\": {\"host\": \"10.0.0.1\",\n    \"port\": 1000},\n  \"lang\": \"ja\"\n}\n")
	o := Sources{Env: env("AIFLOW_PORT", "2000", "AIFLOW_HOST", "::1"), Flags: map[string]string{"server.port": "3000"}}
	c := load(t, root, o)
	if c.Server.Port != 3000 || c.Server.Host != "::1" || c.Lang != "ja" || c.UI.PollIntervalMS != 1000 {
		t.Errorf("%+v", c)
	}
	for key, want := range map[string]Origin{
		"server.port":         {"flag", "--port"},
		"server.host":         {"env", "AIFLOW_HOST"},
		"lang":                {"file", ".aiflow/config.v1.json:4"},
		"ui.poll_interval_ms": {"default", ""},
	} {
		if got := c.Origin(key); got != want {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
	if c := load(t, root, Sources{}); c.Server.Port != 1000 || c.Server.Host != "10.0.0.1" {
		t.Errorf("the file alone: %+v", c.Server)
	}
	if c := load(t, root, Sources{Env: env("AIFLOW_LANG", "en")}); c.Lang != "en" {
		t.Errorf("AIFLOW_LANG: %q", c.Lang)
	}
}

func TestNamedFile(t *testing.T) {
	root := project(t, map[string]string{File: `{"lang":"ja"}`, "other.json": `{"lang":"en"}`, "sub/other.json": `{"server":{"port":7}}`})
	if c := load(t, root, Sources{Env: env("AIFLOW_CONFIG", "other.json")}); c.Lang != "en" {
		t.Errorf("AIFLOW_CONFIG: %q", c.Lang)
	}
	c := load(t, root, Sources{Env: env("AIFLOW_CONFIG", "other.json"), Path: "other.json", Dir: filepath.Join(root, "sub")})
	if c.Server.Port != 7 || c.Lang != "" {
		t.Errorf("--config from a folder: %+v", c.Server)
	}
	if c := load(t, root, Sources{Path: filepath.Join(root, "other.json")}); c.Lang != "en" {
		t.Errorf("absolute: %q", c.Lang)
	}
	_, _, err := Load(root, Sources{Path: "none.json"})
	if !fault.Has(err, fault.ConfigNotFound) {
		t.Errorf("a named file that is not there: %v", err)
	}
}

func TestEveryKeyCanBeSet(t *testing.T) {
	for _, r := range keys() {
		if r.get == nil {
			continue // see TestPreset
		}
		value := map[kind]string{kindText: `"x"`, kindInt: "51", kindNum: "0.5", kindBool: "true", kindList: `["x"]`}[r.kind]
		switch {
		case len(r.allowed) > 0:
			value = `"` + r.allowed[len(r.allowed)-1] + `"`
		case r.key == "version":
			value = `"1.7"`
		case r.key == "git.work_branch_prefix":
			value = `"x/"`
		case r.key == "git.compare_url_template":
			value = `"https://x/{branch}"`
		case r.key == "ui.poll_interval_ms":
			value = "151"
		}
		text := value
		parts := strings.Split(r.key, ".")
		for i := len(parts) - 1; i >= 0; i-- {
			text = `{"` + parts[i] + `":` + text + `}`
		}
		c, _, err := Load(configured(t, text), Sources{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := asJSON(r.get(&c)); got != value || c.Origin(r.key).Kind != "file" {
			t.Errorf("%s: %s from %+v", text, got, c.Origin(r.key))
		}
	}
}

func TestValuesListEveryKeyOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range load(t, t.TempDir(), Sources{}).Values() {
		if seen[v.Key] || v.Text == "" || v.Origin.Kind != "default" {
			t.Errorf("%+v", v)
		}
		seen[v.Key] = true
	}
	words := 3 // values.*: none by default
	if len(seen) != len(keys())-words || !seen["limits.forbidden_paths"] {
		t.Errorf("%d values, %d keys", len(seen), len(keys()))
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "config.empty 1:1"},
		{" \n\t", "config.empty 1:1"},
		{"garbage", "config.not_json 1:1"},
		{"{\n  \"a\": 1,\n  b: 2\n}", "config.not_json 3:3"},
		{"{\"a\": 1,}", "config.not_json 1:9"},
		{"{\"a\":", "config.cut_off 1:6"},
		{"{\"server\": {\"port\": 1}", "config.cut_off 1:23"},
		{"{} {}", "config.more_text 1:4"},
		{"[1]", "config.not_object 1:1"},
		{"\"日本\" x", "config.more_text 1:6"},
		{"{\"lang\": \"\xff\"}", "config.not_utf8 1:11"},
		{"{\n\"server\": {\"port\": 1,\n \"port\": 2}}", "config.duplicate_key 3:2 port"},
		{"{\"server\": 5}", "config.wrong_type 1:12 server 5 {…}"},
		{"{\"server\": {\"port\": \"80\"}}", `config.wrong_type 1:21 server.port "80" 0..65535`},
		{"{\"server\": {\"port\": 80.5}}", "config.wrong_type 1:21 server.port 80.5 0..65535"},
		{"{\"server\": {\"port\": 65536}}", "config.out_of_range 1:21 server.port 65536 0..65535"},
		{"{\"server\": {\"port\": -1}}", "config.out_of_range 1:21 server.port -1 0..65535"},
		{"{\"limits\": {\"lock_ttl_sec\": 4}}", "config.out_of_range 1:29 limits.lock_ttl_sec 4 5..604800"},
		{"{\"日本\": 1, \"limits\": {\"max_files\": 0}}", "config.out_of_range 1:35 limits.max_files 0 1.."},
		{"{\"lang\": \"fr\"}", `config.not_allowed 1:10 lang "fr" ja, en`},
		{"{\"git\": {\"auto_push\": \"yes\"}}", `config.wrong_type 1:23 git.auto_push "yes" true, false`},
		{"{\"git\": {\"workspace\": \"here\"}}", `config.not_allowed 1:23 git.workspace "here" worktree, in_place`},
		{"{\"git\": {\"base_branch\": \"a..b\"}}", `config.not_allowed 1:25 git.base_branch "a..b" a branch name`},
		{"{\"git\": {\"work_branch_prefix\": \"ai\"}}", `config.not_allowed 1:32 git.work_branch_prefix "ai" a branch name that ends in /`},
		{"{\"git\": {\"compare_url_template\": \"javascript:{branch}\"}}", `config.not_allowed 1:34 git.compare_url_template "javascript:{branch}" https://…{branch}…`},
		{"{\"paths\": {\"runs_dir\": \"../runs\"}}", `config.not_allowed 1:24 paths.runs_dir "../runs" a folder of its own inside the project`},
		{"{\"paths\": {\"requests_dir\": \"/etc\"}}", `config.not_allowed 1:28 paths.requests_dir "/etc" a folder of its own inside the project`},
		{"{\"workspace\": {\"link\": [\"ok\", \"../x\"]}}", "config.not_allowed 1:24 workspace.link […] a path inside the project"},
		{"{\"workspace\": {\"setup\": \"make\"}}", `config.wrong_type 1:25 workspace.setup "make" ["…"]`},
		{"{\"workspace\": {\"setup\": [1]}}", `config.wrong_type 1:25 workspace.setup […] ["…"]`},
		{"{\"version\": \"2.0\"}", `config.not_allowed 1:13 version "2.0" 1.x`},
		{strings.Repeat("[", 60), "config.too_deep 1:34"},
		{strings.Repeat(" ", maxFile) + "{}", "config.too_big 1:1"},
	} {
		_, _, err := Load(configured(t, tc.text), Sources{})
		e, ok := fault.As(err)
		if !ok || e.Code != fault.ConfigInvalid || e.Facts["path"] != File {
			t.Errorf("%.60q: %v", tc.text, err)
			continue
		}
		f := e.Facts
		got := strings.Join(strings.Fields(f["cause_key"]+" "+f["line"]+":"+f["column"]+" "+f["key"]+" "+f["value"]+" "+f["allowed"]), " ")
		if got != tc.want {
			t.Errorf("%.60q:\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

func TestMistakesOutsideTheFile(t *testing.T) {
	_, _, err := Load(t.TempDir(), Sources{Env: env("AIFLOW_PORT", "many")})
	e, _ := fault.As(err)
	if e == nil || e.Code != fault.ConfigInvalid || e.Facts["path"] != "AIFLOW_PORT" || e.Facts["value"] != "many" || e.Facts["key"] != "server.port" {
		t.Errorf("%v", err)
	}
	_, _, err = Load(t.TempDir(), Sources{Flags: map[string]string{"server.port": "70000"}})
	if e, _ := fault.As(err); e == nil || e.Facts["path"] != "--port" || e.Facts["allowed"] != "0..65535" {
		t.Errorf("%v", err)
	}
	if _, _, err := Load(configured(t, "{}"), Sources{Path: "."}); !fault.Has(err, fault.ConfigInvalid) {
		t.Errorf("a folder as a config file: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	root := configured(t, `{
  "$schema": "x", "// note": "a comment",
  "limits": {"max_diff_line": 10, "timeout_sec": 20, "max_diff_lines": null},
  "gti": {"a": {"b": 1}},
  "zebra": [1],
  "git": {"auto_commit": false}
}`)
	c, warnings, err := Load(root, Sources{})
	if err != nil || c.Limits.TimeoutSec != 20 || c.Limits.MaxDiffLines != 400 {
		t.Fatalf("%v %+v", err, c.Limits)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.Kind+" "+w.Facts["path"]+":"+w.Facts["line"]+" "+w.Facts["key"]+" "+w.Facts["near"]+w.Facts["allowed"])
	}
	want := []string{
		"unknown_key .aiflow/config.v1.json:3 limits.max_diff_line limits.max_diff_lines",
		"low_value .aiflow/config.v1.json:3 limits.timeout_sec 30",
		"unknown_key .aiflow/config.v1.json:4 gti git",
		"unknown_key .aiflow/config.v1.json:5 zebra auto_run, fields, git, hooks, ids_from, lang, limits, mcp, mode, paths, preset, server, tests, ui, values, version, workspace",
		"no_effect .aiflow/config.v1.json:6 git.auto_commit ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestByteOrderMarkAndCRLF(t *testing.T) {
	c := load(t, configured(t, "\xef\xbb\xbf{\r\n\"lang\": \"ja\"\r\n}\r\n"), Sources{})
	if c.Lang != "ja" || c.Origin("lang").Where != File+":2" {
		t.Errorf("%q %+v", c.Lang, c.Origin("lang"))
	}
}

func TestWhenATestIsOn(t *testing.T) {
	for text, want := range map[string]Test{
		`{}`:                                    {false, "", 1800, "", false},
		`{"tests":{"unit":{"command":"make"}}}`: {true, "make", 1800, "", false},
		`{"tests":{"unit":{"command":"make","enabled":false}}}`:          {false, "make", 1800, "", false},
		`{"tests":{"unit":{"enabled":true,"timeout_sec":60}}}`:           {true, "", 60, "", false},
		`{"limits":{"timeout_sec":99},"tests":{"unit":{"command":"x"}}}`: {true, "x", 99, "", false},
	} {
		if c := load(t, configured(t, text), Sources{}); c.Tests.Unit != want {
			t.Errorf("%s: %+v, want %+v", text, c.Tests.Unit, want)
		}
	}
}

func TestForbiddenPathsFollowTheFolders(t *testing.T) {
	c := load(t, configured(t, `{"paths":{"requests_dir":"docs/wishes"}}`), Sources{})
	if got := strings.Join(c.Limits.ForbiddenPaths, " "); !strings.HasPrefix(got, ".git/** .aiflow/** runs/** docs/wishes/** **/.claude **/.claude/settings*.json ") {
		t.Error(got)
	}
	c = load(t, configured(t, `{"paths":{"requests_dir":"docs/wishes"},"limits":{"forbidden_paths":[]}}`), Sources{})
	if len(c.Limits.ForbiddenPaths) != 0 {
		t.Error(c.Limits.ForbiddenPaths)
	}
}

func TestBranchNames(t *testing.T) {
	for name, want := range map[string]bool{
		"main": true, "feature/日本": true, "a.b": true, "@": false, "-x": false, "a b": false, "a..b": false,
		"a/": false, "/a": false, "a//b": false, "a.lock": false, "a/.b": false, "a~1": false, "a^": false, "x@{1}": false, "a.": false, "a\\b": false,
	} {
		if got := IsBranch(name); got != want {
			t.Errorf("IsBranch(%q) = %v", name, got)
		}
	}
}

func TestVersions(t *testing.T) {
	for v, want := range map[string]bool{"1": true, "1.0": true, "1.12": true, "1.": false, "2": false, "10.0": false, "": false, "1.x": false} {
		if got := isVersion1(v); got != want {
			t.Errorf("isVersion1(%q) = %v", v, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"server":{"port":1}}`))
	f.Add([]byte(`{"commands":{"x":{"args":["a"]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Default()
		a := applier[Config]{rows: keys(), target: &c, path: "f", data: data, origins: map[string]Origin{}}
		if err := a.file(); err != nil && !fault.Has(err, fault.ConfigInvalid) {
			t.Fatal(err)
		}
		r := Router{Routing: map[string]Route{}, Models: map[string]map[string]string{}, Commands: map[string]Command{}}
		b := applier[Router]{rows: routerKeys(), target: &r, path: "f", data: data, origins: map[string]Origin{}}
		if err := b.file(); err != nil && !fault.Has(err, fault.ConfigInvalid) {
			t.Fatal(err)
		}
	})
}

func BenchmarkLoadWithoutFile(b *testing.B) {
	root := b.TempDir()
	for b.Loop() {
		if _, _, err := Load(root, Sources{Env: env()}); err != nil {
			b.Fatal(err)
		}
	}
}
