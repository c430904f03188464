package queue

import (
	"strings"
	"testing"

	"aiflow/internal/fault"
)

func TestDeriveNamespace(t *testing.T) {
	for root, want := range map[string]string{
		"/Users/masa/dev/my-project":                                           "my-project-3510",
		"/Users/masa/dev/my-project/":                                          "my-project-3510",
		"/Users/john/dev/my-project":                                           "my-project-5627",
		"/Users/masa/dev/MyProject":                                            "myproject-5d44",
		"/Users/masa/dev/my_project":                                           "my-project-3425",
		"/Users/masa/dev/my.project@v2":                                        "myprojectv2-b3dd",
		`C:\Users\masa\dev\my-project`:                                         "my-project-b488",
		"/Users/masa/dev/this-is-a-very-long-project-name-that-exceeds-limits": "this-is-a-very-long-project-a20f",
	} {
		if got := DeriveNamespace(root); got != want {
			t.Errorf("DeriveNamespace(%q) = %q, want %q", root, got, want)
		}
	}
	for _, root := range []string{"", "/", "/日本語", "/--__--", "/x/" + strings.Repeat("a-", 40)} {
		if err := CheckNamespace(DeriveNamespace(root)); err != nil {
			t.Errorf("%q gives %q: %v", root, DeriveNamespace(root), err)
		}
	}
	if got := DeriveNamespace("/日本語"); !strings.HasPrefix(got, "project-") {
		t.Errorf("got %q", got)
	}
}

func TestCheckNamespace(t *testing.T) {
	for name, reason := range map[string]string{
		"": "empty", strings.Repeat("a", 33): "too_long", "-a": "form", "a-": "form", "a_b": "form", "a b": "form", "ä": "form", "a\n": "form",
		"all": "reserved", "None": "reserved", "NULL": "reserved", "undefined": "reserved", "system": "reserved",
	} {
		assertFault(t, CheckNamespace(name), fault.UsageError, "key", "namespace", "reason", reason)
	}
	for _, name := range []string{"a", "A-b-9", strings.Repeat("a", 32), "stable", "0"} {
		if err := CheckNamespace(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
