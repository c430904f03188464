package reqmeta

import (
	"slices"
	"strings"
	"testing"
)

func mapping() *Mapping {
	return NewMapping(map[string][]string{"depends_on": {"deps", "needs"}, "status": {"state"}}, map[string][]Word{
		"status": {{"Open", "ready"}, {"In Progress", "ready"}, {"Closed", "done"}}, "priority": {{"1", "P0"}},
	}, true)
}

func TestMapping(t *testing.T) {
	m := mapping()
	for _, tc := range []struct{ head, want string }{
		{"id: X-1\nstate: open\npriority: 1\nneeds: [a, b]\n", "X-1 ready P0 a,b"},
		{"id: X-1\nstate: IN PROGRESS\npriority: P2\n", "X-1 ready P2 "},
		{"id: X-1\nstatus: done\nstate: Open\npriority: 1\n", "X-1 done P0 "}, // ours counts
		{"state: Open\ndeps: a\nneeds: b\n", "file ready  a"},                 // the first counts
		{"id: a b\nstate: Open\n", "file ready  "},
	} {
		r := m.Parse("requests/file.md", []byte("---\n"+tc.head+"---\n"))
		got := strings.Join([]string{r.ID, r.Meta.Status, r.Meta.Priority, strings.Join(r.Meta.DependsOn, ",")}, " ")
		if got != tc.want {
			t.Errorf("%q: %q, want %q", tc.head, got, tc.want)
		}
	}
	r := m.Parse("requests/a b.md", []byte("---\nid: X-1\nstate: Mulling\n---\n"))
	if r.ID != "X-1" || len(r.Problems) != 2 || r.Problems[0].Kind != "bad_status" || r.Problems[0].Facts["allowed"] != "Open, In Progress, Closed" {
		t.Errorf("%s %+v", r.ID, r.Problems)
	}
	if r := m.Parse("requests/a b.md", []byte("---\nstate: Open\n---\n")); r.Valid() {
		t.Error("a name that is no id, and no id in the head")
	}
	if word, ok := m.Word("status", "ready"); word != "Open" || !ok {
		t.Error(word)
	}
	if _, ok := m.Word("status", "blocked"); ok {
		t.Error("there is no word for blocked")
	}
}

// Without a mapping everything is as it is written.
func TestNoMapping(t *testing.T) {
	var m *Mapping
	r := m.Parse("requests/X-1.md", []byte("---\nstate: Open\nstatus: ready\n---\n"))
	word, ok := m.Word("status", "ready")
	if r.Meta.Status != "ready" || r.Mapping != nil || m.IDs() || m.Print() != "" || word != "ready" || !ok || !slices.Equal(m.Names("status"), []string{"status"}) {
		t.Errorf("%+v", r)
	}
	if NewMapping(nil, nil, false) != nil || mapping().Print() == NewMapping(nil, nil, true).Print() {
		t.Error("what differs has different names")
	}
}
