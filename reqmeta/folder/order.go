package folder

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"aiflow/reqmeta"
)

// sorted gives list in the order of the paths, each of them once.
func sorted(list []*reqmeta.Request) []*reqmeta.Request {
	sortByPath(list)
	return slices.CompactFunc(list, func(a, b *reqmeta.Request) bool { return a.Path == b.Path })
}

func byPath(a, b *reqmeta.Request) int { return strings.Compare(a.Path, b.Path) }

// merge puts two sorted lists together.
func merge[T any](a, b []T, compare func(a, b T) int) []T {
	if len(b) == 0 {
		return a
	}
	list := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) <= 0 {
			list, a = append(list, a[0]), a[1:]
		} else {
			list, b = append(list, b[0]), b[1:]
		}
	}
	return append(append(list, a...), b...)
}

// sortByPath sorts by the bytes of the path. Names of one folder begin alike,
// so they are told apart by the eight bytes after that, as one number.
func sortByPath(list []*reqmeta.Request) {
	if len(list) < 2 {
		return
	}
	same := len(list[0].Path)
	for _, r := range list[1:] {
		same = common(list[0].Path[:same], r.Path)
	}
	type keyed struct {
		key uint64
		r   *reqmeta.Request
	}
	keys := make([]keyed, len(list))
	for i, r := range list {
		var b [8]byte
		copy(b[:], r.Path[same:])
		keys[i] = keyed{binary.BigEndian.Uint64(b[:]), r}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(a.r.Path, b.r.Path)
	})
	for i := range keys {
		list[i] = keys[i].r
	}
}

// common is how many bytes a and b begin with alike.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
