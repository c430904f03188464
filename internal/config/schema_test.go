package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the published files instead of comparing them")

func TestPublishedSchemas(t *testing.T) {
	for name, want := range map[string][]byte{"config.v1.schema.json": Schema(), "router.v1.schema.json": RouterSchema()} {
		path := filepath.Join("../../docs/schema", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table says; go test ./internal/config -run Published -update", path)
		}
	}
}

func TestSchemaHasEveryKey(t *testing.T) {
	for _, r := range keys() {
		if !inSchema(t, Schema(), r.key) {
			t.Errorf("%s is not in the schema", r.key)
		}
	}
	if inSchema(t, Schema(), "limits.nonsense") {
		t.Error("negative control: the schema has every key")
	}
	for _, r := range routerKeys() {
		if !inSchema(t, RouterSchema(), r.key) {
			t.Errorf("%s is not in the router's schema", r.key)
		}
	}
}

func inSchema(t *testing.T, data []byte, key string) bool {
	t.Helper()
	var node map[string]any
	if err := json.Unmarshal(data, &node); err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split([]byte(key), []byte(".")) {
		next, ok := node["additionalProperties"]
		if string(part) != "*" {
			props, _ := node["properties"].(map[string]any)
			next, ok = props[string(part)]
		}
		if !ok {
			return false
		}
		node, _ = next.(map[string]any)
	}
	return node["type"] != nil && node["description"] != nil
}
