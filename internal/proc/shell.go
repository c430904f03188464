package proc

import (
	"strings"
	"unicode"
)

// Word is s as a person types it into a shell: as it is where that is safe,
// else quoted.
func Word(s string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_./:@%+-,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return Quoted(s)
}

// Quoted makes one word of sh out of s.
func Quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
