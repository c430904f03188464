package edit

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const maxSlug = 40

// Slug makes the ASCII words of a title part of a file name; "" when there are
// none. What is left of a title in another writing is used only when it still
// says something: two words of two letters, not a lone "1-0". A word with an umlaut
// or an accent is left out whole.
func Slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && (r <= unicode.MaxASCII || !unicode.In(r, unicode.Latin, unicode.Mn))
	})
	words = slices.DeleteFunc(words, func(w string) bool { return !isASCII(w) })
	if !isASCII(title) && !telling(words) {
		return ""
	}
	s := ""
	for _, w := range words {
		next := strings.TrimPrefix(s+"-"+w, "-")
		if len(next) > maxSlug {
			if s == "" {
				return w[:maxSlug]
			}
			break
		}
		s = next
	}
	return s
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

func telling(words []string) bool {
	n := 0
	for _, w := range words {
		if len(strings.Trim(w, "0123456789")) >= 2 {
			n++
		}
	}
	return n >= 2
}

func withSlug(id, title string) string {
	if s := Slug(title); s != "" {
		return id + "-" + s
	}
	return id
}

// highest gives the highest number that names use with that prefix, those
// reserved by a writer at work included.
func highest(names []string, prefix string) int {
	top := 0
	for _, name := range names {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "."), prefix)
		if !ok {
			continue
		}
		end := 0
		for end < len(rest) && end < 9 && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(rest[:end]); err == nil {
			top = max(top, n)
		}
	}
	return top
}
