package stage

import (
	"strings"
	"testing"
)

func TestAddedLines(t *testing.T) {
	patch := "--- a/x\n+++ b/gh pr create\n@@ -1 +1,2 @@\n-gh pr list\n gh pr view\n+one\n+two\n"
	var got []string
	for l := range addedLines([]byte(patch)) {
		got = append(got, l)
	}
	if strings.Join(got, "") != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}
