package shipped

import (
	"strings"
	"testing"

	"aiflow/internal/config"
)

// What init writes is what deinit takes away, to the byte, and a file that was there
// stays one.
func TestIgnoredAndBack(t *testing.T) {
	entries := []string{"runs/", ".aiflow/locks/"}
	both := mark + "\nruns/\n.aiflow/locks/\n"
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "\n" + both},
		{"no final newline", "x", "x\n" + both},
		{"a final newline", "x\n", "x\n\n" + both},
		{"CRLF", "x\r\n# y", "x\r\n# y\r\n" + strings.ReplaceAll(both, "\n", "\r\n")},
		{"one is there", "runs/\n", "runs/\n\n" + mark + "\n.aiflow/locks/\n"},
		{"below a person's mark", "# aiflow\nruns/\n# other\nz\n", "# aiflow\nruns/\n# other\nz\n\n" + mark + "\n.aiflow/locks/\n"},
		{"other spellings", "/runs\n.aiflow/locks  \n", "/runs\n.aiflow/locks  \n"},
		{"a comment is no entry", "# runs/\n!.aiflow/locks/\n", "# runs/\n!.aiflow/locks/\n\n" + both},
	} {
		got, lines := WithIgnored(tc.in, true, entries)
		if got != tc.want || Began(got) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if again, more := WithIgnored(got, true, entries); again != got || more != nil {
			t.Errorf("%s: twice gives %q (first added %q)", tc.name, again, lines)
		}
		if back, gone, _ := WithoutIgnored(got, entries, none); back != tc.in || len(gone) != len(lines) {
			t.Errorf("%s: without ours %q, %q", tc.name, back, gone)
		}
	}
	if got, _ := WithIgnored("", false, entries); got != both || !Began(got) {
		t.Errorf("no file: %q", got)
	}
}

func TestWithoutIgnored(t *testing.T) {
	entries := []string{"runs/", ".aiflow/locks/"}
	for _, tc := range []struct{ name, in, want string }{
		{"a line of somebody else's below", mark + "\nruns/\nmine\n.aiflow/locks/\n", "mine\n.aiflow/locks/\n"},
		{"one below that is to stay a line", "x\n" + mark + "\nruns/\nmine\n", "x\nmine\n"},
		{"one below and above", "x\n\n" + mark + "\nruns/\nmine\n", "x\nmine\n"},
		{"theirs", "runs/\n.aiflow/locks/\n", "runs/\n.aiflow/locks/\n"},
		{"below their mark", "# aiflow\nruns/\n.aiflow/locks/\n", "# aiflow\nruns/\n.aiflow/locks/\n"},
		{"twice", mark + "\nruns/\n\n" + mark + "\n.aiflow/locks/", ""},
	} {
		if got, _, _ := WithoutIgnored(tc.in, entries, none); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	runs := func(e string) bool { return e == "runs/" }
	if got, gone, kept := WithoutIgnored(mark+"\nruns/\n.aiflow/locks/\n", entries, runs); got != mark+"\nruns/\n" || len(gone) != 1 || len(kept) != 1 {
		t.Errorf("one that stays: %q, %q, %q", got, gone, kept)
	}
}

func TestAgentsAndBack(t *testing.T) {
	c := config.Default()
	for _, in := range []string{"", "x", "x\n", "x\n\n", "x\r\n", agentsBegin + "\nmine\n", "x\n" + agentsEnd + "\ny\n" + agentsBegin + "\nmine"} {
		got, added := WithAgents(in, true, "en", c)
		if !added || Began(in) != Began(got) {
			t.Errorf("%q: added %v, %q", in, added, got)
		}
		if again, added := WithAgents(got, true, "en", c); added || again != got {
			t.Errorf("%q twice: added %v, %q", in, added, again)
		}
		if back, had := WithoutAgents(got); back != in || !had {
			t.Errorf("%q: without ours %q", in, back)
		}
	}
}

func none(string) bool { return false }
