package main

import (
	"strings"
	"testing"
)

func TestWithIgnored(t *testing.T) {
	entries := []string{"runs/", ".aiflow/locks/"}
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "runs/\n.aiflow/locks/\n"},
		{"no final newline", "x", "x\nruns/\n.aiflow/locks/\n"},
		{"CRLF", "x\r\n# y", "x\r\n# y\r\nruns/\r\n.aiflow/locks/\r\n"},
		{"one is there", "runs/\n", "runs/\n.aiflow/locks/\n"},
		{"other spellings", "/runs\n.aiflow/locks  \n", "/runs\n.aiflow/locks  \n"},
		{"a comment is no entry", "# runs/\n!.aiflow/locks/\n", "# runs/\n!.aiflow/locks/\nruns/\n.aiflow/locks/\n"},
	} {
		got, lines := withIgnored(tc.in, entries)
		if got != tc.want || !strings.HasPrefix(got, tc.in) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if again, more := withIgnored(got, entries); again != got || more != nil {
			t.Errorf("%s: twice gives %q (first added %q)", tc.name, again, lines)
		}
	}
}
