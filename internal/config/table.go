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

// typed is a row for a value of the Go type that f leads to.
func typed[T, V any](key string, k kind, about string, f func(*T) *V) row[T] {
	return row[T]{
		key: key, kind: k, about: about,
		set: func(t *T, _ []string, v any) { *f(t) = v.(V) },
		get: func(t *T) any { return *f(t) },
	}
}

func stringKey[T any](key, about string, f func(*T) *string) row[T] {
	return typed(key, kindText, about, f)
}

func boolKey[T any](key, about string, f func(*T) *bool) row[T] {
	return typed(key, kindBool, about, f)
}

func listKey[T any](key, about string, f func(*T) *[]string) row[T] {
	return typed(key, kindList, about, f)
}

func numberKey[T any](key, about string, least, most int, f func(*T) *int) row[T] {
	r := typed(key, kindInt, about, f)
	r.min, r.max = least, most
	return r
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

// IsBranch follows git's rules for reference names, as far as one text shows.
func IsBranch(s string) bool {
	if strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".") || s == "@" || strings.Contains(s, "..") || strings.Contains(s, "@{") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) })
}

func isVersion1(s string) bool {
	minor, dotted := strings.CutPrefix(s, "1.")
	return s == "1" || dotted && minor != "" && strings.Trim(minor, "0123456789.") == ""
}
