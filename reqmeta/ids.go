package reqmeta

import "strings"

const maxID = 128

// CheckID reports whether id fits the grammar of request ids:
// [A-Za-z0-9][A-Za-z0-9._-]{0,127}, no "..", not ending in "." or ".lock".
func CheckID(id string) bool {
	if id == "" || len(id) > maxID || !isAlnum(id[0]) {
		return false
	}
	dots := false
	for i := 1; i < len(id); i++ {
		c := id[i]
		if c == '.' {
			if id[i-1] == '.' {
				return false
			}
			dots = true
			continue
		}
		if !isAlnum(c) && c != '_' && c != '-' {
			return false
		}
	}
	return !dots || !strings.HasSuffix(id, ".") && !strings.HasSuffix(id, ".lock")
}

// idRule are the facts of what keeps a text that CheckID refuses from being an id, where
// that is not the letters it is made of.
func idRule(id string) []any {
	switch {
	case strings.Contains(id, ".."):
		return []any{"dots", ".."}
	case strings.HasSuffix(id, ".lock"):
		return []any{"ends", ".lock"}
	case strings.HasSuffix(id, "."):
		return []any{"ends", "."}
	case len(id) > maxID:
		return []any{"length", len(id)}
	}
	return nil
}

// BadName says that the name of r's file cannot be an id, which it need not be where
// the head says the id.
func (r *Request) BadName() {
	if r.Mapping.IDs() {
		return
	}
	r.Fail("bad_file_name", 0, append([]any{"id", r.ID}, idRule(r.ID)...)...)
}

// IDRule are the facts of what keeps a text from being an id; false where nothing does.
func IDRule(id string) ([]any, bool) {
	switch {
	case !CheckID(id):
		return idRule(id), true
	case !IsRequestName(id + ".md"):
		return []any{"readme", id}, true
	}
	return nil, false
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// fitsStem reports whether a file of that stem may call itself id.
func fitsStem(id, stem string) bool {
	return stem == id || len(stem) > len(id) && stem[len(id)] == '-' && stem[:len(id)] == id
}

// checkBase refuses what cannot be the name of a branch (git has the last word).
func checkBase(b string) bool {
	if b == "" || strings.HasPrefix(b, "-") || strings.HasPrefix(b, "/") || strings.HasSuffix(b, "/") ||
		strings.HasSuffix(b, ".") || strings.HasSuffix(b, ".lock") {
		return false
	}
	for _, bad := range []string{"..", "@{", "//"} {
		if strings.Contains(b, bad) {
			return false
		}
	}
	return !strings.ContainsFunc(b, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r)
	})
}
