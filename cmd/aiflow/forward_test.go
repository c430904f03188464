package main

import (
	"strings"
	"testing"
)

func TestForwarded(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for line, want := range map[string]string{
		"next --json":                   "next: --json",
		"--lang ja next RQ-1":           "next: --lang ja RQ-1",
		"--json --no-color run --next":  "run: --json --no-color --next",
		"help run":                      "run: --help",
		"help run show":                 "run: --help show",
		"list --json":                   "request: list --json",
		"help list":                     "request: list --help",
		"auto":                          "run: auto",
		"status":                        "run: status",
		"set RQ-1 status=ready":         "request: set RQ-1 status=ready",
		"run-next --dry-run":            "run: --next --dry-run",
		"ui":                            "serve:",
		"deinit --dry-run":              "run: deinit --dry-run",
		"help deinit":                   "run: deinit --help",
		"--complete run sh":             "run: --complete sh",
		"--complete run":                "",
		"init":                          "",
		"--lang ja init":                "",
		"help":                          "",
		"help init":                     "",
		"version":                       "",
		"--version":                     "",
		"":                              "",
		"nxt":                           "",
		"../evil":                       "",
		"--config x.json request check": "request: --config x.json check",
	} {
		f, ok := forwarded(strings.Fields(line))
		got := ""
		if ok {
			got = strings.TrimSpace(f.name + ": " + strings.Join(f.args, " "))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestCommonOf(t *testing.T) {
	got := strings.Join(commonOf(strings.Fields("next --json X --lang ja --plan 3 -- --no-color")), " ")
	if got != "--json --lang ja" {
		t.Errorf("%q", got)
	}
}
