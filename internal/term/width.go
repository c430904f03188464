package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width is the number of columns that s takes: wide east Asian characters and
// emoji take two, combining marks none.
func Width(s string) int {
	w := 0
	for _, r := range s {
		w += RuneWidth(r)
	}
	return w
}

// RuneWidth is the number of columns that r takes.
func RuneWidth(r rune) int {
	switch {
	case r >= 0x20 && r < 0x7f:
		return 1
	case r < 0x20, r < 0xa0, r == 0x200d:
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Truncate shortens s to at most cols columns, with "…" where text was cut.
func Truncate(s string, cols int) string {
	if cols <= 0 {
		return ""
	}
	if len(s) <= cols || Width(s) <= cols {
		return s
	}
	w := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if w += RuneWidth(r); w > cols-1 {
			return s[:i] + "…"
		}
		i += n
	}
	return s
}

// Pad adds blanks so that s takes at least cols columns.
func Pad(s string, cols int) string {
	return s + strings.Repeat(" ", max(0, cols-Width(s)))
}
