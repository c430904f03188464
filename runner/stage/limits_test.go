package stage

import (
	"strings"
	"testing"

	"aiflow/internal/config"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runs"
)

func TestMatchPath(t *testing.T) {
	for _, tc := range []struct {
		glob, name string
		want       bool
	}{
		{"requests/**", "requests/a.md", true},
		{"requests/**", "requests/a/b.md", true},
		{"requests/**", "requests", true},
		{"requests/**", "other/requests/a.md", false},
		{"**/secret.txt", "secret.txt", true},
		{"**/secret.txt", "a/b/secret.txt", true},
		{"**/secret.txt", "a/b/secret.txt.bak", false},
		{"*.lock", "go.lock", true},
		{"*.lock", "a/go.lock", false},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**/z", "a/b/c", false},
		{".git/**", ".gitignore", false},
		{"[", "[", false},
	} {
		if got := reqmeta.MatchPath(tc.glob, tc.name); got != tc.want {
			t.Errorf("matchPath(%q, %q) = %v", tc.glob, tc.name, got)
		}
	}
	if p, g := forbidden([]string{"x", "requests/**"}, []string{"a", "requests/r.md"}); p != "requests/r.md" || g != "requests/**" {
		t.Errorf("forbidden = %q, %q", p, g)
	}
	for name, want := range map[string]string{
		".Claude/Settings.local.JSON": "**/.claude/settings*.json", "a/.MCP.json": "**/.mcp.json", ".GIT/config": ".git/**",
		"Requests/a.cs": "", "requests/a.cs": "requests/**", "LeftHook.yml": "lefthook.yml",
	} {
		if _, g := forbidden(config.Default().Limits.ForbiddenPaths, []string{name}); g != want {
			t.Errorf("%s is forbidden by %q, want %q", name, g, want)
		}
	}
}

func TestOutside(t *testing.T) {
	for _, tc := range []struct {
		targets, paths, want string
	}{
		{"", "any/thing", ""},
		{"a.txt", "a.txt", ""},
		{"a.txt", "a.txtx", "a.txtx"},
		{"src", "src/deep/x", ""},
		{"src/", "src/deep/x", ""},
		{"./src", "src/x", ""},
		{"src", "srcs/x", "srcs/x"},
		{"src", "src/x other", "other"},
		{".", "any/thing", ""},
		{"docs/**/*.md", "docs/a/b.md docs/c.md", ""},
		{"docs/*.md", "docs/a/b.md", "docs/a/b.md"},
		{"a b", "a c", "c"},
	} {
		if got := outside(strings.Fields(tc.targets), strings.Fields(tc.paths)); got != tc.want {
			t.Errorf("%q %q: %q, want %q", tc.targets, tc.paths, got, tc.want)
		}
	}
}

func TestLowerLimitsAreThePlannersOnly(t *testing.T) {
	p := &project.Project{}
	run := &Run{Setup: &Setup{Project: p}, Plan: &runs.Plan{}}
	for _, tc := range []struct {
		source              string
		configured, planned int
		want                int
	}{
		{runs.SourceSingle, 400, 20, 400}, // the plan only copied what was configured then
		{runs.SourcePlanner, 400, 20, 20},
		{runs.SourcePlanner, 400, 0, 400},
		{runs.SourcePlanner, 10, 20, 10},
	} {
		run.Plan.Source = tc.source
		p.Config.Limits.MaxDiffLines, p.Config.Limits.MaxFiles = tc.configured, tc.configured
		step := &runs.PlanStep{Scope: runs.Scope{MaxDiffLines: tc.planned, MaxFilesChanged: tc.planned}}
		if lines, files := run.sizeLimits(step); lines != tc.want || files != tc.want {
			t.Errorf("%+v: %d lines, %d files", tc, lines, files)
		}
	}
}
