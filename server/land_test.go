package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aiflow/internal/proc"
)

func landWorld(t *testing.T, files map[string]string, bin string) *world {
	t.Helper()
	return newWorld(t, files, func(o *Options, _ *http.Server) { o.LandBin = bin })
}

func TestLandingIsStarted(t *testing.T) {
	w := newWorld(t, map[string]string{
		"requests/RQ-1.md":       "---\ntitle: One\nstatus: ready\nsteps: [{title: Write, run: echo 1 > one.txt}]\n---\n",
		".aiflow/config.v1.json": `{"version": "1.0", "tests": {"land": {"command": "until test -e \"$AIFLOW_ROOT/../go\"; do sleep 0.02; done"}}}`,
	})
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
	first := *w
	w.serve() // a server that did not start it
	w.call(200, "GET", "/api/land", "").wants("running", true, "result", nil)
	*w = first
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

// A stacked run is moved when what it stands on was made anew: at once, or for as long as its tests
// take; one that fails them stays and says why.
func TestRestackIsStarted(t *testing.T) {
	w := newWorld(t, map[string]string{
		"requests/RQ-1.md": "---\ntitle: Below\nstatus: ready\nsteps: [{title: Write, run: echo 1 > 1.txt}]\n---\n",
		"requests/RQ-2.md": "---\ntitle: Above\nstatus: ready\ndepends_on: [RQ-1]\nsteps: [{title: Write, run: echo 2 > 2.txt}]\n---\n",
		".aiflow/config.v1.json": `{"version": "1.0", "auto_run": {"stack": true},
			"tests": {"land": {"command": "test -e \"$AIFLOW_ROOT/../wait\" || exit 0; until test -e \"$AIFLOW_ROOT/../go\"; do sleep 0.02; done; exit $(cat \"$AIFLOW_ROOT/../go\")"}}}`,
	})
	start := func(id string) string {
		t.Helper()
		run := w.call(202, "POST", "/api/requests/"+id+"/run", `{"fresh":true}`).text("run_id")
		w.idle()
		return run
	}
	below := start("RQ-1")
	at := "/api/requests/RQ-2/runs/" + start("RQ-2") + "/restack"
	w.call(200, "GET", at, "").wants("running", false, "result", nil)
	w.call(400, "POST", "/api/requests/RQ-1/runs/"+below+"/restack", "").wants("error.reason_code", "NOTHING_TO_DO")
	w.call(400, "POST", at, `{"x":1}`)
	over := func() reply {
		t.Helper()
		if err := poll(t.Context(), 10*time.Millisecond, func() (bool, error) { return w.call(200, "GET", at, "").at("running") == false, nil }); err != nil {
			t.Fatal(err)
		}
		return w.call(200, "GET", at, "")
	}

	start("RQ-1")
	w.write("../wait", "")
	w.call(202, "POST", at, "{}").wants("lock", "restack")
	w.call(200, "GET", at, "").wants("running", true, "result", nil)
	w.call(409, "POST", at, "{}")
	w.write("../go", "1")
	over().wants("result.ok", false, "result.left_out.0.request_id", "RQ-2")
	w.write("../go", "0")
	w.call(202, "POST", at, "{}")
	over().wants("result.ok", true, "result.restacked.0.request_id", "RQ-2")
	w.idle()

	w.s.RunBin = landProgram(t, `echo '{"ok":true,"restacked":[],"already":[],"left_out":[]}'`)
	w.call(200, "POST", at, "{}").wants("ok", true)
	w.s.RunBin = ""
	w.call(409, "POST", at, "{}").wants("error.reason_code", "BINARY_NOT_FOUND")
}
