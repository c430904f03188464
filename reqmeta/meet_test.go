package reqmeta

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMeet(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"src", "src/a.go", true},
		{"src", "srcs/a.go", false},
		{"src/*.go", "src/a.*", true},
		{"src/*.go", "src/a.ts", false},
		{"src/*.go", "src/sub/a.go", false},
		{"src/**", "src/sub/a.go", true},
		{"**/*.md", "docs", true},
		{"**/*.md", "docs/*.txt", false},
		{"**/a/**/b", "c/a/b", true},
		{"a*c", "*b*", true},
		{"a?c", "ac", false},
		{"[ab].txt", "b.txt", true},
		{"[^ab].txt", "b.txt", true}, // B
		{"[^1].txt", "1.txt", false},
		{"app/[id]", "app/[id]/page.tsx", true},
		{"[a-c].txt", "d.txt", false},
		{"README.md", "readme.MD", true},
		{"[r]eadme", "Readme", true},
		{`a\*`, "ab", false},
		{`a\*`, "a*", true},
		{"a[1].txt", "a1.txt", true},
		{"a[1].txt", "a2.txt", false},
		{".", "any/thing", true},
		{"./a/", "a/b", true},
		{"a/../b", "a", false},
		{"ドキュメント/*", "ドキュメント/あ.md", true},
	} {
		if got := Meet([]string{tc.a}, []string{tc.b}); got != tc.want {
			t.Errorf("%s and %s: %v", tc.a, tc.b, got)
		}
		if got := Meet([]string{tc.b}, []string{tc.a}); got != tc.want {
			t.Errorf("%s and %s: %v", tc.b, tc.a, got)
		}
	}
	if Meet(nil, []string{"**"}) || Meet([]string{"a", "b"}, []string{"c"}) || !Meet([]string{"a", "b"}, []string{"c", "b"}) {
		t.Error("of lists")
	}
}

// FuzzMeet: where a path is covered by both, the two meet; and each glob meets itself.
func FuzzMeet(f *testing.F) {
	for _, s := range [][3]string{{"a/*", "**", "a/b"}, {"[a-c]?", "*", "bx"}, {`\[x`, "[[]x", "[x"}, {"A", "a", "a"}, {"a[1]", "a[1]", "a[1]/b"}, {"[^b-", "**", "x"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, a, b, name string) {
		if Covers([]string{a}, name) && Covers([]string{b}, name) && !Meet([]string{a}, []string{b}) {
			t.Errorf("%q and %q both cover %q", a, b, name)
		}
		if Meet([]string{a}, []string{b}) != Meet([]string{b}, []string{a}) {
			t.Errorf("%q and %q: it depends on the order", a, b)
		}
	})
}

// TestMeetIsNotAlways: of random globs of few letters, those meet of which a path is found
// that both cover, and no others but for classes.
func TestMeetIsNotAlways(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(parts []string, most int) string {
		var b strings.Builder
		for range 1 + rnd.IntN(most) {
			b.WriteString(parts[rnd.IntN(len(parts))])
		}
		return b.String()
	}
	var names []string
	for _, x := range []string{"", "a", "b", "ab", "ba", "aa", "bb", "aab", "aba", "abb", "baa", "bab", "bba", "bbb", "aaa"} {
		for _, y := range []string{"", "/a", "/b", "/ab", "/ba", "/aa", "/bb", "/a/a", "/a/b", "/b/a", "/b/b", "/a/a/a", "/b/a/b"} {
			if x != "" {
				names = append(names, x+y)
			}
		}
	}
	apart := 0
	for range 3000 {
		a, b := strings.Trim(word([]string{"a", "b", "?", "*", "/", "/**/", "[a]"}, 4), "/"), strings.Trim(word([]string{"a", "b", "?", "*", "/"}, 4), "/")
		found := false
		for _, name := range names {
			found = found || Covers([]string{a}, name) && Covers([]string{b}, name)
		}
		switch got := Meet([]string{a}, []string{b}); {
		case a == "" || b == "" || strings.Contains(a+b, "//"):
		case found && !got:
			t.Errorf("%q and %q meet", a, b)
		case !got:
			apart++
		case !found && !strings.ContainsAny(a+b, "*?"):
			t.Errorf("%q and %q do not meet", a, b)
		}
	}
	if apart < 500 {
		t.Errorf("only %d are told apart", apart)
	}
}
