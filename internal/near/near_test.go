package near

import "testing"

func TestWord(t *testing.T) {
	words := []string{"list", "show", "new", "set", "status", "depends_on", "--json"}
	for word, want := range map[string]string{
		"lits":      "list",
		"lsit":      "list",
		"list":      "list",
		"shwo":      "show",
		"ne":        "new",
		"sttaus":    "status",
		"dependson": "depends_on",
		"--jsno":    "--json",
		"banana":    "",
		"":          "",
		"x":         "",
		"priority":  "",
	} {
		if got := Word(word, words); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}
