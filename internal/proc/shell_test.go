package proc

import (
	"os/exec"
	"testing"
)

func TestShellReadsWordsAsTheyWere(t *testing.T) {
	for s, typed := range map[string]string{
		"requests/RQ-1.md": "requests/RQ-1.md", "aiflow/RQ-1/20260101-000000": "aiflow/RQ-1/20260101-000000", "設計/図.md": "設計/図.md",
		"": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a;b": "'a;b'", "*": "'*'", "~": "'~'", "=ls": "'=ls'",
		"a\nb": "'a\nb'", `a\b`: `'a\b'`, "a#b": "'a#b'", "`id`": "'`id`'", "a|b&c": "'a|b&c'",
	} {
		if got := Word(s); got != typed {
			t.Errorf("%q: %s, want %s", s, got, typed)
		}
		for _, word := range []string{Word(s), Quoted(s)} {
			out, err := exec.Command("sh", "-c", "printf %s "+word).Output()
			if err != nil || string(out) != s {
				t.Errorf("%q: a shell reads %s as %q, %v", s, word, out, err)
			}
		}
	}
}
