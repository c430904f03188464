package reqmeta

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Covers reports whether one of the touches names a path: as a glob or, where there is no
// * or ? in it, also as it stands, or as a folder above it.
func Covers(touches []string, name string) bool {
	for _, t := range touches {
		t = path.Clean(t)
		if t == "." || !isWild(t) && (t == name || strings.HasPrefix(name, t+"/")) || MatchPath(t, name) {
			return true
		}
	}
	return false
}

func isWild(glob string) bool { return strings.ContainsAny(glob, "*?") }

// Meet reports whether there can be a path that both lists cover; none covers nothing.
// It never misses one, also where the file system takes the letters' case for the same,
// and errs only where a class of characters stands against another ([ab] and [cd]).
func Meet(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			for _, p := range shapes(x) {
				for _, q := range shapes(y) {
					if meet(p, q, isAny, segmentsMeet) {
						return true
					}
				}
			}
		}
	}
	return false
}

// shapes are the readings of a glob: what it matches and, where it may be a path, what
// lies at or below that. Each is a list of segments, a segment a list of letters.
func shapes(glob string) [][][]letter {
	glob = path.Clean(glob)
	if glob == "." {
		return [][][]letter{{nil}}
	}
	var matched, below [][]letter
	for _, s := range strings.Split(glob, "/") {
		below = append(below, literal(s))
		if s == "**" {
			matched = append(matched, nil)
		} else {
			matched = append(matched, letters(s))
		}
	}
	if isWild(glob) {
		return [][][]letter{matched}
	}
	return [][][]letter{matched, append(below, nil)}
}

// letter is what one character of a name may be; "*" is any number of any. The zero
// segment (nil) is any number of segments.
type letter struct {
	any   bool
	one   rune   // 0: class
	class string // as path.Match has it; "?" too
}

func isAny(segment []letter) bool { return segment == nil }

func literal(s string) []letter {
	list := []letter{}
	for _, c := range s {
		list = append(list, letter{one: c})
	}
	return list
}

func letters(s string) []letter {
	list := []letter{}
	for i := 0; i < len(s); {
		switch s[i] {
		case '*':
			list = append(list, letter{any: true})
			i++
		case '?':
			list = append(list, letter{class: "?"})
			i++
		case '[':
			end := classEnd(s, i)
			list = append(list, letter{class: s[i:end]})
			i = end
		default:
			if s[i] == '\\' && i+1 < len(s) {
				i++
			}
			c, n := utf8.DecodeRuneInString(s[i:])
			list = append(list, letter{one: c})
			i += n
		}
	}
	return list
}

// classEnd is behind the bracket that closes the class which begins at i.
func classEnd(s string, i int) int {
	at := i + 1
	if at < len(s) && s[at] == '^' {
		at++
	}
	for first := true; at < len(s) && (first || s[at] != ']'); first = false {
		if s[at] == '\\' {
			at++
		}
		at++
	}
	return min(at+1, len(s))
}

func segmentsMeet(a, b []letter) bool {
	return meet(a, b, func(t letter) bool { return t.any }, lettersMeet)
}

// lettersMeet: some character is both.
func lettersMeet(a, b letter) bool {
	switch {
	case a.one == 0 && b.one == 0:
		return true
	case a.one == 0:
		a, b = b, a
		fallthrough
	case b.one == 0:
		for c := a.one; ; {
			if ok, err := path.Match(b.class, string(c)); ok || err != nil {
				return true
			}
			if c = unicode.SimpleFold(c); c == a.one {
				return false
			}
		}
	}
	return sameLetter(a.one, b.one)
}

// sameLetter is true whatever the case.
func sameLetter(a, b rune) bool {
	for c := a; ; {
		if c == b {
			return true
		}
		if c = unicode.SimpleFold(c); c == a {
			return false
		}
	}
}

// meet reports whether two patterns have something in common, where some of their parts
// stand for any number of parts.
func meet[T any](a, b []T, isAny func(T) bool, one func(x, y T) bool) bool {
	// row[j]: what is left of a from i, and of b from j, have something in common.
	row := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		next := row
		row = make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && isAny(a[i]):
				row[j] = next[j] || j < len(b) && row[j+1]
			case j < len(b) && isAny(b[j]):
				row[j] = row[j+1] || i < len(a) && next[j]
			case i < len(a) && j < len(b):
				row[j] = one(a[i], b[j]) && next[j+1]
			}
		}
	}
	return row[0]
}

// checkTouches refuses what is no glob inside of the project.
func checkTouches(glob string) bool {
	_, err := path.Match(strings.ReplaceAll(glob, "/", "x"), "")
	clean := path.Clean(glob)
	return err == nil && glob != "" && !path.IsAbs(glob) && clean != ".." && !strings.HasPrefix(clean, "../")
}
