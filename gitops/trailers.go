package gitops

import (
	"regexp"
	"strings"
)

// subject is the first paragraph of a message on one line, as git shows it.
func subject(message string) string {
	var words []string
	for l := range strings.SplitSeq(strings.TrimLeft(message, "\n\r\t "), "\n") {
		l = strings.TrimRight(l, " \t\r")
		if l == "" {
			break
		}
		words = append(words, l)
	}
	return strings.Join(words, " ")
}

// Trailers reads the last paragraph of a message when it consists of
// "Key: value" lines. A line that begins with a blank continues the one above.
func Trailers(message string) map[string][]string {
	trailer := regexp.MustCompile(`^([A-Za-z0-9-]+)[ \t]*:(.*)$`)
	found := map[string][]string{}
	last := ""
	for _, l := range lastParagraph(message) {
		if last != "" && (strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")) {
			values := found[last]
			values[len(values)-1] += " " + strings.TrimSpace(l)
			continue
		}
		m := trailer.FindStringSubmatch(l)
		if m == nil {
			return map[string][]string{}
		}
		last = m[1]
		found[last] = append(found[last], strings.TrimSpace(m[2]))
	}
	return found
}

func lastParagraph(message string) []string {
	lines := strings.Split(strings.TrimRight(message, "\n\r\t "), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.TrimSpace(lines[i]) == "" {
			return lines[i+1:]
		}
	}
	return nil // one paragraph is the subject
}
