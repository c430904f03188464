package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a text from a file, a process or the network safe to print:
// control characters, C1 controls, DEL, bidirectional controls, zero-width and
// other invisible characters, line separators and bytes that are not UTF-8 are
// shown as \n, \x1b, \u202e … Joiners and variation selectors stay where
// ordinary writing and emoji need them. Everything else stays as it is, and a
// text with nothing to escape is returned unchanged.
func Escape(s string) string {
	at := nextUnsafe(s, 0, 0)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	from := 0
	for at >= 0 {
		b.WriteString(s[from:at])
		r, n := utf8.DecodeRuneInString(s[at:])
		writeEscape(&b, r, s[at:at+n])
		from = at + n
		at = nextUnsafe(s, from, r)
	}
	b.WriteString(s[from:])
	return b.String()
}

// nextUnsafe is the index of the next character to escape at or after i, or
// -1; prev is the character before i.
func nextUnsafe(s string, i int, prev rune) int {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return i
			}
			prev = rune(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if unsafe(prev, r, n) {
			return i
		}
		prev = r
		i += n
	}
	return -1
}

func writeEscape(b *strings.Builder, r rune, raw string) {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

func unsafe(prev, r rune, n int) bool {
	switch {
	case r == utf8.RuneError && n == 1, r < 0xa0:
		return true
	case r == 0x200c, r == 0x200d:
		return prev < 0x600 || invisible(prev) && !selector(prev)
	case selector(r):
		return !selectable(prev)
	}
	return invisible(r)
}

func selector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// selectable characters have an emoji or a variant form.
func selectable(r rune) bool {
	return r >= '0' && r <= '9' || r == '#' || r == '*' || r >= 0xa9 && !invisible(r) && !selector(r)
}

func invisible(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0:
		return true // letters and marks to Unicode, but they show nothing
	}
	return r >= 0xe0100 && r <= 0xe01ef || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}
