package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func TestLinkedRequestsFolder(t *testing.T) {
	elsewhere := t.TempDir()
	for name, tc := range map[string]struct {
		links map[string]string // what leads where
		text  string            // of the config file
		want  string            // "" is refused
	}{
		"no link":          {nil, "{}", "requests"},
		"inside":           {map[string]string{"requests": "docs/req"}, "{}", "docs/req"},
		"through two":      {map[string]string{"requests": "r1", "r1": "docs/req"}, "{}", "docs/req"},
		"a part of it":     {map[string]string{"d": "docs"}, `{"paths": {"requests_dir": "d/req"}}`, "docs/req"},
		"leads nowhere":    {map[string]string{"requests": "gone"}, "{}", "requests"},
		"leads out":        {map[string]string{"requests": elsewhere}, "{}", ""},
		"leads to the top": {map[string]string{"requests": "."}, "{}", ""},
		"leads into git":   {map[string]string{"requests": ".git"}, "{}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, map[string]string{"docs/req/RQ-1.md": "", ".git/HEAD": "", File: tc.text})
			for from, to := range tc.links {
				if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
					t.Fatal(err)
				}
			}
			c, _, err := Load(root, Sources{})
			if tc.want == "" {
				if f, _ := fault.As(err); !fault.Has(err, fault.ConfigInvalid) || f.Facts["key"] != "paths.requests_dir" || f.Facts["target"] == "" {
					t.Errorf("%q, %v", c.Paths.RequestsDir, err)
				}
				return
			}
			if err != nil || c.Paths.RequestsDir != tc.want || !slices.Contains(c.Limits.ForbiddenPaths, tc.want+"/**") {
				t.Errorf("%q, %s, %v", c.Paths.RequestsDir, strings.Join(c.Limits.ForbiddenPaths, " "), err)
			}
		})
	}
}
