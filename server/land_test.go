package server

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/runner/land"
)

// aiflowLand is the test binary as aiflow-land: the same landing, what is needed of the answer.
func aiflowLand(ctx context.Context, p *project.Project, into string) int {
	l := &land.Lander{Project: p, Text: func(key string, _ fault.Facts) string { return key }}
	r, err := l.Land(ctx, land.Options{Into: into})
	if r.Into == "" {
		return say(nil, err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ok": err == nil, "dry_run": false, "into": r.Into, "method": r.Method, "test": r.Test, "from": r.From, "to": r.To,
		"landed": append([]land.Item{}, r.Landed...), "already": []land.Item{}, "left_out": []any{},
	})
	return 0
}

func landWorld(t *testing.T, files map[string]string, bin string) *world {
	t.Helper()
	if bin == "" {
		bin = os.Args[0]
	}
	return newWorld(t, files, func(o *Options, _ *http.Server) { o.LandBin = bin })
}

func TestLandingIsStarted(t *testing.T) {
	w := landWorld(t, map[string]string{
		"requests/RQ-1.md":       "---\ntitle: One\nstatus: ready\nsteps: [{title: Write, run: echo 1 > one.txt}]\n---\n",
		".aiflow/config.v1.json": `{"version": "1.0", "tests": {"land": {"command": "until test -e \"$AIFLOW_ROOT/../go\"; do sleep 0.02; done"}}}`,
	}, "")
	w.call(400, "POST", "/api/land", `{"names":["--all"]}`).wants("error.reason_code", "INVALID_REQUEST")
	w.call(400, "POST", "/api/land", `{"into":"-x"}`)
	w.call(409, "POST", "/api/land", `{"into":"nowhere"}`).wants("error.reason_code", "BASE_BRANCH_NOT_FOUND")

	w.call(202, "POST", "/api/requests/RQ-1/run", "{}")
	w.idle()
	lock := w.call(202, "POST", "/api/land", "{}").text("lock")
	w.call(200, "GET", "/api/land", "").wants("running", true, "result", nil)
	if !strings.HasPrefix(lock, "land-main-") {
		t.Errorf("the lock is %q", lock)
	}
	w.call(409, "POST", "/api/land", "{}").wants("error.reason_code", "LOCK_HELD", "error.context.name", lock)
	if err := os.WriteFile(w.path("../go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	w.idle()
	if _, err := os.Stat(w.path("one.txt")); err != nil {
		t.Error(err)
	}
	err := poll(t.Context(), 10*time.Millisecond, func() (bool, error) { return w.call(200, "GET", "/api/land", "").at("running") == false, nil })
	if err != nil {
		t.Fatal(err)
	}
	w.call(200, "GET", "/api/land", "").wants("result.ok", true, "result.into", "main")
}

// landProgram writes a program that answers as aiflow-land.
func landProgram(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aiflow-land")
	if err := proc.WriteProgram(path, []byte("#!/bin/sh\n"+text)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLandingIsOver(t *testing.T) {
	w := landWorld(t, someRequests(), landProgram(t, `echo '{"ok":true,"dry_run":false,"into":"'"$*"'","method":"merge","test":"","from":"x","to":"x","landed":[],"already":[],"left_out":[]}'`))
	w.call(200, "POST", "/api/land", `{"names":["RQ-1"],"method":"squash"}`).wants("into", "--json --no-color --lang=en --method=squash RQ-1")
}

func TestForecast(t *testing.T) {
	w := landWorld(t, someRequests(), landProgram(t, `case "$*" in *--into=other*) echo '{"ok":false,"error":{"reason_code":"BASE_BRANCH_NOT_FOUND","context":{"missing":"other"}}}'; exit 6;; esac
echo '{"ok":true,"dry_run":true,"into":"'"$1"'","tip":"x","lands":[],"already":[],"left_out":[],"collisions":[],"most":[]}'`))
	w.call(200, "GET", "/api/land/forecast?name=RQ-1", "").wants("into", "--dry-run")
	w.call(409, "GET", "/api/land/forecast?into=other", "").wants("error.reason_code", "BASE_BRANCH_NOT_FOUND")
	w.call(409, "POST", "/api/land", `{"into":"other"}`).wants("error.reason_code", "BASE_BRANCH_NOT_FOUND")
	w.call(200, "GET", "/api/land", "").wants("running", false, "result", nil)
	w.s.LandBin = ""
	w.call(409, "GET", "/api/land/forecast", "").wants("error.reason_code", "BINARY_NOT_FOUND", "error.context.name", "aiflow-land")
}

func TestForecastThatHangs(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	w := newWorld(t, someRequests(), func(o *Options, _ *http.Server) {
		o.LandBin = landProgram(t, "echo $$ >"+pid+"\nwhile :; do sleep 600; done\n")
		o.Project.Config.Limits.TimeoutSec = 1
	})
	w.call(409, "GET", "/api/land/forecast", "").wants("error.reason_code", "GIT_TIMEOUT")
	data, err := os.ReadFile(pid)
	n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || proc.Alive(n, 0) != proc.Dead {
		t.Errorf("process %d is alive: %v", n, err)
	}
}
