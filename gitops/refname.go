package gitops

import "strings"

// ValidBranch reports whether git takes name for a branch and no command can
// mistake it for an option or for something else than a branch.
func ValidBranch(name string) bool {
	if name == "" || name == "@" || name == "HEAD" || len(name) > 200 {
		return false
	}
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") {
		return false
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`~^:?*[\`, c) })
}

// isHash reports whether s is a full object name.
func isHash(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}
