package config

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// kind is the type of a value.
type kind string

const (
	kindText kind = "string"
	kindInt  kind = "integer"
	kindNum  kind = "number"
	kindBool kind = "boolean"
	kindList kind = "array" // of strings
)

// row describes one key: its type, its limits, and how to set it. The tables
// of rows are the only place that knows the keys; the published JSON Schemas
// are written from them.
type row[T any] struct {
	key     string // dotted; "*" stands for any name
	kind    kind
	about   string   // for the schema
	allowed []string // of a text
	min     int
	max     int // 0 = no limit
	low     int // a smaller number is a warning
	check   func(string) bool
	shape   string // what check asks for: message fact "allowed"
	ignored bool   // read for the sake of older files; no effect

	set func(t *T, names []string, value any) // names are what the stars stood for
	get func(t *T) any                        // nil with stars
}

func stringKey[T any](key, about string, f func(*T) *string) row[T] {
	return row[T]{
		key: key, kind: kindText, about: about,
		set: func(t *T, _ []string, v any) { *f(t) = v.(string) },
		get: func(t *T) any { return *f(t) },
	}
}

func numberKey[T any](key, about string, least, most int, f func(*T) *int) row[T] {
	return row[T]{
		key: key, kind: kindInt, about: about, min: least, max: most,
		set: func(t *T, _ []string, v any) { *f(t) = v.(int) },
		get: func(t *T) any { return *f(t) },
	}
}

// amountKey is a number with a fraction; nothing below 0.
func amountKey[T any](key, about string, f func(*T) *float64) row[T] {
	return row[T]{
		key: key, kind: kindNum, about: about,
		set: func(t *T, _ []string, v any) { *f(t) = v.(float64) },
		get: func(t *T) any { return *f(t) },
	}
}

func boolKey[T any](key, about string, f func(*T) *bool) row[T] {
	return row[T]{
		key: key, kind: kindBool, about: about,
		set: func(t *T, _ []string, v any) { *f(t) = v.(bool) },
		get: func(t *T) any { return *f(t) },
	}
}

func listKey[T any](key, about string, f func(*T) *[]string) row[T] {
	return row[T]{
		key: key, kind: kindList, about: about,
		set: func(t *T, _ []string, v any) { *f(t) = v.([]string) },
		get: func(t *T) any { return *f(t) },
	}
}

func (r row[T]) oneOf(words ...string) row[T] { r.allowed = words; return r }
func (r row[T]) warnBelow(n int) row[T]       { r.low = n; return r }
func (r row[T]) unused() row[T]               { r.ignored = true; return r }

func (r row[T]) must(shape string, check func(string) bool) row[T] {
	r.shape, r.check = shape, check
	return r
}

// rangeText is what the message shows as allowed.
func (r row[T]) rangeText() string {
	switch {
	case r.shape != "":
		return r.shape
	case len(r.allowed) > 0:
		return strings.TrimPrefix(strings.Join(r.allowed, ", "), ", ")
	case r.kind == kindBool:
		return "true, false"
	case r.kind == kindInt && r.max > 0:
		return strconv.Itoa(r.min) + ".." + strconv.Itoa(r.max)
	case r.kind == kindInt, r.kind == kindNum:
		return strconv.Itoa(r.min) + ".."
	case r.kind == kindList:
		return `["…"]`
	}
	return `"…"`
}

// match says whether path is the row's key, and what the stars stood for.
func (r row[T]) match(path []string) (names []string, ok bool) {
	parts := strings.Split(r.key, ".")
	if len(parts) != len(path) {
		return nil, false
	}
	for i, p := range parts {
		if p == "*" {
			names = append(names, path[i])
		} else if p != path[i] {
			return nil, false
		}
	}
	return names, true
}

// inside says whether path is a group of keys that the row is in.
func (r row[T]) inside(path []string) bool {
	parts := strings.Split(r.key, ".")
	if len(parts) <= len(path) {
		return false
	}
	for i, p := range path {
		if parts[i] != "*" && parts[i] != p {
			return false
		}
	}
	return true
}

// isOwnFolder is a folder that we may fill and empty: not the project's, and
// not git's.
func isOwnFolder(s string) bool {
	first, _, _ := strings.Cut(path.Clean(s), "/")
	return isLocalPath(s) && first != "." && !strings.EqualFold(first, ".git")
}

func isLocalPath(s string) bool {
	return s != "" && filepath.IsLocal(filepath.FromSlash(s)) && !strings.ContainsAny(s, "\\\x00\n")
}

// isBranch follows git's rules for reference names, as far as one text shows.
func isBranch(s string) bool {
	if s == "" || strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".lock") || strings.HasSuffix(s, ".") || s == "@" {
		return false
	}
	for _, part := range strings.Split(s, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.Contains(s, "..") && !strings.Contains(s, "@{") && !strings.ContainsFunc(s, badInBranch)
}

func badInBranch(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }

func isVersion1(s string) bool {
	_, minor, dotted := strings.Cut(s, ".")
	if !strings.HasPrefix(s, "1") || !dotted && s != "1" || dotted && !strings.HasPrefix(s, "1.") {
		return false
	}
	return !dotted || minor != "" && strings.Trim(minor, "0123456789.") == ""
}
