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
		"a detour":         {nil, `{"paths": {"requests_dir": "docs/../docs//req/"}}`, "docs/req"},
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
			if link := map[string]string{"inside": "requests", "through two": "requests", "a part of it": "d/req"}[name]; c.RequestsLink() != link {
				t.Errorf("link %q, want %q", c.RequestsLink(), link)
			}
			if err != nil || c.Paths.RequestsDir != tc.want || !slices.Contains(c.Limits.ForbiddenPaths, tc.want+"/**") {
				t.Errorf("%q, %s, %v", c.Paths.RequestsDir, strings.Join(c.Limits.ForbiddenPaths, " "), err)
			}
		})
	}
}

// Folders that are ours alone may lie elsewhere; links inside the project are
// followed before it is asked whether two are the same.
func TestOtherLinkedFolders(t *testing.T) {
	root := project(t, map[string]string{"requests/RQ-1.md": "", "big/x": "", File: `{"paths": {"runs_dir": "records", "cache_dir": "c/../cc//"}}`})
	for from, to := range map[string]string{"records": "big", "other": "requests", ".aiflow/locks": t.TempDir()} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	c := load(t, root, Sources{})
	if p := c.Paths; p.RunsDir != "big" || p.LocksDir != ".aiflow/locks" || p.CacheDir != "cc" || p.RequestsDir != "requests" {
		t.Errorf("%+v", p)
	}
	if err := os.WriteFile(filepath.Join(root, File), []byte(`{"paths": {"runs_dir": "other"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(root, Sources{})
	if f, _ := fault.As(err); !fault.Has(err, fault.ConfigInvalid) || f.Facts["key"] != "paths.runs_dir" || f.Facts["other"] != "paths.requests_dir" {
		t.Errorf("two names of one folder: %v", err)
	}
}

func TestFoldersAreApart(t *testing.T) {
	for text, want := range map[string]string{
		`{"paths": {"runs_dir": "records", "locks_dir": ".aiflow/l"}}`:          "",
		`{"paths": {"runs_dir": "requests"}}`:                                   "paths.runs_dir paths.requests_dir .aiflow/config.v1.json:1",
		`{"paths": {"requests_dir": "./runs/"}}`:                                "paths.requests_dir paths.runs_dir .aiflow/config.v1.json:1",
		`{"paths": {"cache_dir": "x", "locks_dir": "x"}}`:                       "paths.cache_dir paths.locks_dir .aiflow/config.v1.json:1",
		`{"paths": {"requests_dir": "a", "runs_dir": "b", "locks_dir": "a/b"}}`: "",
	} {
		_, _, err := Load(configured(t, text), Sources{})
		f, _ := fault.As(err)
		got := ""
		if f != nil {
			got = f.Facts["key"] + " " + f.Facts["other"] + " " + f.Facts["path"]
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", text, got, want, err)
		}
	}
}
