package config

import (
	"reflect"
	"testing"

	"aiflow/internal/fault"
)

func TestPreset(t *testing.T) {
	c, _, err := Parse([]byte(`{"preset": "backlog.md", "fields": {"labels": ["tags"]}, "paths": {"done_dirs": ["old"]},
		"values": {"status": {"Review": "blocked", "To Do": "draft"}, "estimate": {"small": "S"}}}`), "f")
	if err != nil {
		t.Fatal(err)
	}
	if c.Paths.RequestsDir != "backlog/tasks" || c.IDsFrom != IDsFromHead || !reflect.DeepEqual(c.Paths.DoneDirs, []string{"old"}) {
		t.Errorf("%+v %s", c.Paths, c.IDsFrom)
	}
	if !reflect.DeepEqual(c.Fields["labels"], []string{"tags"}) || !reflect.DeepEqual(c.Fields["depends_on"], []string{"dependencies"}) {
		t.Errorf("%v", c.Fields)
	}
	want := []Word{{"Review", "blocked"}, {"To Do", "draft"}, {"In Progress", "ready"}}
	if got := c.Words["status"]; len(got) != 8 || !reflect.DeepEqual(got[:3], want) {
		t.Errorf("words of the file come first: %v", got)
	}
	if !reflect.DeepEqual(c.Words["estimate"], []Word{{"small", "S"}}) {
		t.Errorf("%v", c.Words)
	}
	for name, text := range map[string]string{
		"no word for running": `{"values": {"status": {"Open": "ready", "Closed": "done", "Waiting": "blocked"}}}`,
		"not one of ours":     `{"values": {"status": {"Open": "opened"}}}`,
		"another tool":        `{"preset": "jira"}`,
	} {
		if _, _, err := Parse([]byte(text), "f"); !fault.Has(err, fault.ConfigInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Parse([]byte(`{"preset": "ticket"}`), "f"); err != nil {
		t.Error(err)
	}
	if c := Default(); c.Fields != nil || c.Words != nil || c.Paths.RequestsDir != "requests" {
		t.Error("without a preset nothing is mapped")
	}
}
