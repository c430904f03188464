package near

import (
	"fmt"
	"testing"
)

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

func TestOnly(t *testing.T) {
	ids := []string{"RQ-1-login", "RQ-2-logout", "RQ-3", "RQ-4", "RQ-1-login"}
	for word, want := range map[string]string{
		"RQ-1-lgoin":   "RQ-1-login",
		"RQ-2-logut":   "RQ-2-logout",
		"RQ-1-login":   "RQ-1-login",
		"RQ-5":         "", // as near to RQ-3 as to RQ-4
		"RQ-9-payment": "",
		"":             "",
	} {
		if got := Only(word, ids); got != want {
			t.Errorf("Only(%q) = %q, want %q", word, got, want)
		}
	}
}

// What is left out of the work does not change the answer.
func TestDistance(t *testing.T) {
	words := []string{""}
	for from := 0; len(words) < 200; from++ {
		for _, r := range "abé" {
			words = append(words, words[from]+string(r))
		}
	}
	var shared table
	for _, a := range words {
		for _, b := range words {
			want := plainDistance([]rune(a), []rune(b))
			for limit := range 4 {
				if got := shared.distance([]rune(a), []rune(b), limit); min(got, limit+1) != min(want, limit+1) {
					t.Fatalf("%q, %q: %d, want %d (limit %d)", a, b, got, want, limit)
				}
			}
		}
	}
}

// plainDistance is the definition, letter by letter.
func plainDistance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	d := min(plainDistance(a[1:], b)+1, plainDistance(a, b[1:])+1, plainDistance(a[1:], b[1:])+cost(a[0] != b[0]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		d = min(d, 1+plainDistance(a[2:], b[2:]))
	}
	return d
}

func BenchmarkOnly(b *testing.B) {
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("RQ-2025%02d%02d-%03d-change-the-form", i%12+1, i%28+1, i%1000)
	}
	for b.Loop() {
		Only("RQ-20250101-001-chagne-the-frm", ids)
	}
}
