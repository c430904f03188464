package runner

import (
	"testing"

	"aiflow/reqmeta"
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
}
