package verify

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aiflow/docs/schema"
)

var asJSON = http.Header{"Content-Type": {"application/json"}}

// An answer that is not as it is described is refused, whatever is wrong.
func TestWrongAnswers(t *testing.T) {
	health := `{"ok":true,"name":"aiflow","version":"1","project":"p","lang":"en","taskqueue":false}`
	tagged := http.Header{"Content-Type": {"application/json"}, "Etag": {`"x"`}}
	for _, tc := range []struct {
		name, path string
		status     int
		header     http.Header
		body, want string
	}{
		{"as it should be", "/api/health", 200, asJSON, health, ""},
		{"a field too many", "/api/health", 200, asJSON, strings.Replace(health, "{", `{"more":1,`, 1), "additional properties 'more'"},
		{"a field too few", "/api/health", 200, asJSON, `{"ok":true}`, "missing properties"},
		{"another type", "/api/health", 200, asJSON, strings.Replace(health, "true", `"yes"`, 1), "got string, want boolean"},
		{"another word", "/api/health", 200, asJSON, strings.Replace(health, "en", "fr", 1), "value must be one of"},
		{"another status", "/api/health", 404, asJSON, `{}`, "not described to answer 404"},
		{"another media type", "/api/health", 200, http.Header{"Content-Type": {"text/html"}}, health, "text/html"},
		{"no body", "/api/health", 200, http.Header{}, "", `type ""`},
		{"an ETag", "/api/health", 200, tagged, health, "ETag"},
		{"no ETag", "/api/graph", 200, asJSON, `{"nodes":[],"edges":[]}`, "ETag"},
		{"its ETag", "/api/graph", 200, tagged, `{"nodes":[],"edges":[]}`, ""},
		{"a refusal of another form", "/api/health", 401, asJSON, `{"error":"no"}`, "got string, want object"},
		{"no such path", "/api/nothing", 200, asJSON, health, ""},
	} {
		_, err := Answer("GET", tc.path, tc.status, tc.header, []byte(tc.body))
		if got := text(err); !strings.Contains(got, tc.want) || tc.want == "" && err != nil {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if name, _ := Answer("GET", "/api/nothing", 200, asJSON, nil); name != "" {
		t.Errorf("/api/nothing is %s", name)
	}
}

// A record may hold more than a reader of another version knows; ours may not.
func TestRecordsAreClosed(t *testing.T) {
	lock := `{"version":"1.0","lock_type":"queue","request_id":"","run_id":"","pid":1,"host":"h",` +
		`"created_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T00:00:00Z"}`
	if err := JSON("lock", []byte(lock)); err != nil {
		t.Error(err)
	}
	for was, is := range map[string]string{
		`"pid":1`:              `"pid":1,"more":1`,
		`"pid":1,`:             `"pid":"1",`,
		`"pid":1,"host"`:       `"host"`,
		"2026-01-01T00:00:00Z": "yesterday",
	} {
		if err := JSON("lock", []byte(strings.Replace(lock, was, is, 1))); err == nil {
			t.Errorf("%s is taken", is)
		}
	}
}

// Every schema that is printed stands by itself and takes what the whole takes.
func TestEverySchemaStandsAlone(t *testing.T) {
	names := schema.Names()
	if len(names) < 40 {
		t.Fatalf("only %d schemas", len(names))
	}
	for _, n := range names {
		b, err := read([]byte("paths: {}"), schema.Of(n.Name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.compiler.Compile(defsURL); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
		if n.Description == "" {
			t.Errorf("%s does not say what it is of", n.Name)
		}
	}
	if schema.Of("nothing") != nil {
		t.Error("there is a schema of nothing")
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestLint holds the description against a linter that is not ours.
func TestLint(t *testing.T) {
	bin, err := filepath.Abs("../../testdata/openapi/node_modules/.bin/redocly")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Redocly: run npm ci --ignore-scripts in testdata/openapi")
		}
		t.Skip("no Redocly: run npm ci --ignore-scripts in testdata/openapi")
	}
	lint := func(path string) (string, error) {
		cmd := exec.Command(bin, "lint", "--format=stylish", path)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	good, err := filepath.Abs("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := lint(good); err != nil || strings.Contains(out, "You have") {
		t.Errorf("%v\n%s", err, out)
	}
	api, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for was, is := range map[string]string{
		"operationId: graph": "operationId: health",
		"{ type: string }":   "{ type: string, nullable: true }",
		"#/$defs/Health":     "#/$defs/Nothing",
	} {
		for name, text := range map[string]string{"openapi.yaml": strings.Replace(string(api), was, is, 1), "schema/aiflow.v1.schema.json": string(schema.All())} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := lint(filepath.Join(dir, "openapi.yaml")); err == nil {
			t.Errorf("%s is taken\n%s", is, out)
		}
	}
}
