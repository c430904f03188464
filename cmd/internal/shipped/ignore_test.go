package shipped

import (
	"strings"
	"testing"
)

func TestWithIgnored(t *testing.T) {
	entries := []string{"runs/", ".aiflow/locks/"}
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "# aiflow\nruns/\n.aiflow/locks/\n"},
		{"no final newline", "x", "x\n# aiflow\nruns/\n.aiflow/locks/\n"},
		{"CRLF", "x\r\n# y", "x\r\n# y\r\n# aiflow\r\nruns/\r\n.aiflow/locks/\r\n"},
		{"one is there", "runs/\n", "runs/\n# aiflow\n.aiflow/locks/\n"},
		{"other spellings", "/runs\n.aiflow/locks  \n", "/runs\n.aiflow/locks  \n"},
		{"a comment is no entry", "# runs/\n!.aiflow/locks/\n", "# runs/\n!.aiflow/locks/\n# aiflow\nruns/\n.aiflow/locks/\n"},
	} {
		got, lines := WithIgnored(tc.in, entries)
		if got != tc.want || !strings.HasPrefix(got, tc.in) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if again, more := WithIgnored(got, entries); again != got || more != nil {
			t.Errorf("%s: twice gives %q (first added %q)", tc.name, again, lines)
		}
		ended := tc.in
		if ended != "" && !strings.HasSuffix(ended, "\n") {
			ended += map[bool]string{true: "\r\n", false: "\n"}[strings.Contains(ended, "\r")]
		}
		if back, gone := WithoutIgnored(got, entries, nil); back != ended || len(gone) != len(lines) {
			t.Errorf("%s: without ours %q, %q", tc.name, back, gone)
		}
	}
}

func TestWithoutIgnored(t *testing.T) {
	entries := []string{"runs/", ".aiflow/locks/"}
	for _, tc := range []struct{ name, in, want string }{
		{"a line of somebody else's below", "# aiflow\nruns/\nmine\n.aiflow/locks/\n", "mine\n.aiflow/locks/\n"},
		{"theirs", "runs/\n.aiflow/locks/\n", "runs/\n.aiflow/locks/\n"},
		{"twice", "# aiflow\nruns/\n# aiflow\n.aiflow/locks/", ""},
	} {
		if got, _ := WithoutIgnored(tc.in, entries, nil); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got, gone := WithoutIgnored("# aiflow\nruns/\n.aiflow/locks/\n", entries, entries[:1]); got != "# aiflow\nruns/\n" || len(gone) != 1 {
		t.Errorf("one that stays: %q, %q", got, gone)
	}
}
