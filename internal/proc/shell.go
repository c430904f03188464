package proc

import (
	"os"
	"strings"
	"syscall"
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

// Words are the words of a line as sh parts them: at blanks that stand in no
// quotes. A backslash takes the meaning from a quote, a blank or a backslash, and is else
// itself, as all is between single quotes. It is false where a quote is not closed.
func Words(line string) (words []string, ok bool) {
	var b strings.Builder
	open, quote := false, rune(0)
	text := []rune(line)
	for i := 0; i < len(text); i++ {
		r := text[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(text) && escapes(text[i+1], quote):
			open = true
			i++
			b.WriteRune(text[i])
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			open, quote = true, r
		case quote == 0 && unicode.IsSpace(r):
			if open {
				words = append(words, b.String())
				b.Reset()
			}
			open = false
		default:
			open = true
			b.WriteRune(r)
		}
	}
	if open {
		words = append(words, b.String())
	}
	return words, quote == 0
}

// escapes: a backslash before r takes its meaning, between these quotes or none.
func escapes(r, quote rune) bool {
	return r == '"' || r == '\\' || quote == 0 && (r == '\'' || unicode.IsSpace(r))
}

// WriteProgram writes a file that is started soon. No process of ours is forked
// while the file is open for writing: one that was would keep it open until its
// own exec, and the kernel refuses to start such a file ("text file busy").
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, data, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755) // of a file that was there
}
