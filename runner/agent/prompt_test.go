package agent

import (
	"strings"
	"testing"
)

func TestCutMiddle(t *testing.T) {
	text := strings.Repeat("0123456789\n", 10)
	got := CutMiddle(text, 44)
	if want := "0123456789\n0123456789\n[... 77 bytes left out ...]\n0123456789\n"; got != want {
		t.Errorf("%q", got)
	}
	if CutMiddle(text, len(text)) != text {
		t.Error("nothing to cut")
	}
}
