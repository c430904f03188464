package server

import (
	"strings"
	"testing"
)

// TestEveryRouteIsDescribed compares routes and docs/openapi.yaml, both ways.
func TestEveryRouteIsDescribed(t *testing.T) {
	doc, err := spec()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+path] = true
		}
	}
	routes := map[string]bool{"POST /api/project-lock/events": true}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		routes[method+" /api/project-lock"] = true
	}
	for pattern := range (&Server{}).routes() {
		routes[strings.Replace(pattern, "{path...}", "{path}", 1)] = true
	}
	for r := range routes {
		if !described[r] {
			t.Errorf("docs/openapi.yaml does not have %s", r)
		}
	}
	for r := range described {
		if !routes[r] {
			t.Errorf("docs/openapi.yaml has %s, the server does not", r)
		}
	}
}

// uncovered are routes of which no test saw an answer that was no refusal;
// TestMain asks after all tests.
func uncovered() []string {
	var missing []string
	for pattern := range (&Server{}).routes() {
		if name := strings.Replace(pattern, "{path...}", "{path}", 1); !covered[name] {
			missing = append(missing, name)
		}
	}
	return missing
}
