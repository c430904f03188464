package server

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiflow/internal/verify"
)

// TestEveryRouteIsDescribed compares routes and docs/openapi.yaml, both ways.
func TestEveryRouteIsDescribed(t *testing.T) {
	described, err := verify.Operations()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"POST /api/project-lock/events": true}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		all[method+" /api/project-lock"] = true
	}
	for pattern := range routes() {
		all[strings.Replace(pattern, "{path...}", "{path}", 1)] = true
	}
	for r := range all {
		if described[r] == nil {
			t.Errorf("docs/openapi.yaml does not have %s", r)
		}
	}
	for r := range described {
		if !all[r] {
			t.Errorf("docs/openapi.yaml has %s, the server does not", r)
		}
	}
}

// TestRefusalsAreDescribed calls every route for what is not there, with a body
// that is none, and where there is no folder of requests.
func TestRefusalsAreDescribed(t *testing.T) {
	w := newWorld(t, someRequests(), func(o *Options, _ *http.Server) { o.LandBin = "" })
	described, err := verify.Operations()
	if err != nil {
		t.Fatal(err)
	}
	id := w.call(201, "POST", "/api/requests", `{"title":"One more"}`).text("id")
	other := map[string]bool{
		"GET /api/config 400": true, "GET /api/requests 400": true, "PUT /api/config 409": true, "GET /api/requests/{id}/runs/{run}/diff 400": true,
		"GET /api/requests/{id} 400": true, "GET /api/requests/{id}/meta 400": true,
	} // for other causes
	sent := map[string]string{
		"PUT /api/requests/{id}": `{"markdown":"x"}`, "PATCH /api/requests/{id}/meta": `{"title":"x"}`,
		"POST /api/requests": `{"title":"x"}`, "POST /api/requests/{id}/runs/{run}/answer": `{"text":"x"}`,
	}
	each := func(status, body, id string) {
		t.Helper()
		want, _ := strconv.Atoi(status)
		for name, statuses := range described {
			method, path, _ := strings.Cut(name, " ")
			if !slices.Contains(statuses, status) || other[name+" "+status] || strings.Contains(path, "taskqueue") || strings.Contains(path, "project-lock") {
				continue
			}
			path = strings.NewReplacer("{id}", id, "{run}", "RUN-20260101-000000-abcdef", "{path}", "x.log").Replace(path)
			text := body
			if text == "" {
				text = sent[name]
			}
			w.call(want, method, path, text)
		}
	}
	each("404", "", "RQ-nobody")
	each("400", "[", id)
	w.call(400, "DELETE", "/api/project-lock", "")
	if err := os.Symlink("nowhere", w.path("requests/RQ-link.md")); err != nil {
		t.Fatal(err)
	}
	w.call(400, "GET", "/api/requests/RQ-link", "")
	w.call(400, "GET", "/api/requests/RQ-link/meta", "")
	w.write(".aiflow/config.v1.json", "{")
	w.call(400, "GET", "/api/config", "")
	w.write(".aiflow/config.v1.json", "{}")
	if err := os.Rename(w.path("requests"), w.path("elsewhere")); err != nil {
		t.Fatal(err)
	}
	each("409", "", id)
}

// anywhere are the statuses of every route alike; a few of them are tried.
var anywhere = []string{"401", "403", "413", "415", "500"}

// unseen are described answers that no test saw; TestMain asks after all tests.
func unseen() []string {
	described, err := verify.Operations()
	if err != nil {
		return []string{err.Error()}
	}
	var missing []string
	for name, statuses := range described {
		for _, status := range statuses {
			if !seen[name+" "+status] && !slices.Contains(anywhere, status) {
				missing = append(missing, name+" "+status)
			}
		}
	}
	slices.Sort(missing)
	return missing
}
