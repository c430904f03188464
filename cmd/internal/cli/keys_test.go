package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiflow/messages"
)

// TestEveryKeyHasAText looks for the message keys that are put together from
// parts, which no search for calls of Text can find.
func TestEveryKeyHasAText(t *testing.T) {
	for folder, patterns := range map[string]map[string]string{
		"../../../internal/config": {`"(config\.[a-z_]+)"`: "", `\.warn\("([a-z_]+)"`: "config."},
		"../..":                    {`\bUsage\("([a-z_]+)"`: "cli.usage_", `"(cli\.[a-z0-9_]+[a-z0-9])"`: ""},
	} {
		found := keysIn(t, folder, patterns)
		if len(found) < 10 {
			t.Errorf("%s: only %v", folder, found)
		}
		for _, lang := range []string{"ja", "en"} {
			c := messages.Open(lang)
			for key, file := range found {
				if !c.Has(key) {
					t.Errorf("%s: %s (%s) has no text", lang, key, file)
				}
			}
		}
	}
}

func keysIn(t *testing.T, folder string, patterns map[string]string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		data = regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAll(data, nil)
		for pattern, prefix := range patterns {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(data), -1) {
				found[prefix+m[1]] = path
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
